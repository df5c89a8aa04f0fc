#include "codegen/passes/funcs/bind_still.h"

#include <map>
#include <set>

#include "codegen/ir/traverse.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

class Binder {
 public:
  explicit Binder(const ir::For& loop) : loop_(loop), bound_{loop.name} {
    ir::walk(
        loop.body,
        [this](const ir::Stmt& s) {
          if (const auto* inner = s.as<ir::For>()) bound_.insert(inner->name);
          if (const auto* let = s.as<ir::LetStmt>()) bound_.insert(let->name);
        },
        [this](const Expr& e) {
          if (const auto* let = e.as<Let>()) bound_.insert(let->name);
        });
  }

  StillDivisions run() {
    ir::Stmt body = in(loop_.body);
    return {std::move(body), std::move(values_)};
  }

 private:
  ir::Stmt in(const ir::Stmt& s) {
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return in(child); }, [this](const Expr& e) { return in(e); });
  }

  Expr in(const Expr& e) {
    return rewritten_(e, [&]() -> Expr {
      if (is_division(e) && is_still(e)) return name_of(e);
      return map_children(e, [this](const Expr& child) { return in(child); });
    });
  }

  static bool is_division(const Expr& e) {
    const auto* op = e.as<Binary>();
    return op && (op->op == BinaryOp::Div || op->op == BinaryOp::Mod) && e.type() == Int(32) &&
           as_int(op->b) == nullptr;
  }

  bool is_still(const Expr& e) {
    if (const auto* var = e.as<VarRef>()) return bound_.count(var->name) == 0;
    if (e.as<Load>() || e.as<Let>()) return false;
    const auto known = still_.find(e.ptr().get());
    if (known != still_.end()) return known->second;
    bool still = true;
    for_each_child(e, [&](const Expr& child) { still = still && is_still(child); });
    return still_[e.ptr().get()] = still;
  }

  Expr name_of(const Expr& e) {
    const auto [at, is_new] = names_.try_emplace(e);
    if (is_new) {
      const std::string name = loop_.name + ".still" + std::to_string(values_.size());
      at->second = make_var(name);
      values_.emplace_back(name, e);
    }
    return at->second;
  }

  struct Order {
    bool operator()(const Expr& a, const Expr& b) const { return compare(a, b) < 0; }
  };

  const ir::For& loop_;
  std::set<std::string> bound_;
  RewriteMemo rewritten_;
  NodeMap<bool> still_;  // of nodes that the loop keeps alive
  std::map<Expr, Expr, Order> names_;
  std::vector<std::pair<std::string, Expr>> values_;
};

}  // namespace

StillDivisions bind_still(const ir::For& loop) { return Binder(loop).run(); }

}  // namespace mica::passes
