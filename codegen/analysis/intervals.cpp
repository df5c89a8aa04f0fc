#include "codegen/analysis/intervals.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "codegen/analysis/float_intervals.h"
#include "codegen/analysis/simplify.h"
#include "dsl/expr/node_map.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {
namespace {

Expr constant(std::int64_t value, Type type = Int(32)) { return make_const(type, value); }

Interval point(const Expr& e) { return {e, e}; }

// What holds the values of both.
Interval hull(const Interval& a, const Interval& b) {
  Interval r;
  if (a.min.defined() && b.min.defined()) r.min = min(a.min, b.min);
  if (a.max.defined() && b.max.defined()) r.max = max(a.max, b.max);
  return r;
}

// Does the host evaluate the function to the bits that kernels compute?
bool is_exact(const Expr& e) {
  if (const auto* op = e.as<Binary>()) return !is_math_function(op->op);
  const auto* op = e.as<Unary>();
  if (!op) return true;
  switch (op->op) {
    case UnaryOp::Exp:
    case UnaryOp::Log:
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tanh: return false;
    default: return true;
  }
}

// Of a type narrower than 32 bits, whose arithmetic wraps: what constants tell.
Interval of_narrow(const Expr& e) {
  const Ranges::Range r = range_of(e, Ranges(), Integers::Wrap);
  return {constant(*r.min), constant(*r.max)};
}

class IntervalFinder {
 public:
  explicit IntervalFinder(const Scope& scope) : scope_(scope) {}

  // Of an integer, or of a float as far as it is clamped.
  Interval run(const Expr& e) {
    const auto found = done_.find(e.ptr().get());
    if (found != done_.end()) return found->second.second;
    Interval result = e.type().is_float() ? of_float(e) : of_integer(e);
    done_.emplace(e.ptr().get(), std::pair(e, result));
    return result;
  }

 private:
  Interval of_integer(const Expr& e) {
    if (e.type().is_wide_uint()) return of_unsigned(e);
    if (const auto* value = as_int(e)) return point(e.type().is_index() ? e : constant(*value));
    if (!e.type().is_index()) return of_narrow(e);
    if (const auto* var = e.as<VarRef>()) {
      const auto it = scope_.find(var->name);
      return it == scope_.end() ? point(e) : it->second;
    }
    if (const auto* op = e.as<Binary>()) return of_binary(e, *op);
    if (const auto* op = e.as<Unary>()) {
      if (op->op == UnaryOp::Neg) return of_linear(e);
      if (op->op == UnaryOp::Abs) return of_abs(run(op->a));
    }
    if (const auto* op = e.as<Select>()) return unite(run(op->if_true), run(op->if_false));
    if (const auto* op = e.as<Cast>()) return of_cast(e, op->value);
    return evaluated(e);
  }

  // Of a u32 or u64, whose arithmetic wraps: what constants tell, and what the launch evaluates as code
  // does. The ends are i64; a maximum beyond is open.
  Interval of_unsigned(const Expr& e) {
    const Ranges::Range r = constants_.range_of(e, Integers::Wrap);
    const Interval known{constant(*r.min, Int(64)), r.max ? constant(*r.max, Int(64)) : Expr()};
    if (as_int(e)) return known;
    if (known.bounded() && evaluated(e).bounded()) return point(cast(Int(64), e));
    const Interval other = of_unsigned_parts(e);
    const auto inner = [](const Expr& x, const Expr& y, BinaryOp op) {
      return x.defined() && y.defined() ? make_expr(Int(64), Binary{op, x, y}) : (x.defined() ? x : y);
    };
    return tidy(Interval{inner(known.min, other.min, BinaryOp::Max),
                         inner(known.max, other.max, BinaryOp::Min)});
  }

  // What its operands' intervals tell.
  Interval of_unsigned_parts(const Expr& e) {
    if (const auto* op = e.as<Select>()) return unite(run(op->if_true), run(op->if_false));
    if (const auto* op = e.as<Cast>()) return of_unsigned_cast(e, op->value);
    const auto* op = e.as<Binary>();
    if (op == nullptr) return {};
    const auto a = [&] { return run(op->a); };
    const auto b = [&] { return run(op->b); };
    const auto up_to = [](const Expr& most) { return Interval{Expr(), most}; };
    switch (op->op) {
      case BinaryOp::Min:
      case BinaryOp::Max: return of_min_max(*op);
      case BinaryOp::Shr: return up_to(a().max);
      case BinaryOp::BitAnd: return up_to(of_min_max(a(), b(), BinaryOp::Min).max);
      case BinaryOp::Div: {
        const Expr most = a().max;
        return up_to(most.defined() ? most / max(b().min, 1) : Expr());
      }
      case BinaryOp::Mod: {
        const Expr divisor = b().max;
        const Interval below = up_to(divisor.defined() ? max(divisor - 1, 0) : Expr());
        return up_to(of_min_max(a(), below, BinaryOp::Min).max);
      }
      default: return {};
    }
  }

  // A conversion keeps the order of floats, and the values of what is no wider.
  Interval of_unsigned_cast(const Expr& e, const Expr& value) {
    const Type from = value.type();
    if (from.is_wide_uint() && from.bits <= e.type().bits) return run(value);
    if (!from.is_float() || e.type().bits > 32) return {};
    const Interval a = run(value);
    // NaN becomes 0.
    return {Expr(), a.max.defined() ? cast(Int(64), cast(e.type(), a.max)) : Expr()};
  }

  // Nothing but what the launch can evaluate.
  Interval evaluated(const Expr& e) { return varies(e) ? Interval{} : point(e); }
  bool varies(const Expr& e) {
    const auto found = varies_.find(e.ptr().get());
    if (found != varies_.end()) return found->second;
    const auto* var = e.as<VarRef>();
    bool result = (var && scope_.count(var->name)) || e.as<Access>() || e.as<Load>() || !is_exact(e);
    for_each_child(e, [&](const Expr& child) { result = result || (child.defined() && varies(child)); });
    varies_.emplace(e.ptr().get(), result);
    return result;
  }

  Expr tidy(const Expr& e) { return e.defined() ? simplify_(e) : e; }
  Interval tidy(const Interval& i) { return {tidy(i.min), tidy(i.max)}; }

  Interval unite(const Interval& a, const Interval& b) { return tidy(hull(a, b)); }

  // The expression of a form whose coefficients and constant lie in the type; otherwise undefined, since
  // a constant of the type would stand for another integer. Sums of 64 bits have room for those of the
  // form.
  Expr exact_expr(const Linear& form, Type type) {
    constexpr std::int64_t kRoom = std::int64_t{1} << 62;
    const auto has_room = [](std::int64_t k) { return k > -kRoom && k < kRoom; };
    bool fits = fits_in(form, type) && has_room(form.constant);
    for (const auto& term : form.terms) fits = fits && has_room(term.second);
    return fits ? tidy(to_expr(form, type)) : Expr();
  }

  // From the least to the greatest of the values that `op` has at the ends of both.
  Interval of_corners(const Interval& a, const Interval& b,
                      const std::function<Expr(const Expr&, const Expr&)>& op) {
    if (!a.bounded() || !b.bounded()) return {};
    Interval all = point(op(a.min, b.min));
    for (const Expr& other : {op(a.max, b.min), op(a.min, b.max), op(a.max, b.max)}) {
      all = {min(all.min, other), max(all.max, other)};
    }
    return tidy(all);
  }

  Interval of_linear(const Expr& e) {
    const Linear form = linearize(e);
    Linear low, high;
    low.constant = high.constant = form.constant;
    for (const auto& [atom, k] : form.terms) {
      const Interval a = run(atom);
      // An open side may wrap to the other end, unless the atom stands alone.
      if (!a.bounded()) return form.terms.size() == 1 && k == 1 && form.constant == 0 ? a : Interval{};
      low.add(linearize(k > 0 ? a.min : a.max), k);
      high.add(linearize(k > 0 ? a.max : a.min), k);
    }
    const Interval result{exact_expr(low, e.type()), exact_expr(high, e.type())};
    return result.bounded() ? result : Interval{};
  }

  Interval of_binary(const Expr& e, const Binary& op) {
    const bool is_sum = op.op == BinaryOp::Add || op.op == BinaryOp::Sub;
    const bool is_multiple = op.op == BinaryOp::Mul && (as_int(op.a) || as_int(op.b));
    if (is_sum || is_multiple) return of_linear(e);
    if (op.op == BinaryOp::Min || op.op == BinaryOp::Max) return of_min_max(op);
    if (op.op == BinaryOp::Mod) return of_remainder(op.b);
    if (const Interval whole = evaluated(e); whole.bounded()) return whole;
    const Interval a = run(op.a), b = run(op.b);
    switch (op.op) {
      case BinaryOp::Mul: return of_corners(a, b, [](const Expr& x, const Expr& y) { return x * y; });
      case BinaryOp::Div: return of_quotient(a, b);
      case BinaryOp::Shr:
        if (!b.is_point()) return of_nearer_to_0(a);
        return of_corners(a, b, [](const Expr& x, const Expr& y) { return x >> y; });
      case BinaryOp::Shl:
        if (!as_int(op.b)) return {};
        return of_corners(a, b, [](const Expr& x, const Expr& y) { return x << y; });
      case BinaryOp::BitAnd: return of_mask(a, b);
      case BinaryOp::BitOr:
      case BinaryOp::BitXor: return of_set_bits(a, b, op.op == BinaryOp::BitXor);
      default: return {};
    }
  }

  Interval of_min_max(const Binary& op) { return of_min_max(run(op.a), run(op.b), op.op); }

  Interval of_min_max(const Interval& a, const Interval& b, BinaryOp op) {
    const auto take = [op](const Expr& x, const Expr& y) {
      return op == BinaryOp::Min ? min(x, y) : max(x, y);
    };
    const auto both = [&](const Expr& x, const Expr& y) {
      return x.defined() && y.defined() ? take(x, y) : Expr();
    };
    // One known side suffices on the side that the operator bounds.
    const auto either = [&](const Expr& x, const Expr& y) {
      return x.defined() && y.defined() ? take(x, y) : (x.defined() ? x : y);
    };
    if (op == BinaryOp::Min) return tidy(Interval{both(a.min, b.min), either(a.max, b.max)});
    return tidy(Interval{either(a.min, b.min), both(a.max, b.max)});
  }

  Interval of_quotient(const Interval& a, const Interval& b) {
    const auto quotient = [](const Expr& x, const Expr& y) { return x / y; };
    if (const auto* k = b.bounded() ? as_int(b.min) : nullptr; k && b.is_point()) {
      if (*k == 0) return b;
      const auto side = [&](const Expr& x) { return x.defined() ? tidy(x / b.min) : x; };
      return *k > 0 ? Interval{side(a.min), side(a.max)} : Interval{side(a.max), side(a.min)};
    }
    // By one value, whatever its sign: monotone. By many: nothing grows.
    if (b.is_point()) return of_corners(a, b, quotient);
    if (!a.bounded()) return {};
    const Expr most = max(max(a.max, -a.min), constant(0, a.min.type()));
    return tidy(Interval{-most, most});
  }

  // A remainder has the divisor's sign and is nearer to 0; by 0 it is 0.
  Interval of_remainder(const Expr& divisor) {
    const Type type = divisor.type();
    if (const auto* k = as_int(divisor)) {
      return {constant(*k < 0 ? *k + 1 : 0, type), constant(*k > 0 ? *k - 1 : 0, type)};
    }
    const Interval b = run(divisor);
    if (!b.bounded()) return {};
    const Expr zero = constant(0, type);
    return tidy(Interval{min(b.min + 1, zero), max(b.max - 1, zero)});
  }

  Interval of_nearer_to_0(const Interval& a) {
    if (!a.bounded()) return {};
    const Expr zero = constant(0, a.min.type());
    return tidy(Interval{min(a.min, zero), max(a.max, zero)});
  }

  // A mask that is not negative clears the sign; a negative one clears bits alone.
  Interval of_mask(const Interval& a, const Interval& b) {
    for (const auto& [mask, value] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      const auto k = number_of(*mask);
      if (!k || *k >= 0 || !value->bounded()) continue;
      if (low_bits(~*k) != ~*k) return tidy(Interval{value->min + (*k + 1), value->max});
      return tidy(Interval{value->min & mask->min, value->max & mask->min});
    }
    Interval result;
    for (const Interval& side : {a, b}) {
      const auto* least = side.bounded() ? as_int(side.min) : nullptr;
      if (!least || *least < 0) continue;
      result.min = constant(0, side.min.type());
      result.max = result.max.defined() ? tidy(min(result.max, side.max)) : side.max;
    }
    return result;
  }

  // Setting or flipping bits of a number k >= 0 changes the bits up to its highest alone; of one that is
  // no constant it moves a value by at most k.
  Interval of_set_bits(Interval a, Interval b, bool flips) {
    const auto least = [](const Interval& i) { return i.bounded() ? as_int(i.min) : nullptr; };
    if (!least(b) || *least(b) < 0) std::swap(a, b);
    if (number_of(a) && *number_of(a) >= 0) std::swap(a, b);
    if (!least(b) || *least(b) < 0 || !a.bounded()) return {};
    if (const auto k = number_of(b)) {
      const Expr low = constant(low_bits(*k), a.min.type());
      return tidy(Interval{flips ? a.min & ~low : a.min, a.max | low});
    }
    return tidy(Interval{flips ? a.min - b.max : a.min, a.max + b.max});
  }
  static std::optional<std::int64_t> number_of(const Interval& i) {
    const auto* number = i.bounded() ? as_int(i.min) : nullptr;
    const auto* other = i.bounded() ? as_int(i.max) : nullptr;
    return number && other && *number == *other ? std::optional(*number) : std::nullopt;
  }
  /// The bits of k >= 0 up to its highest, all set.
  static std::int64_t low_bits(std::int64_t k) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(k) + 1) - 1);
  }

  Interval of_abs(const Interval& a) {
    if (!a.bounded()) return {};  // the least value keeps its sign
    const Expr zero = constant(0, a.min.type());
    return tidy(Interval{max(max(a.min, -a.max), zero), max(a.max, -a.min)});
  }

  Interval of_cast(const Expr& e, const Expr& value) {
    if (const auto* number = as_int(value)) return point(constant(*number, e.type()));
    const Interval a = run(value);
    // Beyond the ends of the type integers wrap, to either side.
    const auto leaves = [&](const Expr& x) {
      const auto* number = x.defined() ? as_int(x) : nullptr;
      return number && !has_value(e.type(), x.type(), *number);
    };
    const bool narrows = value.type().is_integer() && value.type().bits >= e.type().bits;
    if (leaves(a.min) || leaves(a.max) || (narrows && !a.bounded())) return {};
    const auto side = [&](const Expr& x) { return x.defined() ? tidy(cast(e.type(), x)) : Expr(); };
    const Interval whole{side(a.min), side(a.max)};
    if (!value.type().is_float()) return whole;
    // NaN becomes 0, and a side that is open ends where the type does.
    if (!a.min.defined() && !a.max.defined()) return {};
    const Expr zero = constant(0, e.type());
    return tidy(Interval{whole.min.defined() ? min(whole.min, zero) : Expr(),
                         whole.max.defined() ? max(whole.max, zero) : Expr()});
  }

  // The values other than NaN.
  Interval of_float(const Expr& e) {
    if (e.as<FloatImm>()) return point(e);
    const auto* op = e.as<Binary>();
    if (op && (op->op == BinaryOp::Min || op->op == BinaryOp::Max)) return of_min_max(*op);
    if (const Interval whole = evaluated(e); whole.bounded()) return whole;
    if (const auto* select = e.as<Select>()) {
      const Interval a = run(select->if_true), b = run(select->if_false);
      return a.bounded() && b.bounded() ? hull(a, b) : Interval{};
    }
    if (const auto* strict = e.as<Strict>()) return run(strict->value);
    if (const auto* print = e.as<Print>()) return run(print->value);
    return monotone_interval(e, [this](const Expr& part) { return run(part); });
  }

  const Scope& scope_;
  // By node, which the Expr of an entry keeps alive.
  NodeMap<std::pair<Expr, Interval>> done_;
  NodeMap<bool> varies_;  // of nodes inside of those
  passes::SharedSimplifier simplify_;
  Ranges none_;
  RangeFinder constants_{none_};
};

class OperandFinder {
 public:
  explicit OperandFinder(IntervalFinder& intervals) : intervals_(intervals) {}

  std::vector<Interval> run(const Expr& e) {
    visit(e);
    return std::exchange(found_, {});
  }

 private:
  void visit(const Expr& e) {
    if (!e.type().is_index() || !seen_.insert(e.ptr().get())) return;
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
      case BinaryOp::BitAnd:  // bounded by a mask
        if (is_mask(op.a) || is_mask(op.b)) return;
        [[fallthrough]];
      default:
        add(op.a);
        add(op.b);
        break;
    }
    visit(op.a);
    visit(op.b);
  }

  static bool is_mask(const Expr& e) { return as_int(e) != nullptr && *as_int(e) >= 0; }

  void add(const Expr& operand) {
    if (as_int(operand) || operand.as<VarRef>() || !operand.type().is_index()) return;
    Interval i = intervals_.run(operand);
    if (i.bounded() && !(ranges_.never_wraps(i.min) && ranges_.never_wraps(i.max))) {
      found_.push_back(std::move(i));
    }
  }

  IntervalFinder& intervals_;
  Ranges none_;
  RangeFinder ranges_{none_};
  NodeSet seen_;  // of expressions that outlive this
  std::vector<Interval> found_;
};

}  // namespace

struct SharedIntervals::State {
  explicit State(const Scope& scope) : finder(scope) {}
  IntervalFinder finder;
  OperandFinder operands{finder};
};
SharedIntervals::SharedIntervals(const Scope& scope) : state_(std::make_unique<State>(scope)) {}
SharedIntervals::~SharedIntervals() = default;
Interval SharedIntervals::operator()(const Expr& e) { return state_->finder.run(e); }
std::vector<Interval> SharedIntervals::operands(const Expr& e) { return state_->operands.run(e); }

Interval interval_of(const Expr& e, const Scope& scope) { return IntervalFinder(scope).run(e); }

bool stays_in_32_bits(const Interval& interval) {
  const Ranges none;
  return never_wraps(interval.min, none) && never_wraps(interval.max, none);
}

Interval unite(const Interval& a, const Interval& b) {
  const auto outer = [](const Expr& one, const Expr& other, bool lesser) -> Expr {
    if (!one.defined() || !other.defined()) return {};
    // Most often they are a known distance apart, as taps are, and nothing is to be simplified.
    if (const auto apart = constant_difference(one, other)) return (*apart <= 0) == lesser ? one : other;
    return passes::simplify(lesser ? min(one, other) : max(one, other));
  };
  return {outer(a.min, b.min, true), outer(a.max, b.max, false)};
}

}  // namespace mica::analysis
