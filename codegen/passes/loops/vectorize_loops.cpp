#include "codegen/passes/loops/vectorize_loops.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "codegen/analysis/linear.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/equal.h"
#include "codegen/ir/traverse.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

Expr broadcast(const Expr& e, int lanes) {
  if (e.type().lanes == lanes) return e;
  internal_check(e.type().is_scalar(), "only a scalar is broadcast");
  return make_expr(e.type().with_lanes(lanes), Broadcast{e});
}

// One loop's variable turned into lanes.
class Lanes {
 public:
  Lanes(std::string name, Expr min, int lanes)
      : name_(std::move(name)), min_(std::move(min)), lanes_(lanes) {}

  ir::Stmt run(const ir::Stmt& s) {
    if (!depends(s)) return s;
    if (const auto* store = s.as<ir::Store>()) return run_store(s, *store);
    if (const auto* let = s.as<ir::LetStmt>()) return run_let(*let);
    if (const auto* block = s.as<ir::Block>()) {
      std::vector<ir::Stmt> stmts;
      for (const auto& child : block->stmts) stmts.push_back(run(child));
      return ir::make_block(std::move(stmts));
    }
    if (const auto* produce = s.as<ir::Produce>()) {
      return ir::make_stmt(
          ir::Produce{produce->func, run(produce->body), produce->plane, produce->kept});
    }
    if (const auto* loop = s.as<ir::For>()) {
      if (depends(loop->min) || depends(loop->extent)) return by_lane(s);
      return ir::make_stmt(
          ir::For{loop->name, loop->min, loop->extent, loop->kind, run(loop->body), loop->rolled});
    }
    if (const auto* branch = s.as<ir::If>()) {
      if (depends(branch->condition))
        return is_stored_value(*branch) ? each_stored(*branch) : by_lane(s);
      return ir::make_stmt(ir::If{branch->condition, run(branch->then_case), run(branch->else_case)});
    }
    return by_lane(s);
  }

 private:
  [[nodiscard]] bool depends(const Expr& e) const {
    if (const auto* var = e.as<VarRef>()) {
      met_.insert(var->name);
      return var->name == name_ || widened_.count(var->name) > 0;
    }
    // Asked of a node, and then of what is inside it.
    if (const auto known = depends_.find(e.ptr().get()); known != depends_.end()) {
      return known->second.second;
    }
    bool found = false;
    for_each_child(e, [&](const Expr& child) { found = found || depends(child); });
    depends_.emplace(e.ptr().get(), std::pair(e, found));
    return found;
  }
  // What is known of nodes holds while the names that they have are as wide.
  void widen(const std::string& name) {
    widened_.insert(name);
    forget_if_met(name);
  }
  void narrow(const std::string& name) {
    widened_.erase(name);
    forget_if_met(name);
  }
  void forget_if_met(const std::string& name) {
    if (met_.count(name) == 0) return;
    met_.clear();
    depends_.clear();
    memo_ = {};
  }
  [[nodiscard]] bool depends(const ir::Stmt& s) const {
    if (!s.defined()) return false;
    bool found = false;
    ir::for_each_child(
        s, [&](const ir::Stmt& child) { found = found || depends(child); },
        [&](const Expr& e) { found = found || depends(e); });
    return found;
  }

  ir::Stmt by_lane(const ir::Stmt& s) const {
    std::vector<ir::Stmt> copies;
    for (int i = 0; i < lanes_; ++i) {
      const ir::Stmt lane = with_scalar_lets(s, "." + std::to_string(i));
      copies.push_back(
          simplify(ir::substitute(lane, name_, min_ + make_const(Int(32), std::int64_t{i}))));
    }
    return ir::make_block(std::move(copies));
  }

  // Is it `if condition: array[index] = v`, v a vector let around?
  [[nodiscard]] bool is_stored_value(const ir::If& branch) const {
    const auto* store = branch.then_case.as<ir::Store>();
    if (store == nullptr || branch.else_case.defined()) return false;
    const auto* value = store->value.as<VarRef>();
    const auto is_let = [&](const Expr& e) {
      return std::ranges::any_of(lets_, [&](const auto& let) { return uses_var(e, let.first); });
    };
    return value != nullptr && widened_.count(value->name) > 0 && !is_let(branch.condition) &&
           std::ranges::none_of(store->index, is_let);
  }
  // The lanes of the value, which is computed once, each under its condition.
  ir::Stmt each_stored(const ir::If& branch) const {
    const auto& store = *branch.then_case.as<ir::Store>();
    const Type type = store.value.type();
    const Expr vector = make_expr(type.with_lanes(lanes_), VarRef{store.value.as<VarRef>()->name});
    std::vector<ir::Stmt> stores;
    for (int i = 0; i < lanes_; ++i) {
      ir::Store one = store;
      one.value = make_expr(type, Shuffle{{vector}, {i}});
      const ir::Stmt tested = ir::make_stmt(ir::If{branch.condition, ir::make_stmt(std::move(one)), {}});
      stores.push_back(
          simplify(ir::substitute(tested, name_, min_ + make_const(Int(32), std::int64_t{i}))));
    }
    return ir::make_block(std::move(stores));
  }

  /// `s` under scalar copies, named with `suffix`, of the vector lets around it that it reads.
  [[nodiscard]] ir::Stmt with_scalar_lets(ir::Stmt s, const std::string& suffix) const {
    for (auto let = lets_.rbegin(); let != lets_.rend(); ++let) {
      const auto& [name, value] = *let;
      const ir::Stmt renamed = ir::substitute(s, name, make_expr(value.type(), VarRef{name + suffix}));
      if (!ir::equal(renamed, s)) s = ir::make_stmt(ir::LetStmt{name + suffix, value, renamed});
    }
    return s;
  }

  ir::Stmt run_store(const ir::Stmt& s, const ir::Store& store) {
    if (!depends(store.index[0])) return by_lane(s);
    ir::Store wide = store;
    wide.index = {lane_index(store.index[0])};
    for (auto& e : wide.logical) e = broadcast(run(e), lanes_);
    wide.value = broadcast(run(store.value), lanes_);
    return ir::make_stmt(std::move(wide));
  }

  ir::Stmt run_let(const ir::LetStmt& let) {
    Expr value = run(let.value);
    bool wide = !value.type().is_scalar();
    if (wide) {
      widen(let.name);
      lets_.emplace_back(let.name, let.value);
    }
    ir::Stmt body = run(let.body);
    if (wide) {
      narrow(let.name);
      lets_.pop_back();
    }
    return ir::make_stmt(ir::LetStmt{let.name, value, body});
  }

  // The coefficient of the loop variable in an index, removed from `form`; it may stand under a
  // widening cast.
  std::int64_t take(analysis::Linear& form) const {
    std::int64_t k = form.take(name_);
    for (auto it = form.terms.begin(); it != form.terms.end(); ++it) {
      const auto* cast_ = it->first.as<Cast>();
      const auto* var = cast_ ? cast_->value.as<VarRef>() : nullptr;
      if (!var || var->name != name_) continue;
      k += it->second;
      form.terms.erase(it);
      break;
    }
    return k;
  }

  // An element offset: a Ramp where it is linear in the loop variable.
  Expr lane_index(const Expr& index) {
    analysis::Linear form = analysis::linearize(index);
    std::int64_t stride = take(form);
    Type type = index.type();
    Expr rest = analysis::to_expr(form, type);
    if (depends(rest)) return broadcast(run(index), lanes_);
    Expr start = min_.type() == type ? min_ : make_expr(type, Cast{min_});
    Expr base = simplify(rest + start * make_const(type, stride));
    return make_expr(type.with_lanes(lanes_), Ramp{base, make_const(type, stride)});
  }

  Expr run(const Expr& e) {
    return memo_(e, [&] { return run_new(e); });
  }
  Expr run_new(const Expr& e) {
    if (!depends(e)) return e;
    if (const auto* var = e.as<VarRef>()) {
      if (var->name == name_) {
        return make_expr(e.type().with_lanes(lanes_), Ramp{min_, make_const(e.type(), std::int64_t{1})});
      }
      return make_expr(e.type().with_lanes(lanes_), VarRef{var->name});
    }
    if (const auto* load = e.as<Load>()) {
      Load wide = *load;
      wide.index = {lane_index(load->index[0])};
      for (auto& i : wide.logical) i = broadcast(run(i), lanes_);
      return make_expr(e.type().with_lanes(lanes_), std::move(wide));
    }
    if (const auto* let = e.as<Let>()) {
      Expr value = run(let->value);
      bool wide = !value.type().is_scalar();
      if (wide) widen(let->name);
      Expr body = broadcast(run(let->body), lanes_);
      if (wide) narrow(let->name);
      return make_expr(body.type(), Let{let->name, value, body});
    }
    Expr r = map_children(e, [this](const Expr& child) { return broadcast(run(child), lanes_); });
    return Expr(std::make_shared<ExprNode>(e.type().with_lanes(lanes_), r.node().op));
  }

  std::string name_;
  Expr min_;
  int lanes_;
  std::set<std::string> widened_;
  mutable NodeMap<std::pair<Expr, bool>> depends_;
  RewriteMemo memo_;
  mutable std::set<std::string> met_;  ///< names in what the two know
  /// The vector LetStmts around the statement at hand with their scalar values, outermost first.
  std::vector<std::pair<std::string, Expr>> lets_;
};

}  // namespace

ir::Stmt vectorize_loops(const ir::Stmt& stmt) {
  const auto* loop = stmt.as<ir::For>();
  if (loop && loop->kind == LoopKind::Vectorized) {
    const auto* extent = as_int(loop->extent);
    internal_check(extent != nullptr, "build_loop_nest makes vector loops of constant extent");
    ir::Stmt body = vectorize_loops(loop->body);
    return Lanes(loop->name, loop->min, static_cast<int>(*extent)).run(body);
  }
  return ir::map_children(
      stmt, [](const ir::Stmt& child) { return vectorize_loops(child); },
      [](const Expr& e) { return e; });
}

}  // namespace mica::passes
