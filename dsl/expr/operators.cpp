#include "dsl/expr/operators.h"

#include <algorithm>
#include <ostream>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/promote.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

// `e` as text that fits in a message.
std::string excerpt(const Expr& e) {
  constexpr std::size_t kLongest = 60;
  std::string text = to_string(e, kLongest);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

[[noreturn]] void refuse(const char* op, const Expr& operand, const std::string& advice) {
  throw UserError(std::string("'") + op + "' does not take " + to_string(operand.type().element()) +
                  " operands (" + excerpt(operand) + "); " + advice);
}

// Is the type of an operand for its Func's definition to decide? Then the operation waits for it, too
// (dsl/check/self_reads.h).
bool waits(const char* op, std::initializer_list<Expr> operands) {
  bool any = false;
  for (const Expr& e : operands) {
    require_defined(op, e);
    any = any || e.type().is_undecided();
  }
  return any;
}

constexpr const char* kNumberOfBool = "make a number of the bool first: select(condition, 1, 0)";

void require_number(const char* op, const Expr& e) {
  if (e.type().is_bool()) refuse(op, e, kNumberOfBool);
}
void require_integer(const char* op, const Expr& e, const char* advice) {
  if (e.type().is_bool()) refuse(op, e, kNumberOfBool);
  if (!e.type().is_integer()) refuse(op, e, advice);
}
void require_float(const char* op, const Expr& e) {
  if (e.type().is_bool()) refuse(op, e, "use select(condition, 1.0f, 0.0f)");
  if (!e.type().is_float()) refuse(op, e, "cast it to Float(32): cast(Float(32), ...)");
}
void require_bool(const char* op, const Expr& e) {
  require_defined(op, e);
  if (!e.type().is_bool()) refuse(op, e, "compare it, e.g. with != 0");
}

// True when the integer operation returns its left operand: + 0, - 0, * 1, / 1.
bool keeps_left(BinaryOp op, const Expr& b) {
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub: return is_const(b, 0);
    case BinaryOp::Mul:
    case BinaryOp::Div: return is_const(b, 1);
    default: return false;
  }
}

// The node of an operation on operands of one type, or the constant it comes to.
Expr make_binary(BinaryOp op, Expr a, Expr b) {
  const Type type = a.type();
  if (!type.is_float()) {
    const std::int64_t* left = as_int(a);
    const std::int64_t* right = as_int(b);
    if (left != nullptr && right != nullptr) {
      if (const auto value = fold(op, type.element(), *left, *right)) return make_const(type, *value);
    }
    if (type.is_integer() && right != nullptr && keeps_left(op, b)) return a;
    const bool commutes = op == BinaryOp::Add || op == BinaryOp::Mul;
    if (type.is_integer() && left != nullptr && commutes && keeps_left(op, a)) return b;
  }
  return make_expr(type, Binary{op, std::move(a), std::move(b)});
}

Expr waiting(BinaryOp op, Expr a, Expr b) {
  return make_expr(undecided_type(), Binary{op, std::move(a), std::move(b)});
}

Expr arithmetic(BinaryOp op, const char* text, Operand left, Operand right) {
  return placed_at(left.where(), [&]() -> Expr {
    Expr a = left.take(), b = right.take();
    if (waits(text, {a, b})) return waiting(op, std::move(a), std::move(b));
    match_types(text, a, b);
    require_number(text, a);
    return make_binary(op, std::move(a), std::move(b));
  });
}

Expr compared(CompareOp op, const char* text, Operand left, Operand right) {
  return placed_at(left.where(), [&]() -> Expr {
    Expr a = left.take(), b = right.take();
    if (waits(text, {a, b})) return make_expr(Bool(), Compare{op, std::move(a), std::move(b)});
    match_types(text, a, b);
    const bool is_equality = op == CompareOp::Eq || op == CompareOp::Ne;
    if (!is_equality) require_number(text, a);
    const Type type = Bool().with_lanes(a.type().lanes);
    const std::int64_t* first = as_int(a);
    const std::int64_t* second = as_int(b);
    if (first != nullptr && second != nullptr) {
      return make_const(type, fold(op, a.type().element(), *first, *second) ? 1 : 0);
    }
    return make_expr(type, Compare{op, std::move(a), std::move(b)});
  });
}

Expr logical(BinaryOp op, const char* text, Operand left, Operand right) {
  return placed_at(left.where(), [&]() -> Expr {
    Expr a = left.take(), b = right.take();
    if (waits(text, {a, b})) return make_expr(Bool(), Binary{op, std::move(a), std::move(b)});
    require_bool(text, a);
    require_bool(text, b);
    match_types(text, a, b);
    return make_binary(op, std::move(a), std::move(b));
  });
}

Expr bitwise(BinaryOp op, const char* text, Operand left, Operand right) {
  return placed_at(left.where(), [&]() -> Expr {
    Expr a = left.take(), b = right.take();
    if (waits(text, {a, b})) return waiting(op, std::move(a), std::move(b));
    match_types(text, a, b);
    require_integer(text, a, "cast it to an integer type");
    return make_binary(op, std::move(a), std::move(b));
  });
}

bool both_bool(const Expr& a, const Expr& b) {
  return a.defined() && b.defined() && a.type().is_bool() && b.type().is_bool();
}

Expr shifted(BinaryOp op, const char* text, Operand left, Operand right) {
  return placed_at(left.where(), [&]() -> Expr {
    Expr a = left.take(), b = right.take();
    if (waits(text, {a, b})) return waiting(op, std::move(a), std::move(b));
    require_integer(text, a, "cast it to an integer type");
    require_integer(text, b, "shift by an integer");
    const std::int64_t* amount = as_int(b);
    if (amount != nullptr && (*amount < 0 || *amount >= a.type().bits)) {
      throw UserError(std::string("'") + text + "' of " + to_string(a.type().element()) + " by " +
                      integer_text(b.type().element(), *amount) + "; the amount must be from 0 to " +
                      std::to_string(a.type().bits - 1));
    }
    b = converted(a.type().element().with_lanes(b.type().lanes), b);
    match_types(text, a, b);
    return make_binary(op, std::move(a), std::move(b));
  });
}

Expr unary(UnaryOp op, Expr a) {
  const Type type = a.type();
  return make_expr(type, Unary{op, std::move(a)});
}

/// An integer as the float that math functions compute in.
Expr as_float(Expr a) {
  if (!a.type().is_integer()) return a;
  const Type type = a.type().bits > 32 ? Float(64) : Float(32);
  return cast(type, std::move(a));
}

Expr float_function(UnaryOp op, const char* name, Operand operand) {
  return placed_at(operand.where(), [&]() -> Expr {
    Expr a = operand.take();
    if (!waits(name, {a})) {
      a = as_float(std::move(a));
      require_float(name, a);
    }
    return unary(op, std::move(a));
  });
}

}  // namespace

Expr operator+(Operand a, Operand b) {
  return arithmetic(BinaryOp::Add, "+", std::move(a), std::move(b));
}
Expr operator-(Operand a, Operand b) {
  return arithmetic(BinaryOp::Sub, "-", std::move(a), std::move(b));
}
Expr operator*(Operand a, Operand b) {
  return arithmetic(BinaryOp::Mul, "*", std::move(a), std::move(b));
}
Expr operator/(Operand a, Operand b) {
  return arithmetic(BinaryOp::Div, "/", std::move(a), std::move(b));
}

Expr operator%(Operand left, Operand right) {
  return placed_at(left.where(), [&]() -> Expr {
    Expr a = left.take(), b = right.take();
    if (waits("%", {a, b})) return waiting(BinaryOp::Mod, std::move(a), std::move(b));
    match_types("%", a, b);
    require_integer("%", a, "write fmod(a, b), or a - b*floor(a/b)");
    return make_binary(BinaryOp::Mod, std::move(a), std::move(b));
  });
}

Expr operator-(Operand operand) {
  return placed_at(operand.where(), [&]() -> Expr {
    Expr a = operand.take();
    if (waits("-", {a})) return unary(UnaryOp::Neg, std::move(a));
    require_number("-", a);
    const Type type = a.type();
    if (const auto* imm = a.as<FloatImm>()) return make_expr(type, FloatImm{-imm->value});
    if (const std::int64_t* value = as_int(a)) {
      return make_const(type, *fold(BinaryOp::Sub, type.element(), 0, *value));
    }
    return unary(UnaryOp::Neg, std::move(a));
  });
}

Expr operator!(Operand operand) {
  return placed_at(operand.where(), [&]() -> Expr {
    Expr a = operand.take();
    if (waits("!", {a})) return make_expr(Bool(), Unary{UnaryOp::Not, std::move(a)});
    require_bool("!", a);
    if (const std::int64_t* value = as_int(a)) return make_const(a.type(), *value != 0 ? 0 : 1);
    return unary(UnaryOp::Not, std::move(a));
  });
}

Expr operator~(Operand operand) {
  return placed_at(operand.where(), [&]() -> Expr {
    Expr a = operand.take();
    if (waits("~", {a})) return unary(UnaryOp::BitNot, std::move(a));
    if (a.type().is_bool()) return !std::move(a);
    require_integer("~", a, "cast it to an integer type");
    if (const std::int64_t* value = as_int(a)) return make_const(a.type(), ~*value);
    return unary(UnaryOp::BitNot, std::move(a));
  });
}

Expr operator&(Operand a, Operand b) {
  if (both_bool(a.expr(), b.expr())) return std::move(a) && std::move(b);
  return bitwise(BinaryOp::BitAnd, "&", std::move(a), std::move(b));
}
Expr operator|(Operand a, Operand b) {
  if (both_bool(a.expr(), b.expr())) return std::move(a) || std::move(b);
  return bitwise(BinaryOp::BitOr, "|", std::move(a), std::move(b));
}
Expr operator^(Operand a, Operand b) {
  if (both_bool(a.expr(), b.expr())) return std::move(a) != std::move(b);
  return bitwise(BinaryOp::BitXor, "^", std::move(a), std::move(b));
}
Expr operator<<(Operand a, Operand b) {
  return shifted(BinaryOp::Shl, "<<", std::move(a), std::move(b));
}
Expr operator>>(Operand a, Operand b) {
  return shifted(BinaryOp::Shr, ">>", std::move(a), std::move(b));
}

Expr operator&&(Operand a, Operand b) {
  return logical(BinaryOp::And, "&&", std::move(a), std::move(b));
}
Expr operator||(Operand a, Operand b) { return logical(BinaryOp::Or, "||", std::move(a), std::move(b)); }

Expr operator==(Operand a, Operand b) {
  return compared(CompareOp::Eq, "==", std::move(a), std::move(b));
}
Expr operator!=(Operand a, Operand b) {
  return compared(CompareOp::Ne, "!=", std::move(a), std::move(b));
}
Expr operator<(Operand a, Operand b) { return compared(CompareOp::Lt, "<", std::move(a), std::move(b)); }
Expr operator<=(Operand a, Operand b) {
  return compared(CompareOp::Le, "<=", std::move(a), std::move(b));
}
Expr operator>(Operand a, Operand b) { return compared(CompareOp::Gt, ">", std::move(a), std::move(b)); }
Expr operator>=(Operand a, Operand b) {
  return compared(CompareOp::Ge, ">=", std::move(a), std::move(b));
}

Expr& operator+=(Expr& a, Operand b) {
  const CallSite at = b.where();
  return a = Operand(a, at) + std::move(b);
}
Expr& operator-=(Expr& a, Operand b) {
  const CallSite at = b.where();
  return a = Operand(a, at) - std::move(b);
}
Expr& operator*=(Expr& a, Operand b) {
  const CallSite at = b.where();
  return a = Operand(a, at) * std::move(b);
}
Expr& operator/=(Expr& a, Operand b) {
  const CallSite at = b.where();
  return a = Operand(a, at) / std::move(b);
}

Expr min(Operand a, Operand b) { return arithmetic(BinaryOp::Min, "min", std::move(a), std::move(b)); }
Expr max(Operand a, Operand b) { return arithmetic(BinaryOp::Max, "max", std::move(a), std::move(b)); }
Expr clamp(Operand value, Operand low, Operand high) {
  const CallSite at = value.where();
  return max(Operand(min(std::move(value), std::move(high)), at), std::move(low));
}

Expr abs(Operand operand) {
  return placed_at(operand.where(), [&]() -> Expr {
    Expr a = operand.take();
    if (waits("abs", {a})) return unary(UnaryOp::Abs, std::move(a));
    require_number("abs", a);
    if (a.type().is_uint()) return a;
    return unary(UnaryOp::Abs, std::move(a));
  });
}

Expr select(Operand chooser, Operand first, Operand second) {
  return placed_at(chooser.where(), [&]() -> Expr {
    Expr condition = chooser.take(), if_true = first.take(), if_false = second.take();
    if (waits("select", {if_true, if_false}) || waits("select", {condition})) {
      return make_expr(undecided_type(),
                       Select{std::move(condition), std::move(if_true), std::move(if_false)});
    }
    require_bool("select", condition);
    match_types("select", if_true, if_false);
    if (const std::int64_t* value = as_int(condition);
        value != nullptr && condition.type().is_scalar()) {
      return *value != 0 ? if_true : if_false;
    }
    const int lanes = std::max(condition.type().lanes, if_true.type().lanes);
    condition = to_lanes(lanes, condition);
    if_true = to_lanes(lanes, if_true);
    if_false = to_lanes(lanes, if_false);
    const Type type = if_true.type();
    return make_expr(type, Select{std::move(condition), std::move(if_true), std::move(if_false)});
  });
}

Expr cast(Type to, Operand operand) {
  return placed_at(operand.where(), [&]() -> Expr {
    Type type = to;
    Expr value = operand.take();
    require_defined("cast", value);
    const Type element = type.element();
    if (!is_user_type(element)) {
      throw UserError("cast to " + to_string(element) + ", which is no type; the types are " +
                      user_types());
    }
    if (value.type().is_undecided()) return make_expr(type, Cast{std::move(value)});
    if (type.is_scalar()) type = type.with_lanes(value.type().lanes);
    if (type.lanes != value.type().lanes) {
      throw UserError("cast to " + to_string(type) + " of " + excerpt(value) + ", which is " +
                      to_string(value.type()) + ": a cast keeps the number of lanes; write cast(" +
                      to_string(element) + ", ...)");
    }
    if (value.type() == type && (!is_literal(value) || type.is_bool())) return value;
    if (type.is_bool()) return std::move(value) != 0;
    return make_expr(type, Cast{std::move(value)});
  });
}

Expr fma(Operand left, Operand right, Operand added) {
  return placed_at(left.where(), [&]() -> Expr {
    Expr a = left.take(), b = right.take(), c = added.take();
    // Matching all with an operand that is no literal gives literals the type of the rest; the second
    // round carries a type that the first one widened to those matched before.
    if (waits("fma", {a, b, c})) {
      return make_expr(undecided_type(), Fma{std::move(a), std::move(b), std::move(c)});
    }
    Expr& anchor = !is_literal(a) ? a : (!is_literal(b) ? b : c);
    for (int pass = 0; pass < 2; ++pass) {
      for (Expr* operand : {&a, &b, &c}) {
        if (operand != &anchor) match_types("fma", anchor, *operand);
      }
    }
    require_float("fma", a);
    const Type type = a.type();
    return make_expr(type, Fma{std::move(a), std::move(b), std::move(c)});
  });
}

Expr strict(Operand operand) {
  return placed_at(operand.where(), [&]() -> Expr {
    Expr value = operand.take();
    require_defined("strict", value);
    const Type type = value.type();
    return make_expr(type, Strict{std::move(value)});
  });
}

Expr sqrt(Operand a) { return float_function(UnaryOp::Sqrt, "sqrt", std::move(a)); }
Expr floor(Operand a) { return float_function(UnaryOp::Floor, "floor", std::move(a)); }
Expr ceil(Operand a) { return float_function(UnaryOp::Ceil, "ceil", std::move(a)); }
Expr round(Operand a) { return float_function(UnaryOp::Round, "round", std::move(a)); }
Expr exp(Operand a) { return float_function(UnaryOp::Exp, "exp", std::move(a)); }
Expr log(Operand a) { return float_function(UnaryOp::Log, "log", std::move(a)); }
Expr sin(Operand a) { return float_function(UnaryOp::Sin, "sin", std::move(a)); }
Expr cos(Operand a) { return float_function(UnaryOp::Cos, "cos", std::move(a)); }
Expr tanh(Operand a) { return float_function(UnaryOp::Tanh, "tanh", std::move(a)); }

Expr mux(Operand which, const std::vector<Expr>& values) {
  return placed_at(which.where(), [&]() -> Expr {
    const Expr index = which.take();
    require_defined("mux", index);
    require_integer("mux", index, "cast the index to an integer type");
    if (values.empty()) throw UserError("mux of no values: it needs at least one");
    Expr result = values.back();
    for (std::size_t i = values.size() - 1; i-- > 0;) {
      result =
          select(index <= make_const(index.type(), static_cast<std::int64_t>(i)), values[i], result);
    }
    return result;
  });
}

namespace {

/// zero + (one - zero)*weight/greatest, rounded, in integers that hold all of it.
Expr lerp_exactly(const Expr& zero, const Expr& one, const Expr& weight) {
  const Type type = zero.type();
  const Type wide = type.bits > 16 ? UInt(64) : type.bits > 8 ? Int(64) : Int(32);
  const std::int64_t greatest = highest_of(type);
  const Expr w = cast(wide, weight), all = make_const(wide, greatest);
  const Expr sum = cast(wide, zero) * (all - w) + cast(wide, one) * w;
  return cast(type, (sum + make_const(wide, greatest / 2)) / all);
}

}  // namespace

Expr lerp(Operand from, Operand to, Operand how_far) {
  return placed_at(from.where(), [&]() -> Expr {
    Expr zero = from.take(), one = to.take(), weight = how_far.take();
    // What waits for its type is taken for a float.
    if (waits("lerp", {zero, one, weight})) return zero * (1 - weight) + one * weight;
    match_types("lerp", zero, one);
    require_defined("lerp", weight);
    require_number("lerp", zero);
    const Type type = zero.type();
    const bool takes_own = type.is_uint() && type.bits < 64;
    if (takes_own && weight.type() == type) return lerp_exactly(zero, one, weight);
    if (!weight.type().is_float()) {
      throw UserError("lerp of " + to_string(type) + " with a weight of " + to_string(weight.type()) +
                      ": the weight must be a float from 0 to 1" +
                      (takes_own ? ", or a " + to_string(type) + ", whose greatest value is 1" : ""));
    }
    if (type.is_float()) {
      match_types("lerp", zero, weight);
      match_types("lerp", one, weight);
      return zero * (1 - weight) + one * weight;
    }
    const Type in = type.bits > 16 ? Float(64) : Float(32);
    const Expr w = cast(in, weight);
    return cast(type, round(cast(in, zero) * (1 - w) + cast(in, one) * w));
  });
}

std::ostream& operator<<(std::ostream& out, const Expr& e) {
  return out << (e.defined() ? brief(e) : "(undefined Expr)");
}
std::ostream& operator<<(std::ostream& out, const Var& v) { return out << v.name(); }
std::ostream& operator<<(std::ostream& out, const Type& type) { return out << to_string(type); }

namespace {

Expr float_function(BinaryOp op, const char* name, Operand left, Operand right) {
  return placed_at(left.where(), [&]() -> Expr {
    Expr a = left.take(), b = right.take();
    if (waits(name, {a, b})) return waiting(op, std::move(a), std::move(b));
    match_types(name, a, b);
    a = as_float(std::move(a));
    b = as_float(std::move(b));
    require_float(name, a);
    return make_binary(op, std::move(a), std::move(b));
  });
}

}  // namespace

Expr pow(Operand base, Operand exponent) {
  return float_function(BinaryOp::Pow, "pow", std::move(base), std::move(exponent));
}
Expr atan2(Operand y, Operand x) {
  return float_function(BinaryOp::Atan2, "atan2", std::move(y), std::move(x));
}
Expr fmod(Operand a, Operand b) {
  return float_function(BinaryOp::Fmod, "fmod", std::move(a), std::move(b));
}

}  // namespace mica
