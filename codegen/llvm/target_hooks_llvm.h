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

/// A buffer as the code at hand sees it.
struct BufferBinding {
  llvm::Value* base = nullptr;  ///< address of flat element 0
  Type type;                    ///< an element's
  /// Nobody writes it while the kernel runs.
  bool read_only = false;
  /// Heap for parameters.
  MemoryType memory = MemoryType::Heap;
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
};

/// A back end. Functions get the Emitter in whose function and at whose insertion point they emit;
/// they may move the insertion point to another block.
struct TargetHooks {
  TargetFacts facts;
  /// The value of a name that nothing binds ("thread.x"), or null where there is none such.
  std::function<llvm::Value*(Emitter&, const std::string& name)> axis;
  std::function<void(Emitter&)> barrier;
  /// Parallel, GpuBlock and GpuThread loops. Null: InternalError.
  std::function<void(Emitter&, const ir::For&)> loop;
  /// Memory for an Allocate, whose body the Emitter then emits.
  std::function<BufferBinding(Emitter&, const ir::Allocate&)> allocate;
  /// After the body of that Allocate. May be null.
  std::function<void(Emitter&, const ir::Allocate&, const BufferBinding&)> release;
  /// Before every load and store. May be null.
  std::function<void(Emitter&, const MemoryAccess&)> on_access;
};

}  // namespace mica::llvm_backend
