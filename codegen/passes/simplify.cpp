#include "codegen/passes/simplify.h"

#include <algorithm>

#include "codegen/ir/traverse.h"
#include "dsl/traverse.h"

namespace mica::passes {
namespace {

using analysis::Linear;
using analysis::Ranges;

// Index arithmetic does not overflow (the launch checks sizes); data loaded from memory may wrap, and
// then a + 1 > a is not always true. So only expressions without loads are decided.
bool reads_data(const Expr& e) {
  if (e.as<Load>() || e.as<Access>() || e.as<Cast>()) return true;
  bool found = false;
  for_each_child(e, [&](const Expr& child) { found = found || reads_data(child); });
  return found;
}

class Simplifier {
 public:
  explicit Simplifier(Ranges& ranges) : ranges_(ranges) {}

  Expr run(const Expr& e) {
    if (is_index_sum(e)) return analysis::to_expr(sum(e), e.type());
    Expr r = map_children(e, [this](const Expr& child) { return run(child); });
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

 private:
  static bool is_index_type(Type t) { return t.is_int() && t.is_scalar() && t.bits >= 32; }

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

  // The linear form of a sum with every atom simplified (atoms may turn out to be sums).
  Linear sum(const Expr& e) {
    Linear result;
    result.constant = 0;
    Linear raw = analysis::linearize(e);
    result.constant = raw.constant;
    for (const auto& [atom, k] : raw.terms) {
      Expr simple = run(atom);
      result.add(analysis::linearize(simple), k);
    }
    return result;
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
    if (is_index_sum(e)) return analysis::to_expr(analysis::linearize(e), type);
    if (reads_data(e)) return e;
    const auto* b = as_int(op.b);
    switch (op.op) {
      case BinaryOp::Min:
      case BinaryOp::Max: return fold_min_max(e, op);
      case BinaryOp::Div:
        if (b) return fold_div(e, op.a, *b);
        break;
      case BinaryOp::Mod:
        if (b) return fold_mod(e, op.a, *b);
        break;
      case BinaryOp::Mul:
        if (is_const(op.a, 0)) return op.a;
        break;
      default: break;
    }
    return e;
  }

  Expr fold_min_max(const Expr& e, const Binary& op) {
    Linear difference = analysis::linearize(op.a);
    difference.add(analysis::linearize(op.b), -1);
    auto r = analysis::range_of(difference, ranges_);
    bool is_min = op.op == BinaryOp::Min;
    if (r.max && *r.max <= 0) return is_min ? op.a : op.b;
    if (r.min && *r.min >= 0) return is_min ? op.b : op.a;
    // min(min(x, c), d) with a constant distance between an inner operand and the outer one.
    for (int side = 0; side < 2; ++side) {
      const Expr& inner = side ? op.b : op.a;
      const Expr& outer = side ? op.a : op.b;
      const auto* nested = inner.as<Binary>();
      if (!nested || nested->op != op.op) continue;
      for (int k = 0; k < 2; ++k) {
        const Expr& one = k ? nested->b : nested->a;
        const Expr& other = k ? nested->a : nested->b;
        auto d = analysis::constant_difference(one, outer);
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
    if (k < 0) return e;
    Linear form = analysis::linearize(a), whole, rest;
    for (const auto& [atom, c] : form.terms) {
      (c % k == 0 ? whole : rest).add_term(atom, c % k == 0 ? c / k : c);
    }
    std::int64_t q = form.constant / k - (form.constant % k < 0 ? 1 : 0);
    whole.constant = q;
    rest.constant = form.constant - q * k;
    auto r = analysis::range_of(rest, ranges_);
    if (r.min && r.max && *r.min >= 0 && *r.max < k) return analysis::to_expr(whole, e.type());
    if (whole.is_constant() && whole.constant == 0) return e;
    Expr remainder = make_expr(
        e.type(), Binary{BinaryOp::Div, analysis::to_expr(rest, e.type()), make_const(e.type(), k)});
    whole.add_term(remainder, 1);
    return analysis::to_expr(whole, e.type());
  }

  Expr fold_mod(const Expr& e, const Expr& a, std::int64_t k) {
    if (k == 0 || k == 1) return make_const(e.type(), std::int64_t{0});
    if (k < 0) return e;
    Linear form = analysis::linearize(a), rest;
    for (const auto& [atom, c] : form.terms) {
      if (c % k != 0) rest.add_term(atom, c);
    }
    rest.constant = ((form.constant % k) + k) % k;
    auto r = analysis::range_of(rest, ranges_);
    Expr simple = analysis::to_expr(rest, e.type());
    if (r.min && r.max && *r.min >= 0 && *r.max < k) return simple;
    return make_expr(e.type(), Binary{BinaryOp::Mod, simple, make_const(e.type(), k)});
  }

  Expr fold_compare(const Expr& e, const Compare& op) {
    if (!is_index_type(op.a.type()) || reads_data(op.a) || reads_data(op.b)) return e;
    auto decided = decide_compare(op);
    return decided ? make_const(Bool(), std::int64_t{*decided}) : e;
  }

  std::optional<bool> decide_compare(const Compare& op) {
    Linear d = analysis::linearize(op.a);
    d.add(analysis::linearize(op.b), -1);
    auto r = analysis::range_of(d, ranges_);
    auto below = [&](std::int64_t bound) -> std::optional<bool> {  // d < bound ?
      if (r.max && *r.max < bound) return true;
      if (r.min && *r.min >= bound) return false;
      return std::nullopt;
    };
    auto negate = [](std::optional<bool> v) { return v ? std::optional(!*v) : v; };
    switch (op.op) {
      case CompareOp::Lt: return below(0);
      case CompareOp::Le: return below(1);
      case CompareOp::Ge: return negate(below(0));
      case CompareOp::Gt: return negate(below(1));
      case CompareOp::Eq:
        if (d.is_constant()) return d.constant == 0;
        if ((r.max && *r.max < 0) || (r.min && *r.min > 0)) return false;
        return std::nullopt;
      case CompareOp::Ne:
        if (d.is_constant()) return d.constant != 0;
        if ((r.max && *r.max < 0) || (r.min && *r.min > 0)) return true;
        return std::nullopt;
    }
    return std::nullopt;
  }

  static Expr fold_unary(const Expr& e, const Unary& op) {
    if (op.op == UnaryOp::Not) {
      if (const auto* a = as_int(op.a)) return make_const(e.type(), std::int64_t{*a == 0});
    }
    return e;
  }

  Ranges& ranges_;
};

class StmtSimplifier {
 public:
  ir::Stmt run(const ir::Stmt& s) {
    if (!s.defined()) return s;
    if (const auto* loop = s.as<ir::For>()) return run_for(s, *loop);
    if (const auto* branch = s.as<ir::If>()) {
      Expr condition = simplify(branch->condition, ranges_);
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
      Expr value = simplify(let->value, ranges_);
      if (value.as<IntImm>() || value.as<VarRef>()) {
        return run(ir::substitute(let->body, let->name, value));
      }
      ranges_.push(let->name, analysis::range_of(value, ranges_));
      ir::Stmt body = run(let->body);
      ranges_.pop();
      if (!body.defined()) return {};
      return ir::make_stmt(ir::LetStmt{let->name, value, body});
    }
    if (const auto* alloc = s.as<ir::Allocate>()) {
      ir::Allocate copy = *alloc;
      for (auto& e : copy.mins) e = simplify(e, ranges_);
      for (auto& e : copy.extents) e = simplify(e, ranges_);
      copy.body = run(alloc->body);
      if (!copy.body.defined()) return {};
      return ir::make_stmt(std::move(copy));
    }
    if (const auto* produce = s.as<ir::Produce>()) {
      ir::Stmt body = run(produce->body);
      if (!body.defined() && !produce->plane) return {};
      return ir::make_stmt(ir::Produce{produce->func, body, produce->plane});
    }
    if (const auto* block = s.as<ir::Block>()) {
      std::vector<ir::Stmt> stmts;
      for (const auto& child : block->stmts) stmts.push_back(run(child));
      return ir::make_block(std::move(stmts));
    }
    return ir::map_children(
        s, [this](const ir::Stmt& child) { return run(child); },
        [this](const Expr& e) { return simplify(e, ranges_); });
  }

 private:
  ir::Stmt run_for(const ir::Stmt& s, const ir::For& loop) {
    Expr min = simplify(loop.min, ranges_), extent = simplify(loop.extent, ranges_);
    auto low = analysis::range_of(min, ranges_), count = analysis::range_of(extent, ranges_);
    if (count.max && *count.max <= 0) return {};
    if (count.max && *count.max == 1 && count.min && *count.min == 1) {
      ir::Stmt only = run(ir::substitute(loop.body, loop.name, min));
      // GPU loops keep their place among the axes.
      bool axis = loop.kind == LoopKind::GpuBlock || loop.kind == LoopKind::GpuThread;
      if (!axis || !only.defined()) return only;
      return ir::make_stmt(ir::For{loop.name, min, extent, loop.kind, only});
    }
    Ranges::Range range{low.min, {}};
    if (low.max && count.max) range.max = *low.max + *count.max - 1;
    ranges_.push(loop.name, range);
    ir::Stmt body = run(loop.body);
    ranges_.pop();
    if (!body.defined()) return {};
    if (body.same_as(loop.body) && min.same_as(loop.min) && extent.same_as(loop.extent)) return s;
    return ir::make_stmt(ir::For{loop.name, min, extent, loop.kind, body});
  }

  Ranges ranges_;
};

}  // namespace

Expr simplify(const Expr& e, Ranges& ranges) { return Simplifier(ranges).run(e); }

Expr simplify(const Expr& e) {
  Ranges none;
  return simplify(e, none);
}

std::optional<bool> decide(const Expr& condition, Ranges& ranges) {
  Expr simple = simplify(condition, ranges);
  if (const auto* value = as_int(simple)) return *value != 0;
  return std::nullopt;
}

ir::Stmt simplify(const ir::Stmt& stmt) { return StmtSimplifier().run(stmt); }

}  // namespace mica::passes
