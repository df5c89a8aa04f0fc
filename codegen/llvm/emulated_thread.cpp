// The code of one emulated thread.
#include <algorithm>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/emulate_gpu_llvm.h"
#include "codegen/llvm/emulated_thread_llvm.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;
namespace intrinsic = llvm::Intrinsic;

constexpr unsigned kPrivateAlignment = 64;  // bytes: the widest vector
constexpr unsigned char kUnwritten = 0xff;  // NaN of any type

/// Does a thread wait for others, or for copies that others begin?
bool may_wait(const ir::Stmt& body) {
  bool found = false;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        found = found || s.as<ir::Barrier>() != nullptr || s.as<ir::BulkWait>() != nullptr ||
                s.as<ir::NamedBarrier>() != nullptr || s.as<ir::ClusterBarrier>() != nullptr;
      },
      [&](const Expr& e) { found = found || e.as<WarpShuffle>() != nullptr; });
  return found;
}

bool has_named_barriers(const ir::Stmt& body) {
  bool found = false;
  ir::walk(
      body, [&](const ir::Stmt& s) { found = found || s.as<ir::NamedBarrier>() != nullptr; }, nullptr);
  return found;
}

/// The smallest element in the kernel's shared memory, which divides all others and their places.
std::size_t shared_cell_bytes(const ir::Stmt& body) {
  int smallest = 8;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* a = s.as<ir::Allocate>();
        if (a != nullptr && a->memory == MemoryType::Shared)
          smallest = std::min(smallest, a->type.bytes());
      },
      nullptr);
  return static_cast<std::size_t>(smallest);
}

int scalar_bytes(const ir::KernelParam& p) {
  return !p.is_pointer && p.type.is_int() && (p.type.bits == 32 || p.type.bits == 64) ? p.type.bytes()
                                                                                      : 0;
}

}  // namespace

ThreadFunction::ThreadFunction(llvm::Module& module, const ir::Kernel& kernel, const TargetFacts& facts,
                               const std::string& name)
    : module_(module), kernel_(kernel), layout_(ir::shared_layout(kernel)) {
  hooks_.facts = facts;
  hooks_.facts.value_registers = kGpuValueRegisters;
  hooks_.axis = [this](Emitter& /*e*/, const std::string& axis) { return this->axis(axis); };
  hooks_.print_function = "emulator_print";
  hooks_.barrier = [this](Emitter& e) { wait(e); };
  hooks_.fence_copies = [this](Emitter& e) {
    call(e.builder(), "emulator_fence_copies", e.builder().getVoidTy(), {argument(kThread)});
  };
  hooks_.allocate = [this](Emitter& e, const ir::Allocate& a) { return allocate(e, a); };
  hooks_.release = [this](Emitter& /*e*/, const ir::Allocate& a, const BufferBinding& /*binding*/) {
    extents_.erase(a.buffer);
  };
  hooks_.on_access = [this](Emitter& e, const MemoryAccess& a) { check(e, a); };
  add_async_hooks();

  llvm::Type* i32 = llvm::Type::getInt32Ty(context());
  auto* signature =
      llvm::FunctionType::get(llvm::Type::getVoidTy(context()),
                              {pointer(), pointer(), i32, i32, i32, i32, i32, i32, i32}, false);
  function_ = llvm::Function::Create(signature, llvm::GlobalValue::ExternalLinkage, name, module);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr("warn-stack-size", "0");  // whoever compiles it asks for the size of its frame
}

EmulatedKernel ThreadFunction::emit() {
  describe_kernel();
  entry_ = block("entry");
  end_ = block("end");
  Emitter emitter(*function_, *entry_, hooks_);
  if (!layout_.empty()) {
    shared_ = call(emitter.builder(), "emulator_shared_memory", pointer(), {argument(kThread)});
  }
  bind(emitter);
  emitter.emit(kernel_.body);
  Builder& b = emitter.builder();
  call(b, "emulator_end", b.getVoidTy(), {argument(kThread)});
  b.CreateBr(end_);
  Builder(end_).CreateRetVoid();
  return std::move(result_);
}

llvm::CallInst* ThreadFunction::call(Builder& b, const char* name, llvm::Type* result,
                                     Values arguments) {
  arguments.insert(arguments.begin(), argument(kCluster));
  std::vector<llvm::Type*> types;
  for (const Value* a : arguments) types.push_back(a->getType());
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  llvm::CallInst* made = b.CreateCall(callee, arguments);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  for (unsigned i = 0; i < types.size(); ++i) {
    if (types[i]->isIntegerTy(1)) made->addParamAttr(i, llvm::Attribute::ZExt);
  }
  if (result->isIntegerTy(1)) made->addRetAttr(llvm::Attribute::ZExt);
  return made;
}

int ThreadFunction::written_with(const ir::KernelParam& p) const {
  if (!p.shared) return -1;
  for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
    const ir::KernelParam& other = kernel_.params[i];
    if (other.shared && other.is_written && other.type == p.type) return static_cast<int>(i);
  }
  return -1;
}

void ThreadFunction::describe_kernel() {
  result_.name = kernel_.name;
  result_.shared_bytes = static_cast<std::size_t>(ir::shared_bytes(kernel_));
  result_.shared_cell_bytes = shared_cell_bytes(kernel_.body);
  for (int d = 0; d < 3; ++d) result_.cluster[d] = static_cast<std::uint32_t>(kernel_.cluster[d]);
  result_.has_named_barriers = has_named_barriers(kernel_.body);
  result_.waits = may_wait(kernel_.body);
  for (const ir::KernelParam& p : kernel_.params) {
    result_.parameters.push_back(
        {p.name, p.is_pointer, p.is_written, p.type.bytes(), scalar_bytes(p), written_with(p)});
  }
}

void ThreadFunction::bind(Emitter& emitter) {
  Builder& b = emitter.builder();
  for (unsigned i = 0; i < kernel_.params.size(); ++i) {
    const ir::KernelParam& p = kernel_.params[i];
    if (p.name == ir::kPrintLines) {  // what printing is told
      result_.print_lines = static_cast<int>(i);
      emitter.bind(p.name, b.CreatePtrToInt(argument(kCluster), b.getInt64Ty()));
      continue;
    }
    Value* at = b.CreateLoad(pointer(), b.CreateConstGEP1_64(pointer(), argument(kArguments), i));
    llvm::Type* type = p.is_pointer ? pointer() : memory_type(context(), p.type);
    Value* value = b.CreateLoad(type, at, p.name);
    if (p.is_pointer) {
      emitter.bind(p.name, BufferBinding{value, p.type, false, MemoryType::Heap});
      continue;
    }
    if (p.type.is_bool()) value = b.CreateICmpNE(value, llvm::Constant::getNullValue(type));
    emitter.bind(p.name, value);
  }
}

void ThreadFunction::wait(Emitter& emitter) {
  Builder& b = emitter.builder();
  call(b, "emulator_barrier", b.getVoidTy(), {argument(kThread), b.getInt32(barriers_++)});
}

Value* ThreadFunction::axis(const std::string& name) {
  for (unsigned a = 0; a < 6; ++a) {
    if (name == ir::kGpuAxisNames[a + 1]) return argument(kFirstAxis + a);
  }
  return nullptr;
}

BufferBinding ThreadFunction::allocate(Emitter& emitter, const ir::Allocate& a) {
  std::vector<std::int64_t>& extents = extents_[a.buffer];
  for (const Expr& e : a.extents) {
    const std::int64_t* extent = as_int(e);
    if (extent == nullptr) throw InternalError("allocation " + a.buffer + " has no constant extent");
    extents.push_back(*extent);
  }
  BufferBinding binding{nullptr, a.type, false, a.memory};
  switch (a.memory) {
    case MemoryType::Shared: {
      const auto slot = std::find_if(layout_.begin(), layout_.end(),
                                     [&](const ir::SharedSlot& s) { return s.buffer == a.buffer; });
      binding.base = emitter.builder().CreateConstGEP1_64(emitter.builder().getInt8Ty(), shared_,
                                                          static_cast<std::uint64_t>(slot->offset));
      return binding;
    }
    case MemoryType::Stack:
    case MemoryType::Register: {
      const std::int64_t count = std::max<std::int64_t>(ir::element_count(a), 1);
      binding.base = emitter.frame_memory(memory_type(context(), a.type), count, kPrivateAlignment);
      // What is read before it is written is not whatever suits the optimizer.
      emitter.builder().CreateMemSet(binding.base, emitter.builder().getInt8(kUnwritten),
                                     static_cast<std::uint64_t>(count * a.type.bytes()),
                                     llvm::MaybeAlign(kPrivateAlignment));
      return binding;
    }
    case MemoryType::Auto:
    case MemoryType::Heap: break;
  }
  throw InternalError("allocation " + a.buffer + " in a GPU kernel is neither shared nor a thread's");
}

namespace {

template <typename Function>
RuntimeFunction runtime_function(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

}  // namespace

EmulatedKernel add_emulated_kernel(llvm::Module& module, const ir::Kernel& kernel,
                                   const TargetFacts& facts, const std::string& function) {
  return ThreadFunction(module, kernel, facts, function).emit();
}

std::vector<RuntimeFunction> emulator_functions() {
  return {runtime_function("emulator_shared_memory", &emulator_shared_memory),
          runtime_function("emulator_cluster_memory", &emulator_cluster_memory),
          runtime_function("emulator_check_shared", &emulator_check_shared),
          runtime_function("emulator_check_global", &emulator_check_global),
          runtime_function("emulator_conflict", &emulator_conflict),
          runtime_function("emulator_misaligned", &emulator_misaligned),
          runtime_function("emulator_out_of_range", &emulator_out_of_range),
          runtime_function("emulator_barrier", &emulator_barrier),
          runtime_function("emulator_named_barrier", &emulator_named_barrier),
          runtime_function("emulator_cluster_barrier", &emulator_cluster_barrier),
          runtime_function("emulator_fence_copies", &emulator_fence_copies),
          runtime_function("emulator_shuffle", &emulator_shuffle),
          runtime_function("emulator_copy", &emulator_copy),
          runtime_function("emulator_bulk_copy", &emulator_bulk_copy),
          runtime_function("emulator_copy_conflict", &emulator_copy_conflict),
          runtime_function("emulator_commit_copies", &emulator_commit_copies),
          runtime_function("emulator_wait_for_copies", &emulator_wait_for_copies),
          runtime_function("emulator_end", &emulator_end),
          runtime_function("emulator_bulk_init", &emulator_bulk_init),
          runtime_function("emulator_bulk_expect", &emulator_bulk_expect),
          runtime_function("emulator_bulk_wait", &emulator_bulk_wait),
          runtime_function("emulator_print", &emulator_print)};
}

}  // namespace mica::llvm_backend
