#include "codegen/analysis/simplify.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "codegen/ir/traverse.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/substitution.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {
namespace {

using analysis::Linear;
using analysis::Ranges;

class Simplifier {
 public:
  explicit Simplifier(const Ranges& ranges) : finder_(ranges) {}

  Expr run(const Expr& e, Integers integers) {
    integers_ = integers;
    return run(e);
  }
  // The same of a coordinate, whose result is then known to be simple.
  Expr run_once(const Expr& e) {
    const Expr result = run(e, Integers::Exact);
    const Expr held = result;  // what one holds is not remembered
    return memo_[1](result, [&] { return held; });
  }

 private:
  Expr run(const Expr& e) {
    return memo_[integers_ == Integers::Exact ? 1 : 0](e, [&] { return run_new(e); });
  }

  Expr run_new(const Expr& e) {
    if (is_index_sum(e)) return unless_same(e, analysis::to_expr(sum(e), e.type()));
    Expr r = children(e);
    if (const auto* binary = r.as<Binary>()) return fold_binary(r, *binary);
    if (const auto* compare_ = r.as<Compare>()) return fold_compare(r, *compare_);
    if (const auto* select = r.as<Select>()) {
      if (const auto* c = as_int(select->condition)) return *c ? select->if_true : select->if_false;
      if (equal(select->if_true, select->if_false)) return select->if_true;
    }
    if (const auto* unary = r.as<Unary>()) return fold_unary(r, *unary);
    if (const auto* cast_ = r.as<Cast>()) {
      if (cast_->value.type() == r.type()) return cast_->value;
      const auto* value = cast_->value.as<IntImm>();
      if (value && r.type().is_int() && r.type().is_scalar()) return make_const(r.type(), value->value);
    }
    if (const auto* let = r.as<Let>()) {
      if (let->value.as<IntImm>() || let->value.as<VarRef>()) {
        return run(substitute(let->body, let->name, let->value));
      }
    }
    return r;
  }

  // `e` with its children simplified, each as what it is: indices are coordinates, and the dividend of a
  // remainder may wrap even in a coordinate, since the remainder lies in bounds of its own.
  Expr children(const Expr& e) {
    const auto* op = e.as<Binary>();
    const bool may_wrap = op && op->op == BinaryOp::Mod;
    const bool is_load = e.as<Load>() || e.as<Access>();
    const Integers inside = is_load ? Integers::Exact : (may_wrap ? Integers::Wrap : integers_);
    const Integers outside = std::exchange(integers_, inside);
    Expr result = map_children(e, [this](const Expr& child) { return run(child); });
    integers_ = outside;
    return result;
  }

  static bool is_index_type(Type t) { return t.is_index() && t.is_scalar(); }

  static bool is_index_sum(const Expr& e) {
    if (!is_index_type(e.type())) return false;
    if (const auto* binary = e.as<Binary>()) {
      switch (binary->op) {
        case BinaryOp::Add:
        case BinaryOp::Sub: return true;
        case BinaryOp::Mul: return as_int(binary->a) || as_int(binary->b);
        default: return false;
      }
    }
    const auto* unary = e.as<Unary>();
    return unary && unary->op == UnaryOp::Neg;
  }

  // What is simple already stays the node that it is, so that what shares it goes on sharing it.
  static Expr unless_same(const Expr& e, Expr simple) { return equal(e, simple) ? e : simple; }

  // The linear form of a sum with every atom simplified (atoms may turn out to be sums).
  Linear sum(const Expr& e) {
    Linear result;
    Linear raw = analysis::linearize(e);
    result.constant = raw.constant;
    for (const auto& [atom, k] : raw.terms) {
      Expr simple = run(atom);
      result.add(analysis::linearize(simple), k);
    }
    return result;
  }

  // What may be taken for granted of `e`: the launch knows nothing of what is read from memory.
  [[nodiscard]] Integers integers_of(const Expr& e) {
    return integers_ == Integers::Exact && finder_.reads_data(e) ? Integers::Wrap : integers_;
  }
  // Do order and quotient of the form follow those of unbounded integers?
  [[nodiscard]] bool is_exact(const Linear& form, Type type, Integers integers) {
    return (integers == Integers::Exact && type.bits <= 32) || finder_.stays_in(form, type);
  }
  [[nodiscard]] bool is_exact(const Expr& e) {
    return is_exact(analysis::linearize(e), e.type(), integers_of(e));
  }

  Expr fold_binary(const Expr& e, const Binary& op) {
    Type type = e.type();
    if (type.is_bool()) {
      const auto* a = as_int(op.a);
      const auto* b = as_int(op.b);
      if (op.op == BinaryOp::And) {
        if (a) return *a ? op.b : op.a;
        if (b) return *b ? op.a : op.b;
        if (equal(op.a, op.b)) return op.a;
      }
      if (op.op == BinaryOp::Or) {
        if (a) return *a ? op.a : op.b;
        if (b) return *b ? op.b : op.a;
        if (equal(op.a, op.b)) return op.a;
      }
      return e;
    }
    if (!is_index_type(type)) return e;
    if (is_index_sum(e)) return unless_same(e, analysis::to_expr(analysis::linearize(e), type));
    const auto* a = as_int(op.a);
    const auto* b = as_int(op.b);
    if (a && b) {
      if (const auto value = fold(op.op, type, *a, *b)) return make_const(type, *value);
    }
    switch (op.op) {
      case BinaryOp::Min:
      case BinaryOp::Max: return fold_min_max(e, op);
      case BinaryOp::Div:
        if (b) return fold_div(e, op.a, *b);
        break;
      case BinaryOp::Mod:
        if (b) return fold_mod(e, op.a, *b);
        break;
      default: break;
    }
    return e;
  }

  /// Below 0: a is never larger than b; above: never smaller.
  std::optional<std::int64_t> order(const Expr& a, const Expr& b) {
    const auto d = analysis::constant_difference(a, b);
    if (!d) return order_within_bounds(a, b);
    return is_exact(a) && is_exact(b) ? d : std::nullopt;
  }
  /// Within the same bounds two coordinates keep their order, as taps between boundary conditions do.
  std::optional<std::int64_t> order_within_bounds(const Expr& a, const Expr& b) {
    const auto* x = a.as<Binary>();
    const auto* y = b.as<Binary>();
    if (!x || !y || x->op != y->op || (x->op != BinaryOp::Min && x->op != BinaryOp::Max)) {
      return std::nullopt;
    }
    if (equal(x->b, y->b)) return order(x->a, y->a);
    return equal(x->a, y->a) ? order(x->b, y->b) : std::nullopt;
  }

  Expr fold_min_max(const Expr& e, const Binary& op) {
    if (equal(op.a, op.b)) return op.a;
    bool is_min = op.op == BinaryOp::Min;
    if (is_exact(op.a) && is_exact(op.b)) {
      Linear difference = analysis::linearize(op.a);
      difference.add(analysis::linearize(op.b), -1);
      auto r = finder_.range_of(difference, integers_of(e));
      if (r.max && *r.max <= 0) return is_min ? op.a : op.b;
      if (r.min && *r.min >= 0) return is_min ? op.b : op.a;
    }
    if (const auto d = order_within_bounds(op.a, op.b)) return (*d <= 0) == is_min ? op.a : op.b;
    // min(min(x, c), d) where one of an inner operand and the outer one is never the larger.
    for (int side = 0; side < 2; ++side) {
      const Expr& inner = side ? op.b : op.a;
      const Expr& outer = side ? op.a : op.b;
      const auto* nested = inner.as<Binary>();
      if (!nested || nested->op != op.op) continue;
      for (int k = 0; k < 2; ++k) {
        const Expr& one = k ? nested->b : nested->a;
        const Expr& other = k ? nested->a : nested->b;
        const auto d = order(one, outer);
        if (!d) continue;
        const Expr& kept = (*d <= 0) == is_min ? one : outer;
        return make_expr(e.type(), Binary{op.op, other, kept});
      }
    }
    return e;
  }

  Expr fold_div(const Expr& e, const Expr& a, std::int64_t k) {
    if (k == 0) return make_const(e.type(), std::int64_t{0});
    if (k == 1) return a;
    const Integers integers = integers_of(a);
    Linear form = analysis::linearize(a), whole, rest;
    if (k < 0 || !is_exact(form, e.type(), integers)) return e;
    for (const auto& [atom, c] : form.terms) {
      (c % k == 0 ? whole : rest).add_term(atom, c % k == 0 ? c / k : c);
    }
    whole.constant = floor_div(form.constant, k);
    rest.constant = floor_mod(form.constant, k);
    auto r = finder_.range_of(rest, integers);
    if (r.min && r.max && *r.min >= 0 && *r.max < k) return analysis::to_expr(whole, e.type());
    if ((whole.is_constant() && whole.constant == 0) || !is_exact(rest, e.type(), integers)) return e;
    Expr remainder = make_expr(
        e.type(), Binary{BinaryOp::Div, analysis::to_expr(rest, e.type()), make_const(e.type(), k)});
    whole.add_term(remainder, 1);
    return analysis::to_expr(whole, e.type());
  }

  // Multiples of k may go where nothing wraps, or where k divides what a wrapped sum is less by. What
  // the launch says of an index does not hold for a dividend.
  Expr fold_mod(const Expr& e, const Expr& a, std::int64_t k) {
    if (k == 0 || k == 1) return make_const(e.type(), std::int64_t{0});
    if (k < 0) return e;
    const bool power_of_2 = (k & (k - 1)) == 0;
    Linear form = analysis::linearize(a), rest;
    if (!power_of_2 && !finder_.stays_in(form, e.type())) return e;
    for (const auto& [atom, c] : form.terms) {
      if (c % k != 0) rest.add_term(atom, c);
    }
    rest.constant = floor_mod(form.constant, k);
    if (!power_of_2 && !finder_.stays_in(rest, e.type())) return e;
    const auto r = finder_.range_of(rest, Integers::Wrap);
    Expr simple = analysis::to_expr(rest, e.type());
    if (r.min && r.max && *r.min >= 0 && *r.max < k) return simple;
    return unless_same(e, make_expr(e.type(), Binary{BinaryOp::Mod, simple, make_const(e.type(), k)}));
  }

  Expr fold_compare(const Expr& e, const Compare& op) {
    if (!is_index_type(op.a.type())) return e;
    auto decided = decide_compare(op, integers_of(e));
    return decided ? make_const(Bool(), std::int64_t{*decided}) : e;
  }

  std::optional<bool> decide_compare(const Compare& op, Integers integers) {
    Linear d = analysis::linearize(op.a);
    d.add(analysis::linearize(op.b), -1);
    const bool same = d.is_constant() && wrap_to_type(op.a.type(), d.constant) == 0;
    if (!same && !(is_exact(op.a) && is_exact(op.b))) return std::nullopt;
    auto r = same ? Ranges::Range{0, 0} : finder_.range_of(d, integers);
    auto below = [&](std::int64_t bound) -> std::optional<bool> {  // d < bound ?
      if (r.max && *r.max < bound) return true;
      if (r.min && *r.min >= bound) return false;
      return std::nullopt;
    };
    auto negate = [](std::optional<bool> v) { return v ? std::optional(!*v) : v; };
    const auto is_zero = [&]() -> std::optional<bool> {
      if (r.min && r.max && *r.min == 0 && *r.max == 0) return true;
      if ((r.max && *r.max < 0) || (r.min && *r.min > 0)) return false;
      return std::nullopt;
    };
    switch (op.op) {
      case CompareOp::Lt: return below(0);
      case CompareOp::Le: return below(1);
      case CompareOp::Ge: return negate(below(0));
      case CompareOp::Gt: return negate(below(1));
      case CompareOp::Eq: return is_zero();
      case CompareOp::Ne: return negate(is_zero());
    }
    return std::nullopt;
  }

  static Expr fold_unary(const Expr& e, const Unary& op) {
    if (op.op == UnaryOp::Not) {
      if (const auto* a = as_int(op.a)) return make_const(e.type(), std::int64_t{*a == 0});
    }
    return e;
  }

  analysis::RangeFinder finder_;
  Integers integers_ = Integers::Exact;  // of the expression at hand
  RewriteMemo memo_[2];
};

class StmtSimplifier {
 public:
  StmtSimplifier() { forget(); }

  ir::Stmt run(const ir::Stmt& s) {
    if (!s.defined()) return s;
    if (const auto* loop = s.as<ir::For>()) return run_for(s, *loop);
    if (const auto* branch = s.as<ir::If>()) {
      Expr condition = as_value(branch->condition);
      if (const auto* value = as_int(condition)) {
        return run(*value ? branch->then_case : branch->else_case);
      }
      ir::Stmt a = run(branch->then_case), b = run(branch->else_case);
      if (!a.defined() && !b.defined()) return {};
      if (!a.defined()) {
        return ir::make_stmt(ir::If{make_expr(Bool(), Unary{UnaryOp::Not, condition}), b, {}});
      }
      return ir::make_stmt(ir::If{condition, a, b});
    }
    if (const auto* let = s.as<ir::LetStmt>()) {
      Expr value = as_value(let->value);
      if (value.as<IntImm>() || value.as<VarRef>()) return run_with(let->name, value, let->body);
      const Hidden hidden(*this, let->name);
      if (names_.count(let->name) > 0) forget();  // what was found means another one
      const auto name = names_.insert(let->name);
      analysis::push_let(ranges_, let->name, value);
      ir::Stmt body = run(let->body);
      ranges_.pop();
      names_.erase(name);
      forget();
      if (!body.defined()) return {};
      return ir::make_stmt(ir::LetStmt{let->name, value, body});
    }
    if (const auto* alloc = s.as<ir::Allocate>()) {
      ir::Allocate copy = *alloc;
      for (auto& e : copy.mins) e = as_coordinate(e);
      for (auto& e : copy.extents) e = as_coordinate(e);
      copy.body = run(alloc->body);
      if (!copy.body.defined()) return {};
      return ir::make_stmt(std::move(copy));
    }
    if (const auto* produce = s.as<ir::Produce>()) {
      ir::Stmt body = run(produce->body);
      if (!body.defined() && !produce->plane) return {};
      return ir::make_stmt(ir::Produce{produce->func, body, produce->plane, produce->kept});
    }
    if (const auto* block = s.as<ir::Block>()) {
      std::vector<ir::Stmt> stmts;
      for (const auto& child : block->stmts) stmts.push_back(run(child));
      return ir::make_block(std::move(stmts));
    }
    if (const auto* store = s.as<ir::Store>()) {
      ir::Store copy = *store;
      copy.value = as_value(store->value);
      if (store->block.defined()) copy.block = as_value(store->block);
      for (auto* list : {&copy.index, &copy.logical}) {
        for (auto& e : *list) e = as_coordinate(e);
      }
      return ir::make_stmt(std::move(copy));
    }
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); },
        [this](const Expr& e) { return as_coordinate(e); });
  }

 private:
  // Expressions of one place share a Simplifier: the values of a Tuple have parts in common. What it
  // found goes where a name that it may have met means something else.
  Expr as_value(const Expr& e) { return simplifier_->run(with_values(e), Integers::Wrap); }
  Expr as_coordinate(const Expr& e) { return simplifier_->run(with_values(e), Integers::Exact); }
  void forget() { simplifier_.emplace(ranges_); }

  // Names that have become values are replaced in expressions as they are come to, so that a statement
  // inside many of them is rewritten once.
  struct Lookup {
    const std::map<std::string, Expr>& values;
    Expr operator()(const std::string& name) const {
      const auto found = values.find(name);
      return found == values.end() ? Expr() : found->second;
    }
  };
  Expr with_values(const Expr& e) { return values_.empty() || !e.defined() ? e : (*substitution_)(e); }
  void set_value(const std::string& name, const Expr& value) {
    if (value.defined()) {
      values_[name] = value;
    } else {
      values_.erase(name);
    }
    substitution_.emplace(lookup_);
  }
  ir::Stmt run_with(const std::string& name, const Expr& value, const ir::Stmt& body) {
    const Expr outside = lookup_(name);
    set_value(name, value);
    ir::Stmt result = run(body);
    set_value(name, outside);
    return result;
  }
  // Inside of what binds the name again, it is that.
  class Hidden {
   public:
    Hidden(StmtSimplifier& simplifier, const std::string& name)
        : simplifier_(simplifier), name_(name), outside_(simplifier.lookup_(name)) {
      if (outside_.defined()) simplifier_.set_value(name_, Expr());
    }
    ~Hidden() {
      if (outside_.defined()) simplifier_.set_value(name_, outside_);
    }
    Hidden(const Hidden&) = delete;
    Hidden& operator=(const Hidden&) = delete;

   private:
    StmtSimplifier& simplifier_;
    const std::string& name_;
    Expr outside_;
  };

  ir::Stmt run_for(const ir::Stmt& s, const ir::For& loop) {
    Expr min = as_coordinate(loop.min), extent = as_coordinate(loop.extent);
    const auto count = analysis::range_of(extent, ranges_);
    if (count.max && *count.max <= 0) return {};
    if (count.max && *count.max == 1 && count.min && *count.min == 1) {
      ir::Stmt only = run_with(loop.name, min, loop.body);
      // GPU loops keep their place among the axes.
      bool axis = loop.kind == LoopKind::GpuBlock || loop.kind == LoopKind::GpuThread;
      if (!axis || !only.defined()) return only;
      return ir::make_stmt(ir::For{loop.name, min, extent, loop.kind, only, loop.rolled});
    }
    const Hidden hidden(*this, loop.name);
    forget();
    const auto name = names_.insert(loop.name);
    analysis::push_loop(ranges_, loop.name, min, extent);
    ir::Stmt body = run(loop.body);
    ranges_.pop();
    names_.erase(name);
    forget();
    if (!body.defined()) return {};
    if (body.same_as(loop.body) && min.same_as(loop.min) && extent.same_as(loop.extent)) return s;
    return ir::make_stmt(ir::For{loop.name, min, extent, loop.kind, body, loop.rolled});
  }

  Ranges ranges_;
  std::multiset<std::string> names_;  // of the loops and lets around
  std::optional<Simplifier> simplifier_;
  std::map<std::string, Expr> values_;
  Lookup lookup_{values_};
  std::optional<Substitution> substitution_;
};

}  // namespace

Expr simplify(const Expr& e, const Ranges& ranges) { return Simplifier(ranges).run(e, Integers::Exact); }
Expr simplify(const Expr& e) { return simplify(e, Ranges()); }

struct SharedSimplifier::State {
  Ranges none;
  Simplifier simplifier{none};
};
SharedSimplifier::SharedSimplifier() : state_(std::make_unique<State>()) {}
SharedSimplifier::~SharedSimplifier() = default;
Expr SharedSimplifier::operator()(const Expr& e) { return state_->simplifier.run_once(e); }

Expr simplify_value(const Expr& e, const Ranges& ranges) {
  return Simplifier(ranges).run(e, Integers::Wrap);
}
Expr simplify_value(const Expr& e) { return simplify_value(e, Ranges()); }

std::optional<bool> decide(const Expr& condition, const Ranges& ranges) {
  Expr simple = simplify(condition, ranges);
  if (const auto* value = as_int(simple)) return *value != 0;
  return std::nullopt;
}

ir::Stmt simplify(const ir::Stmt& stmt) { return StmtSimplifier().run(stmt); }

}  // namespace mica::passes
