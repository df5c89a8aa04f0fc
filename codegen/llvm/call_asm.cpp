#include <llvm/IR/InlineAsm.h>

#include "codegen/llvm/call_asm_llvm.h"

namespace mica::llvm_backend {

llvm::CallInst* call_asm(Builder& b, llvm::Type* result, const std::string& text,
                         std::string constraints, const std::vector<llvm::Value*>& arguments,
                         bool memory) {
  std::vector<llvm::Type*> types;
  types.reserve(arguments.size());
  for (const llvm::Value* a : arguments) types.push_back(a->getType());
  if (memory) constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
  auto* signature = llvm::FunctionType::get(result, types, false);
  llvm::CallInst* call = b.CreateCall(
      signature, llvm::InlineAsm::get(signature, text, constraints, /*hasSideEffects=*/memory),
      arguments);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  if (!memory) call->setDoesNotAccessMemory();
  return call;
}

}  // namespace mica::llvm_backend
