#include "codegen/analysis/bounds.h"

#include <algorithm>
#include <set>

#include "codegen/passes/simplify.h"
#include "dsl/node_visit.h"
#include "dsl/operators.h"
#include "dsl/traverse.h"

namespace mica::analysis {
namespace {

bool is_exact(UnaryOp op) {
  switch (op) {
    case UnaryOp::Exp:
    case UnaryOp::Log:
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tanh: return false;
    default: return true;
  }
}

Interval point(const Expr& e) { return {e, e}; }

Expr tidy(const Expr& e) { return e.defined() ? passes::simplify(e) : e; }

Interval tidy(const Interval& i) { return {tidy(i.min), tidy(i.max)}; }

// The expression of a form whose coefficients and constant lie in the type; otherwise undefined, since a
// constant of the type would stand for another integer. Sums of 64 bits have room for those of the form.
Expr exact_expr(const Linear& form, Type type) {
  constexpr std::int64_t kRoom = std::int64_t{1} << 62;
  const auto has_room = [](std::int64_t k) { return k > -kRoom && k < kRoom; };
  bool fits = fits_in(form, type) && has_room(form.constant);
  for (const auto& term : form.terms) fits = fits && has_room(term.second);
  return fits ? tidy(to_expr(form, type)) : Expr();
}

Interval of_linear(const Expr& e, const Scope& scope) {
  const Linear form = linearize(e);
  Linear low, high;
  low.constant = high.constant = form.constant;
  for (const auto& [atom, k] : form.terms) {
    const Interval a = interval_of(atom, scope);
    // An open side may wrap to the other end, unless the atom stands alone.
    if (!a.bounded()) return form.terms.size() == 1 && k == 1 && form.constant == 0 ? a : Interval{};
    low.add(linearize(k > 0 ? a.min : a.max), k);
    high.add(linearize(k > 0 ? a.max : a.min), k);
  }
  const Interval result{exact_expr(low, e.type()), exact_expr(high, e.type())};
  return result.bounded() ? result : Interval{};
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

Expr constant(std::int64_t value, Type type = Int(32)) { return make_const(type, value); }

// Of a type narrower than 32 bits, whose arithmetic wraps: what constants tell.
Interval of_narrow(const Expr& e) {
  const Ranges::Range r = range_of(e, Ranges(), Integers::Wrap);
  return {constant(*r.min), constant(*r.max)};
}

Interval of_quotient(const Interval& a, const Expr& divisor) {
  const std::int64_t k = *as_int(divisor);
  if (k == 0) return point(divisor);
  const auto side = [&](const Expr& x) { return x.defined() ? tidy(x / divisor) : Expr(); };
  return k > 0 ? Interval{side(a.min), side(a.max)} : Interval{side(a.max), side(a.min)};
}

// A remainder has the divisor's sign and is nearer to 0; by 0 it is 0.
Interval of_remainder(const Expr& divisor, const Scope& scope) {
  const Expr zero = constant(0, divisor.type());
  if (const auto* k = as_int(divisor)) {
    return {constant(*k < 0 ? *k + 1 : 0, divisor.type()), constant(*k > 0 ? *k - 1 : 0, divisor.type())};
  }
  const Interval b = interval_of(divisor, scope);
  if (!b.bounded()) return {};
  return tidy(Interval{min(b.min + 1, zero), max(b.max - 1, zero)});
}

Interval of_abs(const Interval& a) {
  if (!a.bounded()) return {};  // the least value keeps its sign
  const Expr zero = constant(0, a.min.type());
  return tidy(Interval{max(max(a.min, zero - a.max), zero), max(a.max, zero - a.min)});
}

}  // namespace

Interval interval_of(const Expr& e, const Scope& scope) {
  if (as_int(e)) return point(is_index(e.type()) ? e : constant(*as_int(e)));
  if (const auto* var = e.as<VarRef>(); var && is_index(e.type())) {
    auto it = scope.find(var->name);
    return it == scope.end() ? point(e) : it->second;
  }
  if (e.type().is_bool() || (e.type().is_integer() && e.type().bits < 32)) return of_narrow(e);
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
        if (as_int(op->b)) return of_quotient(interval_of(op->a, scope), op->b);
        break;
      case BinaryOp::Mod: return of_remainder(op->b, scope);
      default: break;
    }
  }
  if (const auto* op = e.as<Unary>()) {
    if (op->op == UnaryOp::Neg) return of_linear(e, scope);
    if (op->op == UnaryOp::Abs) return of_abs(interval_of(op->a, scope));
  }
  if (const auto* op = e.as<Select>()) {
    return unite(interval_of(op->if_true, scope), interval_of(op->if_false, scope));
  }
  if (const auto* op = e.as<Cast>(); op && is_index(e.type()) && op->value.type().is_integer()) {
    const Interval a = interval_of(op->value, scope);
    const auto side = [&](const Expr& x) { return x.defined() ? tidy(cast(e.type(), x)) : Expr(); };
    return {side(a.min), side(a.max)};
  }
  // What the launch can evaluate.
  bool varies = false;
  visit_nodes({e}, [&](const Expr& node) {
    const auto* var = node.as<VarRef>();
    const auto* unary = node.as<Unary>();
    const auto* binary = node.as<Binary>();
    if ((var && scope.count(var->name)) || node.as<Access>() || node.as<Load>()) varies = true;
    if ((unary && !is_exact(unary->op)) || (binary && binary->op == BinaryOp::Pow)) varies = true;
  });
  return varies ? Interval{} : point(e);
}

namespace {

class OperandFinder {
 public:
  explicit OperandFinder(const Scope& scope) : scope_(scope) {}

  std::vector<Interval> run(const Expr& e) {
    visit(e);
    return std::move(found_);
  }

 private:
  void visit(const Expr& e) {
    const Type type = e.type();
    if (!type.is_int() || type.bits < 32 || !seen_.insert(e.ptr().get()).second) return;
    if (const auto* op = e.as<Binary>()) return visit_binary(*op);
    if (const auto* op = e.as<Unary>()) {
      if (op->op != UnaryOp::Neg) add(op->a);
      return visit(op->a);
    }
    if (const auto* op = e.as<Select>()) {
      visit(op->if_true);
      return visit(op->if_false);
    }
    if (const auto* op = e.as<Cast>()) visit(op->value);
  }

  void visit_binary(const Binary& op) {
    switch (op.op) {
      case BinaryOp::Add:
      case BinaryOp::Sub:
      case BinaryOp::Mul: break;
      case BinaryOp::Mod:  // bounded by its divisor, whatever the dividend
        add(op.b);
        return visit(op.b);
      default:
        add(op.a);
        add(op.b);
        break;
    }
    visit(op.a);
    visit(op.b);
  }

  void add(const Expr& operand) {
    if (as_int(operand) || operand.as<VarRef>() || !is_index(operand.type())) return;
    Interval i = interval_of(operand, scope_);
    if (i.bounded() && !stays_in_32_bits(i)) found_.push_back(std::move(i));
  }

  const Scope& scope_;
  std::set<const ExprNode*> seen_;
  std::vector<Interval> found_;
};

}  // namespace

std::vector<Interval> operands_of(const Expr& e, const Scope& scope) {
  return OperandFinder(scope).run(e);
}

bool stays_in_32_bits(const Interval& interval) {
  const Ranges none;
  return never_wraps(interval.min, none) && never_wraps(interval.max, none);
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

Expr extent_of(const Interval& interval) {
  Linear form = linearize(interval.max);
  form.add(linearize(interval.min), -1);
  form.constant += 1;
  // An extent that 32 bits do not hold is for the launch to see.
  return fits_in(form, Int(32)) ? tidy(to_expr(form)) : interval.max - interval.min + 1;
}

namespace {

/// A constant that the form never exceeds. Minima that are added are at most either side, and so are
/// maxima that are subtracted; `minima` of them are tried.
std::optional<std::int64_t> largest(const Linear& form, int minima) {
  std::optional<std::int64_t> result = range_of(form, Ranges()).max;
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
