// Stores that a condition guards in a loop, without a branch around them.
//
//   if inside: f[ramp(i, 1, 4)] = sum + w*v          @%inside st.global.v4.f32 [f + i], {...}
//
// A branch would end a basic block. LLVM moves what is used behind the store alone to a block of its own
// there, and the assembler orders instructions within blocks only, so that none of it fills the waits of
// a step. Where and what is stored is worked out by all threads: from values that a thread has itself,
// since an element may lie outside of its array where the condition does not hold. What happens there,
// such as stores of single points at the end of a row, has a branch: one for all neighbouring
// statements.
#include <algorithm>
#include <utility>

#include "codegen/ir/stmt.h"
#include "codegen/llvm/emitter_llvm.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {

bool Emitter::has_own_values(const Expr& e) const {
  bool own = true;
  walk(e, [&](const Expr& node) {
    if (const auto* load = node.as<Load>()) {
      const BufferBinding* from = find_buffer(load->buffer);
      own = own && from != nullptr &&
            (from->memory == MemoryType::Register || from->memory == MemoryType::Stack);
    }
    own = own && node.as<Print>() == nullptr;
  });
  return own;
}

bool Emitter::stores_own_values(const ir::Stmt& s, int& most) const {
  if (!s.defined()) return true;
  if (const auto* block = s.as<ir::Block>()) {
    return std::ranges::all_of(block->stmts,
                               [&](const ir::Stmt& child) { return stores_own_values(child, most); });
  }
  if (const auto* produce = s.as<ir::Produce>()) return stores_own_values(produce->body, most);
  if (const auto* branch = s.as<ir::If>()) {
    return has_own_values(branch->condition) && stores_own_values(branch->then_case, most);
  }
  const auto* store = s.as<ir::Store>();
  if (store == nullptr || store->streamed || store->atomic || store->block.defined() || --most < 0)
    return false;
  const BufferBinding* to = find_buffer(store->buffer);
  if (to == nullptr || to->memory != MemoryType::Heap || store->value.type().is_bool()) return false;
  return has_own_values(store->value) &&
         std::ranges::all_of(store->index, [&](const Expr& index) { return has_own_values(index); });
}

bool Emitter::is_guarded(const ir::If& branch) const {
  int most = 8;  // stores
  return hooks_.store_if && loops_ > 0 && stores_own_values(branch.then_case, most);
}

void Emitter::store_where(const ir::Stmt& s, llvm::Value* condition, std::vector<Case>& otherwise) {
  if (!s.defined()) return;
  if (const auto* block = s.as<ir::Block>()) {
    for (const ir::Stmt& child : block->stmts) store_where(child, condition, otherwise);
  } else if (const auto* produce = s.as<ir::Produce>()) {
    store_where(produce->body, condition, otherwise);
  } else if (const auto* branch = s.as<ir::If>()) {
    store_where(*branch, condition, otherwise);
  } else {
    store_condition_ = condition;
    emit(s);
    store_condition_ = nullptr;
  }
}

void Emitter::store_where(const ir::If& branch, llvm::Value* around, std::vector<Case>& otherwise) {
  llvm::Value* condition = emit(branch.condition);
  const auto where = [&](llvm::Value* own) {
    return around == nullptr ? own : builder_.CreateAnd(around, own);
  };
  store_where(branch.then_case, where(condition), otherwise);
  if (branch.else_case.defined()) {
    otherwise.emplace_back(where(builder_.CreateNot(condition)), branch.else_case);
  }
}

void Emitter::emit_guarded(const std::vector<const ir::If*>& branches) {
  std::vector<Case> otherwise;
  for (const ir::If* branch : branches) store_where(*branch, nullptr, otherwise);
  if (otherwise.empty()) return;
  llvm::Value* any = otherwise.front().first;
  for (std::size_t i = 1; i < otherwise.size(); ++i) any = builder_.CreateOr(any, otherwise[i].first);
  llvm::BasicBlock* rare = make_block("otherwise");
  llvm::BasicBlock* after = make_block("after");
  builder_.CreateCondBr(any, rare, after);
  builder_.SetInsertPoint(rare);
  for (const auto& [condition, stmt] : otherwise) {
    llvm::BasicBlock* then = make_block("then");
    llvm::BasicBlock* next = make_block("next");
    builder_.CreateCondBr(condition, then, next);
    builder_.SetInsertPoint(then);
    emit(stmt);
    builder_.CreateBr(next);
    builder_.SetInsertPoint(next);
  }
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

}  // namespace mica::llvm_backend
