// Barriers of some threads, clusters, copies, waits and exchanges of an emulated thread.
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include "codegen/llvm/emulated_thread_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;

}  // namespace

void ThreadFunction::add_async_hooks() {
  hooks_.named_barrier = [this](Emitter& e, const ir::NamedBarrier& barrier, Value* number) {
    named_barrier(e, barrier, number);
  };
  hooks_.cluster_barrier = [this](Emitter& e) { cluster_barrier(e); };
  hooks_.cluster_memory = [this](Emitter& e, Value* base, Value* block) {
    return cluster_memory(e, base, block);
  };
  hooks_.warp_shuffle = [this](Emitter& e, Type type, Value* own, int delta) {
    return shuffle(e, type, own, delta);
  };
  hooks_.copy = [this](Emitter& e, const ArrayCopy& both) { copy(e, both, nullptr); };
  hooks_.commit_copies = [this](Emitter& e) {
    Builder& b = e.builder();
    call(b, "emulator_commit_copies", b.getVoidTy(), {argument(kThread)});
  };
  hooks_.wait_for_copies = [this](Emitter& e, int pending) {
    Builder& b = e.builder();
    call(b, "emulator_wait_for_copies", b.getVoidTy(),
         {b.getInt32(static_cast<std::uint32_t>(pending)), argument(kThread)});
  };
  hooks_.bulk_copy = [this](Emitter& e, const ArrayCopy& both, const BulkBarrier& barrier) {
    copy(e, both, &barrier);
  };
  hooks_.bulk_init = [this](Emitter& e, const BulkBarrier& first, int count) {
    bulk_init(e, first, count);
  };
  hooks_.bulk_expect = [this](Emitter& e, const BulkBarrier& barrier, Value* bytes) {
    bulk_expect(e, barrier, bytes);
  };
  hooks_.bulk_wait = [this](Emitter& e, const BulkBarrier& barrier, Value* parity) {
    bulk_wait(e, barrier, parity);
  };
}

void ThreadFunction::named_barrier(Emitter& emitter, const ir::NamedBarrier& barrier, Value* number) {
  Builder& b = emitter.builder();
  Value* good = call(b, "emulator_named_barrier", b.getInt1Ty(),
                     {argument(kThread), number, b.getInt32(static_cast<std::uint32_t>(barrier.threads)),
                      b.getInt1(barrier.waits)});
  Builder(unless(emitter, good)).CreateBr(end_);
}

void ThreadFunction::cluster_barrier(Emitter& emitter) {
  Builder& b = emitter.builder();
  call(b, "emulator_cluster_barrier", b.getVoidTy(), {argument(kThread)});
}

Value* ThreadFunction::cluster_memory(Emitter& emitter, Value* base, Value* block) {
  Builder& b = emitter.builder();
  Value* there = call(b, "emulator_cluster_memory", pointer(),
                      {base, b.CreateSExt(block, b.getInt64Ty()), argument(kThread)});
  Builder(unless(emitter, b.CreateIsNotNull(there))).CreateBr(end_);
  return there;
}

/// The source's elements lie in one row of its array; the target's first element lies in its array, and
/// the run-time part finds out whether the last one does.
void ThreadFunction::copy(Emitter& emitter, const ArrayCopy& both, const BulkBarrier* barrier) {
  Builder& b = emitter.builder();
  const std::uint32_t to = add_access(describe(both.to));
  const std::uint32_t from = add_access(describe(both.from));
  const Values target = coordinates(emitter, both.to, 0);
  const Values source = coordinates(emitter, both.from, 0);
  check_range(emitter, to, target);
  check_range(emitter, from, source);
  if (!source.empty()) {
    Values last = source;
    last[0] = b.CreateAdd(last[0], b.CreateSub(both.count, b.getInt64(1)));
    check_range(emitter, from, last);
  }
  Values arguments = {both.to.pointer, b.getInt32(to), both.from.pointer, b.getInt32(from), both.count};
  if (barrier != nullptr) {
    arguments.insert(arguments.end(), {barrier->pointer, b.getInt32(barrier_access(*barrier)),
                                       b.CreateSExt(barrier->slot, b.getInt64Ty())});
  }
  arguments.push_back(argument(kThread));
  const char* function = barrier == nullptr ? "emulator_copy" : "emulator_bulk_copy";
  Value* good = call(b, function, b.getInt1Ty(), std::move(arguments));
  Builder at(unless(emitter, good));
  Values where = {at.getInt32(to), at.getInt32(from), argument(kThread)};
  append_coordinates(at, target, where);
  append_coordinates(at, source, where);
  call(at, "emulator_copy_conflict", at.getVoidTy(), std::move(where));
  at.CreateBr(end_);
}

std::uint32_t ThreadFunction::barrier_access(const BulkBarrier& barrier) {
  EmulatedAccess access;
  access.buffer = barrier.buffer;
  access.memory = EmulatedAccess::Memory::Shared;
  access.is_store = true;
  access.element_bytes = Int(64).bytes();
  access.extents = extents_.at(barrier.buffer);
  return add_access(std::move(access));
}

void ThreadFunction::bulk_init(Emitter& emitter, const BulkBarrier& first, int count) {
  Builder& b = emitter.builder();
  call(b, "emulator_bulk_init", b.getVoidTy(),
       {first.pointer, b.getInt32(barrier_access(first)), b.getInt32(static_cast<std::uint32_t>(count)),
        argument(kThread)});
}

void ThreadFunction::bulk_expect(Emitter& emitter, const BulkBarrier& barrier, Value* bytes) {
  Builder& b = emitter.builder();
  call(b, "emulator_bulk_expect", b.getVoidTy(),
       {barrier.pointer, b.getInt32(barrier_access(barrier)), b.CreateSExt(barrier.slot, b.getInt64Ty()),
        bytes, argument(kThread)});
}

void ThreadFunction::bulk_wait(Emitter& emitter, const BulkBarrier& barrier, Value* parity) {
  Builder& b = emitter.builder();
  Value* slot = b.CreateSExt(barrier.slot, b.getInt64Ty());
  call(b, "emulator_bulk_wait", b.getVoidTy(),
       {barrier.pointer, b.getInt32(barrier_access(barrier)), slot, parity, argument(kThread)});
}

/// The value goes through memory, which the run-time part rewrites while the thread waits.
Value* ThreadFunction::shuffle(Emitter& emitter, Type type, Value* own, int delta) {
  Builder& b = emitter.builder();
  llvm::Type* held = memory_type(context(), type);
  const llvm::DataLayout& layout = module_.getDataLayout();
  const auto alignment = static_cast<unsigned>(layout.getABITypeAlign(held).value());
  const auto bytes = static_cast<std::uint32_t>(layout.getTypeAllocSize(held).getFixedValue());
  Value* memory = emitter.frame_memory(held, 1, alignment);
  b.CreateStore(type.is_bool() ? b.CreateZExt(own, held) : own, memory);
  call(b, "emulator_shuffle", b.getVoidTy(),
       {memory, b.getInt32(bytes), b.getInt32(static_cast<std::uint32_t>(delta)),
        b.getInt32(shuffles_++), argument(kThread)});
  Value* result = b.CreateLoad(held, memory);
  return type.is_bool() ? b.CreateICmpNE(result, llvm::Constant::getNullValue(held)) : result;
}

}  // namespace mica::llvm_backend
