// The code of one emulated thread.
#include <algorithm>
#include <map>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/ir/traverse.h"
#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/emulate_gpu_llvm.h"
#include "codegen/llvm/kernel_function_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;
namespace intrinsic = llvm::Intrinsic;

constexpr unsigned kPrivateAlignment = 64;  // bytes: the widest vector
constexpr unsigned kFrameAlignment = 64;    // bytes, as emulator_frame promises
constexpr std::size_t kMaxRank = 4;

/// Arguments of EmulatedKernel::Entry.
enum Argument : unsigned { kBlock, kArguments, kFirstAxis, kThread = kFirstAxis + 6 };

bool has_barrier(const ir::Stmt& body) {
  bool found = false;
  ir::walk(
      body, [&](const ir::Stmt& s) { found = found || s.as<ir::Barrier>() != nullptr; }, nullptr);
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

class ThreadFunction {
 public:
  ThreadFunction(llvm::Module& module, const ir::Kernel& kernel, const TargetFacts& facts,
                 const std::string& name)
      : module_(module),
        kernel_(kernel),
        layout_(ir::shared_layout(kernel)),
        is_coroutine_(has_barrier(kernel.body)) {
    hooks_.facts = facts;
    hooks_.axis = [this](Emitter& /*e*/, const std::string& axis) { return this->axis(axis); };
    hooks_.barrier = [this](Emitter& e) { wait(e); };
    hooks_.allocate = [this](Emitter& e, const ir::Allocate& a) { return allocate(e, a); };
    hooks_.release = [this](Emitter& /*e*/, const ir::Allocate& a, const BufferBinding& /*binding*/) {
      extents_.erase(a.buffer);
    };
    hooks_.on_access = [this](Emitter& e, const MemoryAccess& a) { check(e, a); };

    llvm::Type* i32 = llvm::Type::getInt32Ty(context());
    auto* signature = llvm::FunctionType::get(
        pointer(), {pointer(), pointer(), i32, i32, i32, i32, i32, i32, i32}, false);
    function_ = llvm::Function::Create(signature, llvm::GlobalValue::ExternalLinkage, name, module);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    if (is_coroutine_) function_->setPresplitCoroutine();
  }

  EmulatedKernel emit() {
    describe();
    entry_ = block("entry");
    end_ = block("end");
    suspended_ = block("suspended");
    begin();
    Emitter emitter(*function_, *entry_, hooks_);
    bind(emitter);
    emitter.emit(kernel_.body);
    emitter.builder().CreateBr(end_);
    finish();
    return std::move(result_);
  }

 private:
  llvm::LLVMContext& context() { return module_.getContext(); }
  llvm::PointerType* pointer() { return llvm::PointerType::get(context(), 0); }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(context(), name, function_);
  }
  Value* argument(unsigned i) { return function_->getArg(i); }

  /// A call of a function of runtime/emulator.h.
  llvm::CallInst* call(Builder& b, const char* name, llvm::Type* result, std::vector<Value*> arguments) {
    arguments.insert(arguments.begin(), argument(kBlock));
    std::vector<llvm::Type*> types;
    for (const Value* a : arguments) types.push_back(a->getType());
    llvm::FunctionCallee callee =
        module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
    llvm::CallInst* made = b.CreateCall(callee, arguments);
    made->addFnAttr(llvm::Attribute::NoUnwind);
    if (result->isIntegerTy(1)) made->addRetAttr(llvm::Attribute::ZExt);
    return made;
  }

  void describe() {
    result_.name = kernel_.name;
    result_.shared_bytes = static_cast<std::size_t>(ir::shared_bytes(kernel_));
    result_.shared_cell_bytes = shared_cell_bytes(kernel_.body);
    for (const ir::KernelParam& p : kernel_.params) {
      result_.parameters.push_back(
          {p.name, p.is_pointer, p.is_written, p.type.bytes(), scalar_bytes(p)});
    }
  }

  /// The coroutine's frame and the block's shared memory.
  void begin() {
    Builder b(entry_);
    if (is_coroutine_) {
      Value* null = llvm::ConstantPointerNull::get(pointer());
      id_ = b.CreateIntrinsic(intrinsic::coro_id, {b.getInt32(kFrameAlignment), null, null, null});
      Value* size = b.CreateIntrinsic(b.getInt64Ty(), intrinsic::coro_size, {});
      Value* memory = call(b, "emulator_frame", pointer(), {size});
      handle_ = b.CreateIntrinsic(intrinsic::coro_begin, {id_, memory});
    }
    if (!layout_.empty()) shared_ = call(b, "emulator_shared_memory", pointer(), {});
  }

  void bind(Emitter& emitter) {
    Builder& b = emitter.builder();
    for (unsigned i = 0; i < kernel_.params.size(); ++i) {
      const ir::KernelParam& p = kernel_.params[i];
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

  /// The thread has ended: a coroutine stays suspended for good.
  void finish() {
    Builder b(end_);
    if (!is_coroutine_) {
      b.CreateRet(llvm::ConstantPointerNull::get(pointer()));
      suspended_->eraseFromParent();
      return;
    }
    llvm::BasicBlock* never = block("never");
    suspend(b, /*final=*/true, never);
    b.SetInsertPoint(never);
    b.CreateUnreachable();
    // Frames are not freed one by one, so destroying a coroutine does nothing.
    b.SetInsertPoint(suspended_);
    b.CreateIntrinsic(intrinsic::coro_end,
                      {handle_, b.getFalse(), llvm::ConstantTokenNone::get(context())});
    b.CreateRet(handle_);
  }

  void suspend(Builder& b, bool final, llvm::BasicBlock* resumed) {
    Value* state = b.CreateIntrinsic(intrinsic::coro_suspend,
                                     {llvm::ConstantTokenNone::get(context()), b.getInt1(final)});
    llvm::SwitchInst* branch = b.CreateSwitch(state, suspended_, 1);
    branch->addCase(b.getInt8(0), resumed);
  }

  void wait(Emitter& emitter) {
    Builder& b = emitter.builder();
    call(b, "emulator_barrier", b.getVoidTy(), {argument(kThread), b.getInt32(barriers_++)});
    llvm::BasicBlock* resumed = block("resumed");
    suspend(b, /*final=*/false, resumed);
    b.SetInsertPoint(resumed);
  }

  Value* axis(const std::string& name) {
    for (unsigned a = 0; a < 6; ++a) {
      if (name == ir::kGpuAxisNames[a + 1]) return argument(kFirstAxis + a);
    }
    return nullptr;
  }

  BufferBinding allocate(Emitter& emitter, const ir::Allocate& a) {
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
      case MemoryType::Register:
        binding.base =
            emitter.frame_memory(memory_type(context(), a.type),
                                 std::max<std::int64_t>(ir::element_count(a), 1), kPrivateAlignment);
        return binding;
      case MemoryType::Auto:
      case MemoryType::Heap: break;
    }
    throw InternalError("allocation " + a.buffer + " in a GPU kernel is neither shared nor a thread's");
  }

  int parameter_index(const std::string& name) const {
    for (std::size_t i = 0; i < kernel_.params.size(); ++i) {
      if (kernel_.params[i].is_pointer && kernel_.params[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  EmulatedAccess describe(const MemoryAccess& a) const {
    EmulatedAccess access;
    access.buffer = a.buffer;
    access.is_store = a.is_store;
    access.element_bytes = a.binding.type.bytes();
    access.count = a.count;
    const auto extents = extents_.find(a.buffer);
    if (extents == extents_.end()) {
      access.memory = EmulatedAccess::Memory::Global;
      access.parameter = parameter_index(a.buffer);
    } else {
      access.memory = a.binding.memory == MemoryType::Shared ? EmulatedAccess::Memory::Shared
                                                             : EmulatedAccess::Memory::Private;
      access.extents = extents->second;
    }
    return access;
  }

  /// Coordinates of one lane as i64.
  std::vector<Value*> coordinates(Emitter& emitter, const MemoryAccess& a, int lane) {
    Builder& b = emitter.builder();
    std::vector<Value*> result;
    for (const Expr& e : a.logical) {
      Value* v = emitter.emit(e);
      if (!e.type().is_scalar()) v = b.CreateExtractElement(v, static_cast<std::uint64_t>(lane));
      result.push_back(b.CreateSExt(v, b.getInt64Ty()));
    }
    return result;
  }

  /// True where all coordinates lie in the array; null when nothing is known about it.
  Value* in_range(Emitter& emitter, const EmulatedAccess& access, const std::vector<Value*>& at) {
    Builder& b = emitter.builder();
    Value* all = nullptr;
    for (std::size_t d = 0; d < at.size(); ++d) {
      Value* offset = at[d];
      Value* extent = nullptr;
      if (access.memory != EmulatedAccess::Memory::Global) {
        if (d >= access.extents.size()) continue;
        extent = b.getInt64(static_cast<std::uint64_t>(access.extents[d]));
      } else {
        const std::string dimension = "." + std::to_string(d);
        Value* min = emitter.find(access.buffer + ".min" + dimension);
        extent = emitter.find(access.buffer + ".extent" + dimension);
        if (min == nullptr || extent == nullptr) continue;
        offset = b.CreateSub(offset, b.CreateSExt(min, b.getInt64Ty()));
        extent = b.CreateSExt(extent, b.getInt64Ty());
      }
      Value* inside = b.CreateICmpULT(offset, extent);
      all = all == nullptr ? inside : b.CreateAnd(all, inside);
    }
    return all;
  }

  /// Goes on in a new block where `good` holds, in the returned one otherwise.
  llvm::BasicBlock* unless(Emitter& emitter, Value* good) {
    llvm::BasicBlock* next = block("checked");
    llvm::BasicBlock* bad = block("fault");
    emitter.builder().CreateCondBr(good, next, bad,
                                   llvm::MDBuilder(context()).createBranchWeights(1 << 20, 1));
    emitter.builder().SetInsertPoint(next);
    return bad;
  }

  void check(Emitter& emitter, const MemoryAccess& a) {
    const EmulatedAccess access = describe(a);
    const auto index = static_cast<std::uint32_t>(result_.accesses.size());
    result_.accesses.push_back(access);
    Builder& b = emitter.builder();
    const std::vector<Value*> first = coordinates(emitter, a, a.lane);
    const auto report = [&](Builder& at, const char* function, llvm::Type* result,
                            const std::vector<Value*>& where) {
      std::vector<Value*> arguments = {at.getInt32(index), argument(kThread)};
      for (std::size_t d = 0; d < kMaxRank; ++d) {
        arguments.push_back(d < where.size() ? where[d] : at.getInt64(0));
      }
      return call(at, function, result, std::move(arguments));
    };
    const auto check_range = [&](const std::vector<Value*>& where) {
      Value* inside = in_range(emitter, access, where);
      if (inside == nullptr) return;
      Builder at(unless(emitter, inside));
      report(at, "emulator_out_of_range", at.getVoidTy(), where);
      at.CreateBr(end_);
    };
    check_range(first);
    if (a.count > 1) check_range(coordinates(emitter, a, a.lane + a.count - 1));

    const char* function = nullptr;
    switch (access.memory) {
      case EmulatedAccess::Memory::Private: return;
      case EmulatedAccess::Memory::Shared: function = "emulator_check_shared"; break;
      case EmulatedAccess::Memory::Global:
        if (!kernel_.params[static_cast<std::size_t>(access.parameter)].is_written) return;
        function = "emulator_check_global";
        break;
    }
    Value* good = call(b, function, b.getInt1Ty(), {a.pointer, b.getInt32(index), argument(kThread)});
    Builder at(unless(emitter, good));
    Value* tolerated = report(at, "emulator_conflict", at.getInt1Ty(), first);
    at.CreateCondBr(tolerated, b.GetInsertBlock(), end_);
  }

  llvm::Module& module_;
  const ir::Kernel& kernel_;
  std::vector<ir::SharedSlot> layout_;
  bool is_coroutine_;
  TargetHooks hooks_;
  EmulatedKernel result_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *end_ = nullptr, *suspended_ = nullptr;
  Value *id_ = nullptr, *handle_ = nullptr, *shared_ = nullptr;
  std::map<std::string, std::vector<std::int64_t>> extents_;  // of the Allocates around
  unsigned barriers_ = 0;
};

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
  return {runtime_function("emulator_frame", &emulator_frame),
          runtime_function("emulator_shared_memory", &emulator_shared_memory),
          runtime_function("emulator_check_shared", &emulator_check_shared),
          runtime_function("emulator_check_global", &emulator_check_global),
          runtime_function("emulator_conflict", &emulator_conflict),
          runtime_function("emulator_out_of_range", &emulator_out_of_range),
          runtime_function("emulator_barrier", &emulator_barrier)};
}

}  // namespace mica::llvm_backend
