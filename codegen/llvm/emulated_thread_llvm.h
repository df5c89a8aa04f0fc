// The function that runs one thread of an emulated kernel, while it is being made.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include "codegen/ir/kernel.h"
#include "codegen/llvm/emitter_llvm.h"
#include "runtime/emulator/emulator.h"

namespace mica::llvm_backend {

/// Makes the function `name` of a kernel (codegen/llvm/emulate_gpu_llvm.h says what it does).
class ThreadFunction {
 public:
  ThreadFunction(llvm::Module& module, const ir::Kernel& kernel, const TargetFacts& facts,
                 const std::string& name);
  EmulatedKernel emit();

 private:
  /// Arguments of EmulatedKernel::Entry.
  enum Argument : unsigned { kCluster, kArguments, kFirstAxis, kThread = kFirstAxis + 6 };
  using Values = std::vector<llvm::Value*>;

  // emulated_thread.cpp
  void describe_kernel();
  /// EmulatedParameter::written_with.
  [[nodiscard]] int written_with(const ir::KernelParam& p) const;
  void bind(Emitter& emitter);
  void wait(Emitter& emitter);
  llvm::Value* axis(const std::string& name);
  BufferBinding allocate(Emitter& emitter, const ir::Allocate& a);
  /// A call of a function of runtime/emulator/emulator.h; the cluster comes first.
  llvm::CallInst* call(Builder& b, const char* name, llvm::Type* result, Values arguments);

  // emulated_access.cpp
  void check(Emitter& emitter, const MemoryAccess& a);
  [[nodiscard]] EmulatedAccess describe(const MemoryAccess& a) const;
  [[nodiscard]] int parameter_index(const std::string& name) const;
  /// Puts the access among the kernel's; its number.
  std::uint32_t add_access(EmulatedAccess access);
  Values coordinates(Emitter& emitter, const MemoryAccess& a, int lane);
  llvm::Value* in_range(Emitter& emitter, const EmulatedAccess& access, const Values& at);
  /// Ends the thread where `at` lies outside the array.
  void check_range(Emitter& emitter, std::uint32_t access, const Values& at);
  /// Ends the thread where the address is not aligned as promised.
  void check_alignment(Emitter& emitter, std::uint32_t access, llvm::Value* pointer, const Values& at);
  /// Appends the coordinates to a call's arguments, 0 for dimensions that are not there.
  static void append_coordinates(Builder& b, const Values& at, Values& arguments);
  llvm::BasicBlock* unless(Emitter& emitter, llvm::Value* good);

  // emulated_async.cpp
  void add_async_hooks();
  void copy(Emitter& emitter, const ArrayCopy& copy, const BulkBarrier* barrier);
  std::uint32_t barrier_access(const BulkBarrier& barrier);
  void bulk_init(Emitter& emitter, const BulkBarrier& first, int count);
  void bulk_expect(Emitter& emitter, const BulkBarrier& barrier, llvm::Value* bytes);
  void bulk_wait(Emitter& emitter, const BulkBarrier& barrier, llvm::Value* parity);
  void named_barrier(Emitter& emitter, const ir::NamedBarrier& barrier, llvm::Value* number);
  void cluster_barrier(Emitter& emitter);
  llvm::Value* cluster_memory(Emitter& emitter, llvm::Value* base, llvm::Value* block);
  llvm::Value* shuffle(Emitter& emitter, Type type, llvm::Value* own, int delta);

  llvm::LLVMContext& context() { return module_.getContext(); }
  llvm::PointerType* pointer() { return llvm::PointerType::get(context(), 0); }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(context(), name, function_);
  }
  llvm::Value* argument(unsigned i) { return function_->getArg(i); }

  llvm::Module& module_;
  const ir::Kernel& kernel_;
  std::vector<ir::SharedSlot> layout_;
  TargetHooks hooks_;
  EmulatedKernel result_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *end_ = nullptr;
  llvm::Value* shared_ = nullptr;
  std::map<std::string, std::vector<std::int64_t>> extents_;  // of the Allocates around
  unsigned barriers_ = 0, shuffles_ = 0;
};

}  // namespace mica::llvm_backend
