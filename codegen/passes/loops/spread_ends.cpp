#include "codegen/passes/loops/spread_ends.h"

#include <cstddef>
#include <map>
#include <string>

#include "codegen/ir/traverse.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

constexpr std::size_t kMostNodes = 24;

bool is_simple(const Expr& e) {
  if (e.type() != Int(32)) return false;
  std::size_t nodes = 0, bends = 0;
  bool sums = true;
  visit_nodes({e}, [&](const Expr& node) {
    ++nodes;
    if (as_int(node) != nullptr || node.as<VarRef>() != nullptr) return;
    const auto* op = node.as<Binary>();
    if (op == nullptr) {
      sums = false;
      return;
    }
    switch (op->op) {
      case BinaryOp::Add:
      case BinaryOp::Sub: break;
      case BinaryOp::Mul: sums = sums && (as_int(op->a) != nullptr || as_int(op->b) != nullptr); break;
      case BinaryOp::Min:
      case BinaryOp::Max: ++bends; break;
      default: sums = false;
    }
  });
  return sums && bends <= 1 && nodes <= kMostNodes;
}

/// A name around loops is of their ends; one around stores alone is a value, which may wrap.
bool holds_loop(const ir::Stmt& body) {
  bool found = false;
  ir::walk(
      body, [&](const ir::Stmt& s) { found = found || s.as<ir::For>() != nullptr; }, nullptr);
  return found;
}

class Spreader {
 public:
  explicit Spreader(std::map<std::string, Expr> ends) : ends_(std::move(ends)) {}

  ir::Stmt run(const ir::Stmt& s) {
    const auto* let = s.as<ir::LetStmt>();
    if (let == nullptr) {
      return ir::map_children(
          s, [this](const ir::Stmt& child) { return run(child); },
          [this](const Expr& e) { return rewrite_(e); });
    }
    const Expr value = rewrite_(let->value);
    std::map<std::string, Expr> ends = ends_;
    ends.erase(let->name);
    if (is_simple(value) && holds_loop(let->body)) {
      ends.emplace(let->name, value);
      return Spreader(std::move(ends)).run(let->body);
    }
    const ir::Stmt body =
        ends.size() < ends_.size() ? Spreader(std::move(ends)).run(let->body) : run(let->body);
    if (value.same_as(let->value) && body.same_as(let->body)) return s;
    return ir::make_stmt(ir::LetStmt{let->name, value, body});
  }

 private:
  std::map<std::string, Expr> ends_;  // of what stands around
  NodeRewriter rewrite_{[this](const Expr& e) {
    const auto* var = e.as<VarRef>();
    const auto found = var != nullptr ? ends_.find(var->name) : ends_.end();
    return found != ends_.end() ? found->second : Expr();
  }};
};

}  // namespace

ir::Stmt spread_ends(const ir::Stmt& s) { return Spreader({}).run(s); }

}  // namespace mica::passes
