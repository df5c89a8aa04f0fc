// Stores that a condition guards in a loop, without a branch around them.
//
//   if inside: f[ramp(i, 1, 4)] = sum + w*v          @%inside st.global.v4.f32 [f + i], {...}
//
// A branch would end a basic block. LLVM moves what is used behind the store alone to a block of its own
// there, and the assembler orders instructions within blocks only, so that none of it fills the waits of
// a step. What is stored is computed by all threads: its loads must be of a thread's own values, and
// there must be few. What happens where the condition does not hold, such as stores of single points at
// the end of a row, has a branch: one for all neighbouring statements.
#include <algorithm>
#include <utility>

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
  if (branch.else_case.defined()) {
    otherwise_.emplace_back(where(builder_.CreateNot(condition)), branch.else_case);
  }
  if (around == nullptr && !in_block_) emit_otherwise();
  return true;
}

void Emitter::emit_otherwise() {
  if (otherwise_.empty()) return;
  const auto cases = std::exchange(otherwise_, {});
  llvm::Value* any = cases.front().first;
  for (std::size_t i = 1; i < cases.size(); ++i) any = builder_.CreateOr(any, cases[i].first);
  llvm::BasicBlock* rare = make_block("otherwise");
  llvm::BasicBlock* after = make_block("after");
  builder_.CreateCondBr(any, rare, after);
  builder_.SetInsertPoint(rare);
  for (const auto& [condition, stmt] : cases) {
    llvm::BasicBlock* then = make_block("then");
    llvm::BasicBlock* next = make_block("next");
    builder_.CreateCondBr(condition, then, next);
    builder_.SetInsertPoint(then);
    const bool in_block = std::exchange(in_block_, false);
    emit(stmt);
    in_block_ = in_block;
    builder_.CreateBr(next);
    builder_.SetInsertPoint(next);
  }
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

}  // namespace mica::llvm_backend
