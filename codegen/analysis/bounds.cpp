#include "codegen/analysis/bounds.h"

#include <algorithm>

#include "codegen/passes/simplify.h"
#include "dsl/operators.h"
#include "dsl/traverse.h"

namespace mica::analysis {
namespace {

Interval point(const Expr& e) { return {e, e}; }

Expr tidy(const Expr& e) { return e.defined() ? passes::simplify(e) : e; }

Interval tidy(const Interval& i) { return {tidy(i.min), tidy(i.max)}; }

Interval of_linear(const Expr& e, const Scope& scope) {
  Linear form = linearize(e);
  Expr low = make_const(e.type(), form.constant), high = low;
  for (const auto& [atom, k] : form.terms) {
    Interval a = interval_of(atom, scope);
    Expr factor = make_const(e.type(), k);
    const Expr& to_low = k > 0 ? a.min : a.max;
    const Expr& to_high = k > 0 ? a.max : a.min;
    low = low.defined() && to_low.defined() ? low + to_low * factor : Expr();
    high = high.defined() && to_high.defined() ? high + to_high * factor : Expr();
  }
  return tidy(Interval{low, high});
}

Interval of_min_max(const Binary& op, const Scope& scope) {
  Interval a = interval_of(op.a, scope), b = interval_of(op.b, scope);
  auto both = [&](const Expr& x, const Expr& y) {
    if (!x.defined() || !y.defined()) return Expr();
    return op.op == BinaryOp::Min ? min(x, y) : max(x, y);
  };
  // One known side suffices on the side that the operator bounds.
  auto either = [&](const Expr& x, const Expr& y) {
    if (!x.defined()) return y;
    if (!y.defined()) return x;
    return op.op == BinaryOp::Min ? min(x, y) : max(x, y);
  };
  if (op.op == BinaryOp::Min) return tidy(Interval{both(a.min, b.min), either(a.max, b.max)});
  return tidy(Interval{either(a.min, b.min), both(a.max, b.max)});
}

bool is_index(Type t) { return t.is_int() && t.bits >= 32; }

Interval of_narrow_type(Type t) {
  if (t.is_bool()) return {make_const(Int(32), std::int64_t{0}), make_const(Int(32), std::int64_t{1})};
  std::int64_t span = std::int64_t{1} << t.bits;
  if (t.is_uint()) return {make_const(Int(32), std::int64_t{0}), make_const(Int(32), span - 1)};
  return {make_const(Int(32), -span / 2), make_const(Int(32), span / 2 - 1)};
}

}  // namespace

Interval interval_of(const Expr& e, const Scope& scope) {
  if (as_int(e)) return point(e);
  if (const auto* var = e.as<VarRef>()) {
    auto it = scope.find(var->name);
    return it == scope.end() ? point(e) : it->second;
  }
  if (const auto* op = e.as<Binary>()) {
    switch (op->op) {
      case BinaryOp::Add:
      case BinaryOp::Sub: return of_linear(e, scope);
      case BinaryOp::Mul:
        if (as_int(op->a) || as_int(op->b)) return of_linear(e, scope);
        break;
      case BinaryOp::Min:
      case BinaryOp::Max: return of_min_max(*op, scope);
      case BinaryOp::Div:
        if (const auto* k = as_int(op->b); k && *k > 0) {
          Interval a = interval_of(op->a, scope);
          return tidy(Interval{a.min.defined() ? a.min / op->b : Expr(),
                               a.max.defined() ? a.max / op->b : Expr()});
        }
        break;
      case BinaryOp::Mod: {
        Interval b = interval_of(op->b, scope);
        if (const auto* k = as_int(op->b); k && *k > 0) {
          return {make_const(e.type(), std::int64_t{0}), make_const(e.type(), *k - 1)};
        }
        // A divisor that is an extent is positive.
        if (b.bounded()) return {make_const(e.type(), std::int64_t{0}), tidy(b.max - 1)};
        break;
      }
      default: break;
    }
  }
  if (const auto* op = e.as<Unary>()) {
    if (op->op == UnaryOp::Neg) return of_linear(e, scope);
    if (op->op == UnaryOp::Abs) {
      Interval a = interval_of(op->a, scope);
      if (!a.bounded()) return {make_const(e.type(), std::int64_t{0}), Expr()};
      return tidy(Interval{make_const(e.type(), std::int64_t{0}), max(a.max, 0 - a.min)});
    }
  }
  if (const auto* op = e.as<Select>()) {
    return unite(interval_of(op->if_true, scope), interval_of(op->if_false, scope));
  }
  if (const auto* op = e.as<Cast>(); op && e.type().is_int() && e.type().bits >= 32) {
    Type from = op->value.type();
    if (is_index(from)) return interval_of(op->value, scope);
    if (from.is_bool() || (from.is_integer() && from.bits < 32)) return of_narrow_type(from);
    return {};
  }
  if (e.type().is_integer() && e.type().bits < 32) return of_narrow_type(e.type());
  bool varies = e.as<Access>() || e.as<Load>();
  walk(e, [&](const Expr& node) {
    const auto* var = node.as<VarRef>();
    if ((var && scope.count(var->name)) || node.as<Access>() || node.as<Load>()) varies = true;
  });
  return varies ? Interval{} : point(e);
}

Interval unite(const Interval& a, const Interval& b) {
  Interval r;
  if (a.min.defined() && b.min.defined()) r.min = tidy(min(a.min, b.min));
  if (a.max.defined() && b.max.defined()) r.max = tidy(max(a.max, b.max));
  return r;
}

void unite(Box& into, const Box& other) {
  if (other.empty()) return;
  if (into.empty()) {
    into = other;
    return;
  }
  internal_check(into.size() == other.size(), "boxes of one array have one dimensionality");
  for (std::size_t d = 0; d < into.size(); ++d) into[d] = unite(into[d], other[d]);
}

Expr extent_of(const Interval& interval) { return tidy(interval.max - interval.min + 1); }

namespace {

/// A constant that the form never exceeds. Minima that are added are at most either side, and so are
/// maxima that are subtracted; `minima` of them are tried.
std::optional<std::int64_t> largest(const Linear& form, int minima) {
  const Ranges none;
  std::optional<std::int64_t> result = range_of(form, none).max;
  if (minima == 0) return result;
  for (const auto& [atom, factor] : form.terms) {
    const auto* op = atom.as<Binary>();
    if (op == nullptr || op->op != (factor > 0 ? BinaryOp::Min : BinaryOp::Max)) continue;
    for (const Expr& side : {op->a, op->b}) {
      Linear without = form;
      without.add_term(atom, -factor);
      without.add(linearize(side), factor);
      const std::optional<std::int64_t> bound = largest(without, minima - 1);
      if (bound && (!result || *bound < *result)) result = bound;
    }
    break;  // the next one's turn comes in the calls above
  }
  return result;
}

}  // namespace

std::optional<std::int64_t> constant_extent(const Interval& interval) {
  constexpr int kMinima = 2;
  if (!interval.bounded()) return std::nullopt;
  Linear d = linearize(interval.max);
  d.add(linearize(interval.min), -1);
  d.constant += 1;
  return largest(d, kMinima);
}

bool same(const Expr& a, const Expr& b) {
  auto d = constant_difference(a, b);
  return d && *d == 0;
}

void for_each_access(const Definition& definition, const std::function<void(const Access&)>& visit) {
  auto look = [&](const Expr& e) {
    walk(e, [&](const Expr& node) {
      if (const auto* access = node.as<Access>()) visit(*access);
    });
  };
  for (const auto& e : definition.values) look(e);
  for (const auto& e : definition.args) look(e);
}

Box accessed_box(const Definition& definition, const std::string& name, const Scope& scope) {
  Box box;
  for_each_access(definition, [&](const Access& access) {
    if (access.name != name) return;
    Box one;
    for (const auto& arg : access.args) one.push_back(interval_of(arg, scope));
    unite(box, one);
  });
  return box;
}

Scope definition_scope(const FunctionData& func, const Definition& definition, const Box& box) {
  Scope scope;
  for (const auto& var : definition.pure_vars) {
    auto it = std::find(func.args.begin(), func.args.end(), var);
    internal_check(it != func.args.end(), "a pure variable of a definition is a dimension");
    scope[var] = box[static_cast<std::size_t>(it - func.args.begin())];
  }
  if (definition.domain) {
    for (const auto& dim : definition.domain->dims) {
      scope[dim.name] = {make_const(Int(32), dim.min), make_const(Int(32), dim.min + dim.extent - 1)};
    }
  }
  return scope;
}

}  // namespace mica::analysis
