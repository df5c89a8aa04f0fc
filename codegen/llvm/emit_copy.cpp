// Copies into shared memory that go on while the code does, and what waits for them.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include "codegen/llvm/emitter_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

/// Both ends of an AsyncCopy or BulkCopy; count and bytes are the caller's to fill in.
template <typename Copy>
ArrayCopy Emitter::array_copy(const Copy& copy) {
  if (copy.to_index.size() != 1 || copy.from_index.size() != 1) {
    throw InternalError("copy from " + copy.from + " to " + copy.to + " is not flattened");
  }
  const BufferBinding& to = buffer(copy.to);
  const BufferBinding& from = buffer(copy.from);
  llvm::Value* target = address(to, copy.to_index[0]);
  llvm::Value* source = address(from, copy.from_index[0]);
  return {{copy.to, to, true, target, 1, 0, copy.to_logical},
          {copy.from, from, false, source, 1, 0, copy.from_logical},
          nullptr,
          0};
}

void Emitter::copy_now(const ArrayCopy& copy) {
  if (hooks_.on_access) {
    for (MemoryAccess end : {copy.from, copy.to}) {
      end.copied = copy.count;
      hooks_.on_access(*this, end);
    }
  }
  const auto element = static_cast<std::uint64_t>(copy.to.binding.type.bytes());
  llvm::Value* bytes = builder_.CreateMul(copy.count, builder_.getInt64(element));
  const llvm::MaybeAlign alignment(element);
  builder_.CreateMemCpy(copy.to.pointer, alignment, copy.from.pointer, alignment, bytes);
}

void Emitter::statement(const ir::AsyncCopy& copy) {
  ArrayCopy both = array_copy(copy);
  both.to.count = both.from.count = copy.count;
  both.count = builder_.getInt64(static_cast<std::uint64_t>(copy.count));
  both.bytes = std::int64_t{copy.count} * both.to.binding.type.bytes();
  if (hooks_.copy) {
    hooks_.copy(*this, both);
  } else {
    copy_now(both);
  }
}

void Emitter::statement(const ir::CopyCommit& /*commit*/) {
  if (hooks_.commit_copies) hooks_.commit_copies(*this);
}

void Emitter::statement(const ir::CopyWait& wait) {
  if (hooks_.wait_for_copies) hooks_.wait_for_copies(*this, wait.pending);
}

BulkBarrier Emitter::bulk_barrier(const std::string& barriers, const Expr& slot) {
  return {barriers, address(buffer(barriers), slot), emit(slot)};
}

llvm::Value* Emitter::emit_i32(const Expr& e) {
  return builder_.CreateIntCast(emit(e), builder_.getInt32Ty(), e.type().is_int());
}

void Emitter::statement(const ir::BulkInit& init) {
  if (hooks_.bulk_init) hooks_.bulk_init(*this, bulk_barrier(init.barriers, Expr(0)), init.count);
}

void Emitter::statement(const ir::BulkExpect& expect) {
  if (!hooks_.bulk_expect) return;
  const BulkBarrier barrier = bulk_barrier(expect.barriers, expect.slot);
  hooks_.bulk_expect(*this, barrier, emit_i32(expect.bytes));
}

void Emitter::statement(const ir::BulkCopy& copy) {
  ArrayCopy both = array_copy(copy);
  both.count =
      builder_.CreateIntCast(emit(copy.count), builder_.getInt64Ty(), copy.count.type().is_int());
  if (hooks_.bulk_copy) {
    hooks_.bulk_copy(*this, both, bulk_barrier(copy.barriers, copy.slot));
  } else {
    copy_now(both);
  }
}

void Emitter::statement(const ir::BulkWait& wait) {
  if (!hooks_.bulk_wait) return;
  const BulkBarrier barrier = bulk_barrier(wait.barriers, wait.slot);
  hooks_.bulk_wait(*this, barrier, emit_i32(wait.parity));
}

}  // namespace mica::llvm_backend
