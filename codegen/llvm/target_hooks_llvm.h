// What differs between back ends, as functions that the Emitter calls.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <llvm/IR/Value.h>

#include "codegen/ir/kernel.h"
#include "codegen/llvm/ops_llvm.h"

namespace mica::llvm_backend {

class Emitter;
class SourceLines;

/// A buffer as the code at hand sees it.
struct BufferBinding {
  llvm::Value* base = nullptr;  ///< address of flat element 0
  Type type;                    ///< an element's
  /// Nobody writes it while the kernel runs.
  bool read_only = false;
  /// Heap for parameters.
  MemoryType memory = MemoryType::Heap;
  /// Where this is set, `base` is a texture object, and flat element 0 is its element of this number
  /// (i64).
  llvm::Value* texture_origin = nullptr;
  /// It may be the same memory as another that is shared.
  bool shared = false;
};

/// One load or store instruction: `count` neighbouring elements from `pointer` on.
struct MemoryAccess {
  const std::string& buffer;
  const BufferBinding& binding;
  bool is_store = false;
  llvm::Value* pointer = nullptr;
  int count = 1;
  /// The elements are lanes [lane, lane + count) of the Load or Store.
  int lane = 0;
  /// Its logical indices, one a dimension, of the access's lanes or scalar; may be empty.
  const std::vector<Expr>& logical;
  bool streamed = false;
  /// The bytes that the address of all elements together is promised to be a multiple of; 0: none.
  int alignment = 0;
  bool atomic = false;  ///< a store that reads and writes its one element in one step
  /// A store of ir::Store::pieces: the next thread in x stores as many elements, those behind these.
  bool side_by_side = false;
  /// i64: an end of a copy of so many neighbours, a run-time number, in place of `count`. Its indices
  /// are the first one's. Null: none.
  llvm::Value* copied = nullptr;
  /// A vector of bools: its elements that are loaded. Null: all.
  llvm::Value* mask = nullptr;
  bool checked = false;  ///< on_scattered has seen it
};

/// Neighbouring elements that an AsyncCopy or a BulkCopy brings from one array to another.
struct ArrayCopy {
  MemoryAccess to, from;         ///< of all elements; `count` is 1 where it is a run-time value
  llvm::Value* count = nullptr;  ///< i64
  std::int64_t bytes = 0;        ///< of all elements; 0 where it is a run-time value
};

/// One cell of an array of transaction barriers.
struct BulkBarrier {
  const std::string& buffer;
  llvm::Value* pointer = nullptr;
  llvm::Value* slot = nullptr;  ///< index of the cell, an integer
};

/// A back end. Functions get the Emitter in whose function and at whose insertion point they emit;
/// they may move the insertion point to another block.
struct TargetHooks {
  TargetFacts facts;
  SourceLines* lines = nullptr;  ///< that the code gets; null: none
  /// The value of a name that nothing binds ("thread.x"), or null where there is none such.
  std::function<llvm::Value*(Emitter&, const std::string& name)> axis;
  /// The function that prints a line, of a format as printf has it, the address of its arguments, 8
  /// bytes each, and the value of this parameter of the kernel as an address; null: of the first two.
  const char* print_function = "mica_print";
  const char* print_lines = ir::kPrintLines;
  std::function<void(Emitter&)> barrier;
  /// Null where a back end has no such barriers, as `barrier`: InternalError.
  /// `number` is that of the turn.
  std::function<void(Emitter&, const ir::NamedBarrier&, llvm::Value* number)> named_barrier;
  std::function<void(Emitter&)> cluster_barrier;
  /// The address in another block of the cluster, of this number (i32), of what is at `base` in the
  /// shared memory of the thread's own. Null: InternalError.
  std::function<llvm::Value*(Emitter&, llvm::Value* base, llvm::Value* block)> cluster_memory;
  /// The fence before a Barrier or NamedBarrier that fences copies. Null: it needs none.
  std::function<void(Emitter&)> fence_copies;
  /// Parallel, GpuBlock and GpuThread loops. Null: InternalError.
  std::function<void(Emitter&, const ir::For&)> loop;
  /// Memory for an Allocate, whose body the Emitter then emits.
  std::function<BufferBinding(Emitter&, const ir::Allocate&)> allocate;
  /// After the body of that Allocate. May be null.
  std::function<void(Emitter&, const ir::Allocate&, const BufferBinding&)> release;
  /// Before every load and store. May be null.
  std::function<void(Emitter&, const MemoryAccess&)> on_access;
  /// The same for a vector of elements anywhere, without a pointer, all at once. False: on_access asks
  /// for each element by itself. May be null.
  std::function<bool(Emitter&, const MemoryAccess&)> on_scattered;

  /// A load or store that passes by the caches, of a piece with this address, type and alignment in
  /// bytes; streamed_load's result is null where the piece is loaded as others are, and streamed_store's
  /// false. Null: all are loaded and stored as others are.
  std::function<llvm::Value*(Emitter&, const MemoryAccess&, llvm::Value* pointer, llvm::Type*, int)>
      streamed_load;
  std::function<bool(Emitter&, const MemoryAccess&, llvm::Value* pointer, llvm::Value*, int)>
      streamed_store;
  /// A vector of global memory of which nothing is known but the alignment of its elements, from the
  /// aligned pieces that the function loads; and its store (where a condition holds, unless it
  /// is null), false where it is stored as others are. Null: they are loaded and stored as others are.
  std::function<llvm::Value*(Emitter&, llvm::Value* pointer, Type,
                             const std::function<llvm::Value*(llvm::Value*, Type)>& load_piece)>
      load_unaligned;
  std::function<bool(Emitter&, const MemoryAccess&, llvm::Value*, Type, llvm::Value* condition)>
      store_unaligned;
  /// A store of a piece to global memory where a condition (i1) holds, without a branch. Null: there is
  /// none.
  std::function<void(Emitter&, llvm::Value* condition, llvm::Value* pointer, llvm::Value*)> store_if;
  /// One element of a texture; `index` (i32) counts from the texture's first. Needed where a binding is
  /// a texture.
  std::function<llvm::Value*(Emitter&, const BufferBinding&, llvm::Value* index)> texture_load;
  /// WarpShuffle of a value of `type` by a delta that is not 0. Null: InternalError.
  std::function<llvm::Value*(Emitter&, Type type, llvm::Value*, int delta)> warp_shuffle;

  /// AsyncCopy, CopyCommit and CopyWait. Null: the copy is made at once, and there is nothing to wait
  /// for.
  std::function<void(Emitter&, const ArrayCopy&)> copy;
  std::function<void(Emitter&)> commit_copies;
  std::function<void(Emitter&, int pending)> wait_for_copies;
  /// BulkCopy, BulkInit, BulkExpect (`bytes` is i32) and BulkWait (`parity` is i32). Null: as above.
  std::function<void(Emitter&, const ArrayCopy&, const BulkBarrier&)> bulk_copy;
  std::function<void(Emitter&, const BulkBarrier& first, int count)> bulk_init;
  std::function<void(Emitter&, const BulkBarrier&, llvm::Value* bytes)> bulk_expect;
  std::function<void(Emitter&, const BulkBarrier&, llvm::Value* parity)> bulk_wait;
};

}  // namespace mica::llvm_backend
