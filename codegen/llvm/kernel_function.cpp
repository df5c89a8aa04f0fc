#include <llvm/IR/DerivedTypes.h>

#include "codegen/ir/verify.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

std::string host_name(const ir::Kernel& kernel) { return "kernel." + kernel.name; }

llvm::Function* make_function(llvm::Module& module, const std::string& name,
                              const std::vector<FunctionParam>& params, unsigned address_space) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<llvm::Type*> types;
  types.reserve(params.size());
  for (const FunctionParam& p : params) {
    types.push_back(p.is_buffer ? llvm::PointerType::get(context, address_space)
                                : register_type(context, p.type));
  }
  auto* signature = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  llvm::Function* function =
      llvm::Function::Create(signature, llvm::GlobalValue::ExternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned i = 0; i < params.size(); ++i) {
    function->getArg(i)->setName(params[i].name);
    if (!params[i].is_buffer || params[i].shared) continue;
    function->addParamAttr(i, llvm::Attribute::NoAlias);
    if (!params[i].is_written) function->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  return function;
}

void bind_params(Emitter& emitter, const std::vector<FunctionParam>& params, unsigned first) {
  for (unsigned i = 0; i < params.size(); ++i) {
    const FunctionParam& p = params[i];
    llvm::Value* value = emitter.function().getArg(first + i);
    if (p.is_buffer) {
      emitter.bind(
          p.name, BufferBinding{value, p.type, !p.is_written && !p.shared, p.memory, nullptr, p.shared});
    } else {
      emitter.bind(p.name, value);
    }
  }
}

std::vector<FunctionParam> params_of(const ir::Kernel& kernel) {
  std::vector<FunctionParam> params;
  for (const ir::KernelParam& p : kernel.params) {
    params.push_back({p.name, p.type, p.is_pointer, p.is_written, MemoryType::Heap, p.shared});
  }
  return params;
}

void check_kernel(const ir::Kernel& kernel) {
  ir::throw_if_unsound(ir::verify(kernel, ir::Level::BackEnd), "lowering");
}

}  // namespace mica::llvm_backend
