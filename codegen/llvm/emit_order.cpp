// The order in which the parts of an expression are computed.
#include <algorithm>
#include <functional>

#include "codegen/analysis/evaluation_order.h"
#include "codegen/llvm/emitter_llvm.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/traverse.h"

namespace mica::llvm_backend {

int Emitter::registers_of(const Expr& e) {
  const ExprNode* key = &e.node();
  if (const auto found = registers_.find(key); found != registers_.end()) return found->second.second;
  std::vector<int> needs;
  for_each_child(e, [&](const Expr& child) { needs.push_back(registers_of(child)); });
  std::sort(needs.begin(), needs.end(), std::greater<>());
  int need = 1;
  for (std::size_t i = 0; i < needs.size(); ++i) need = std::max(need, needs[i] + static_cast<int>(i));
  registers_.emplace(key, std::pair(e, need));
  return need;
}

std::pair<llvm::Value*, llvm::Value*> Emitter::values_of(const Expr& a, const Expr& b) {
  if (registers_of(b) > registers_of(a)) {
    llvm::Value* second = value_of(b);
    return {value_of(a), second};
  }
  llvm::Value* first = value_of(a);
  return {first, value_of(b)};
}

void Emitter::load_first(const Expr& e) {
  if (hooks_.facts.load_registers == 0) return;
  NodeSet met;
  std::vector<Expr> loads;
  std::int64_t registers = 0;
  const std::function<void(const Expr&)> find = [&](const Expr& at) {
    if (!met.insert(&at.node())) return;
    if (at.as<Let>() != nullptr) return;  // its body has names that are not bound yet
    if (at.as<Load>() != nullptr) {
      loads.push_back(at);
      registers += std::max<std::int64_t>(at.type().lanes * at.type().bytes() / ir::kRegisterBytes, 1);
      return;
    }
    std::vector<Expr> children;
    for_each_child(at, [&](const Expr& child) { children.push_back(child); });
    std::stable_sort(children.begin(), children.end(),
                     [this](const Expr& a, const Expr& b) { return registers_of(a) > registers_of(b); });
    for (const Expr& child : children) find(child);
  };
  find(e);
  if (registers > hooks_.facts.load_registers) return;
  for (const Expr& one : loads) value_of(one);
}

bool Emitter::emit_in_few_registers(const ir::LetStmt& first) {
  std::vector<std::string> names;
  std::vector<Expr> values;
  const ir::Stmt* body = nullptr;
  for (const ir::LetStmt* let = &first; let != nullptr && find(let->name) == nullptr;) {
    names.push_back(let->name);
    values.push_back(let->value);
    body = &let->body;
    let = body->as<ir::LetStmt>();
  }
  lets_in_order_ = names.size();
  const int enough = hooks_.facts.value_registers;
  if (enough == 0 || names.empty()) return false;
  const auto few = analysis::few_registers_order(values, names, enough);
  if (!few) return false;
  lets_in_order_ = 0;
  forget_values();
  outermost_ = Expr();
  strided_taps_.reset();
  ++depth_;
  for (const Expr& e : few->order) value_of(e);
  for (std::size_t i = 0; i < names.size(); ++i) names_[names[i]].push_back(value_of(few->values[i]));
  --depth_;
  emit(*body);
  for (const std::string& name : names) names_[name].pop_back();
  return true;
}

}  // namespace mica::llvm_backend
