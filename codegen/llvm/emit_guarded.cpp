// Stores that a condition guards in a loop, without a branch around them.
//
//   if inside: f[ramp(i, 1, 4)] = sum + w*v          @%inside st.global.v4.f32 [f + i], {...}
//
// A branch would end a basic block. LLVM moves what is used behind the store alone to a block of its own
// there, and the assembler orders instructions within blocks only, so that none of it fills the waits of
// a step. What is stored is computed by all threads: its loads must be of a thread's own values, and
// there must be few.
#include <algorithm>

#include "codegen/ir/stmt.h"
#include "codegen/llvm/emitter_llvm.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {

bool Emitter::stores_own_values(const ir::Stmt& s, std::size_t& most) const {
  if (!s.defined()) return true;
  if (const auto* block = s.as<ir::Block>()) {
    return std::ranges::all_of(block->stmts,
                               [&](const ir::Stmt& child) { return stores_own_values(child, most); });
  }
  if (const auto* produce = s.as<ir::Produce>()) return stores_own_values(produce->body, most);
  if (const auto* branch = s.as<ir::If>()) return stores_own_values(branch->then_case, most);
  const auto* store = s.as<ir::Store>();
  if (store == nullptr || store->streamed || store->atomic || store->block.defined() || most == 0)
    return false;
  --most;
  const BufferBinding* to = find_buffer(store->buffer);
  if (to == nullptr || to->memory != MemoryType::Heap || store->value.type().is_bool()) return false;
  bool own = true;
  walk(store->value, [&](const Expr& node) {
    if (const auto* load = node.as<Load>()) {
      const BufferBinding* from = find_buffer(load->buffer);
      own = own && from != nullptr &&
            (from->memory == MemoryType::Register || from->memory == MemoryType::Stack);
    }
    own = own && node.as<Print>() == nullptr;
  });
  return own;
}

bool Emitter::emit_without_branch(const ir::If& branch) {
  std::size_t most = 8;  // stores
  if (!hooks_.store_if || loops_ == 0 || !stores_own_values(branch.then_case, most)) return false;
  llvm::Value* around = store_condition_;
  llvm::Value* condition = emit(branch.condition);
  const auto where = [&](llvm::Value* own) {
    return around == nullptr ? own : builder_.CreateAnd(around, own);
  };
  store_condition_ = where(condition);
  emit(branch.then_case);
  store_condition_ = around;
  if (!branch.else_case.defined()) return true;
  llvm::Value* otherwise = where(builder_.CreateNot(condition));
  llvm::BasicBlock* else_block = make_block("else");
  llvm::BasicBlock* after = make_block("after");
  builder_.CreateCondBr(otherwise, else_block, after);
  builder_.SetInsertPoint(else_block);
  store_condition_ = nullptr;
  emit(branch.else_case);
  store_condition_ = around;
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  return true;
}

}  // namespace mica::llvm_backend
