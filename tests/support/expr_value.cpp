#include "tests/support/expr_value.h"

#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "dsl/expr/constant_math.h"

namespace mica::test {
namespace {

std::uint64_t low_bits(std::uint64_t bits, int count) {
  return count >= 64 ? bits : bits & ((std::uint64_t{1} << count) - 1);
}

ExprValue make_int(Type type, std::uint64_t bits) { return {type.element(), low_bits(bits, type.bits)}; }

/// Sign- or zero-extended to 64 bits.
std::int64_t as_int64(const ExprValue& v) {
  if (!v.type.is_int()) return static_cast<std::int64_t>(v.bits);
  const int unused = 64 - v.type.bits;
  return static_cast<std::int64_t>(v.bits << unused) >> unused;
}

/// `x` rounded to `type`, through f32 for the half types.
ExprValue make_real(Type type, double x) {
  const Type t = type.element();
  if (t.bits == 64) return {t, std::bit_cast<std::uint64_t>(x)};
  const auto single = static_cast<float>(x);
  if (t.bits == 32) return {t, std::bit_cast<std::uint32_t>(single)};
  return {t, t.code == TypeCode::Float ? float16(single).bits : bfloat16(single).bits};
}

/// Exact.
double as_real(const ExprValue& v) {
  if (v.type.bits == 64) return std::bit_cast<double>(v.bits);
  if (v.type.bits == 32) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v.bits)));
  }
  if (v.type.code == TypeCode::Float) {
    float16 h;
    h.bits = static_cast<std::uint16_t>(v.bits);
    return static_cast<double>(static_cast<float>(h));
  }
  bfloat16 h;
  h.bits = static_cast<std::uint16_t>(v.bits);
  return static_cast<double>(static_cast<float>(h));
}

template <typename Integer>
std::uint64_t saturate(double x) {
  if (x != x) return 0;
  const double limit = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
  if (x >= limit) return static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
  if (x <= static_cast<double>(std::numeric_limits<Integer>::min())) {
    return static_cast<std::uint64_t>(std::numeric_limits<Integer>::min());
  }
  return static_cast<std::uint64_t>(static_cast<Integer>(x));
}

ExprValue convert(Type to, const ExprValue& v) {
  const Type t = to.element();
  if (t == v.type) return v;
  if (t.is_float()) {
    if (v.type.is_float()) return make_real(t, as_real(v));
    const std::int64_t i = as_int64(v);
    const auto of = [&](auto n) {
      if (t.bits == 64) return make_real(t, static_cast<double>(n));
      return make_real(t, static_cast<double>(static_cast<float>(n)));
    };
    return v.type.is_uint() ? of(v.bits) : of(i);
  }
  if (!v.type.is_float()) return make_int(t, static_cast<std::uint64_t>(as_int64(v)));
  const double x = as_real(v);
  if (t == Int(64)) return make_int(t, saturate<std::int64_t>(x));
  if (t == Int(32)) return make_int(t, saturate<std::int32_t>(x));
  if (t == UInt(32)) return make_int(t, saturate<std::uint32_t>(x));
  if (t == UInt(64)) return make_int(t, saturate<std::uint64_t>(x));
  throw InternalError("evaluate: conversion to " + to_string(t));
}

template <typename F>
F real_binary(BinaryOp op, F a, F b) {
  switch (op) {
    case BinaryOp::Add: return a + b;
    case BinaryOp::Sub: return a - b;
    case BinaryOp::Mul: return a * b;
    case BinaryOp::Div: return a / b;
    default: throw InternalError("evaluate: a binary operation that floats do not have here");
  }
}

ExprValue binary(BinaryOp op, const ExprValue& a, const ExprValue& b) {
  const Type t = a.type;
  if (t == Float(64)) return make_real(t, real_binary(op, as_double(a), as_double(b)));
  if (t == Float(32)) return value_of(real_binary(op, as_float(a), as_float(b)));
  if (t.is_float()) throw InternalError("evaluate: arithmetic on " + to_string(t));
  switch (op) {
    case BinaryOp::Add: return make_int(t, a.bits + b.bits);
    case BinaryOp::Sub: return make_int(t, a.bits - b.bits);
    case BinaryOp::Mul: return make_int(t, a.bits * b.bits);
    case BinaryOp::And:
    case BinaryOp::BitAnd: return make_int(t, a.bits & b.bits);
    case BinaryOp::Or:
    case BinaryOp::BitOr: return make_int(t, a.bits | b.bits);
    case BinaryOp::BitXor: return make_int(t, a.bits ^ b.bits);
    case BinaryOp::Shl: return make_int(t, a.bits << (b.bits % t.bits));
    case BinaryOp::Shr:
      if (t.is_uint()) return make_int(t, a.bits >> (b.bits % t.bits));
      return make_int(t, static_cast<std::uint64_t>(as_int64(a) >> (b.bits % t.bits)));
    case BinaryOp::Mod:
      return make_int(t, static_cast<std::uint64_t>(*fold(op, t, as_int64(a), as_int64(b))));
    default: throw InternalError("evaluate: a binary operation of no math function");
  }
}

template <typename T>
bool holds(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::Eq: return a == b;
    case CompareOp::Ne: return a != b;
    case CompareOp::Lt: return a < b;
    case CompareOp::Le: return a <= b;
    case CompareOp::Gt: return a > b;
    case CompareOp::Ge: return a >= b;
  }
  return false;
}

ExprValue unary(UnaryOp op, const ExprValue& a) {
  const Type t = a.type;
  if (t.is_float()) {
    const double x = as_real(a);
    switch (op) {
      case UnaryOp::Neg: return {t, a.bits ^ (std::uint64_t{1} << (t.bits - 1))};
      case UnaryOp::Floor: return make_real(t, std::floor(x));
      case UnaryOp::Ceil: return make_real(t, std::ceil(x));
      case UnaryOp::Round: return make_real(t, std::nearbyint(x));
      case UnaryOp::Abs: return make_real(t, std::fabs(x));
      case UnaryOp::Sqrt:
        return t.bits == 64 ? make_real(t, std::sqrt(x)) : value_of(std::sqrt(as_float(a)));
      default: break;
    }
  } else if (op == UnaryOp::Neg) {
    return make_int(t, 0 - a.bits);
  } else if (op == UnaryOp::BitNot || op == UnaryOp::Not) {
    return make_int(t, ~a.bits);
  }
  throw InternalError("evaluate: a unary operation that expand_math should have replaced");
}

class Evaluator {
 public:
  Evaluator(const std::map<std::string, ExprValue>& variables, int lane)
      : names_(variables.begin(), variables.end()), lane_(lane) {}

  ExprValue operator()(const Expr& e) {
    return std::visit([&](const auto& op) { return node(e.type(), op); }, e.node().op);
  }

 private:
  ExprValue node(Type t, const IntImm& op) { return make_int(t, static_cast<std::uint64_t>(op.value)); }
  ExprValue node(Type t, const FloatImm& op) { return make_real(t, op.value); }
  ExprValue node(Type /*t*/, const VarRef& op) {
    const auto found = names_.find(op.name);
    if (found == names_.end()) throw InternalError("evaluate: " + op.name + " has no value");
    return found->second;
  }
  ExprValue node(Type t, const Cast& op) { return convert(t, (*this)(op.value)); }
  ExprValue node(Type /*t*/, const Unary& op) { return unary(op.op, (*this)(op.a)); }
  ExprValue node(Type /*t*/, const Binary& op) { return binary(op.op, (*this)(op.a), (*this)(op.b)); }
  ExprValue node(Type /*t*/, const Compare& op) {
    const ExprValue a = (*this)(op.a), b = (*this)(op.b);
    const bool result = a.type.is_float()  ? holds(op.op, as_real(a), as_real(b))
                        : a.type.is_uint() ? holds(op.op, a.bits, b.bits)
                                           : holds(op.op, as_int64(a), as_int64(b));
    return make_int(Bool(), result ? 1 : 0);
  }
  ExprValue node(Type /*t*/, const Select& op) {
    return (*this)(op.condition).bits != 0 ? (*this)(op.if_true) : (*this)(op.if_false);
  }
  ExprValue node(Type t, const Fma& op) {
    const ExprValue a = (*this)(op.a), b = (*this)(op.b), c = (*this)(op.c);
    if (t.bits == 64) return make_real(t, std::fma(as_double(a), as_double(b), as_double(c)));
    return value_of(std::fma(as_float(a), as_float(b), as_float(c)));
  }
  ExprValue node(Type /*t*/, const Let& op) {
    const ExprValue value = (*this)(op.value);
    const auto outer = names_.find(op.name);
    const bool hides = outer != names_.end();
    const ExprValue hidden = hides ? outer->second : ExprValue{};
    names_[op.name] = value;
    const ExprValue result = (*this)(op.body);
    if (hides) names_[op.name] = hidden;
    return result;
  }
  ExprValue node(Type /*t*/, const Broadcast& op) { return (*this)(op.value); }
  ExprValue node(Type t, const Ramp& op) {
    const ExprValue base = (*this)(op.base), stride = (*this)(op.stride);
    return make_int(t, base.bits + static_cast<std::uint64_t>(lane_) * stride.bits);
  }
  ExprValue node(Type t, const Reinterpret& op) { return {t.element(), (*this)(op.value).bits}; }
  ExprValue node(Type t, const ParamRef& /*op*/) { return other(t); }
  ExprValue node(Type t, const RVarRef& /*op*/) { return other(t); }
  ExprValue node(Type t, const ImageField& /*op*/) { return other(t); }
  ExprValue node(Type t, const Strict& /*op*/) { return other(t); }
  ExprValue node(Type t, const Print& /*op*/) { return other(t); }
  ExprValue node(Type t, const Access& /*op*/) { return other(t); }
  ExprValue node(Type t, const Load& /*op*/) { return other(t); }
  ExprValue node(Type t, const Shuffle& /*op*/) { return other(t); }
  ExprValue node(Type t, const WarpShuffle& /*op*/) { return other(t); }
  ExprValue other(Type t) {
    throw InternalError("evaluate: a node of type " + to_string(t) + " that has no value here");
  }

  std::unordered_map<std::string, ExprValue> names_;
  int lane_;
};

}  // namespace

ExprValue value_of(float x) { return {Float(32), std::bit_cast<std::uint32_t>(x)}; }
ExprValue value_of(double x) { return {Float(64), std::bit_cast<std::uint64_t>(x)}; }
ExprValue value_of(std::int32_t x) { return {Int(32), static_cast<std::uint32_t>(x)}; }
float as_float(const ExprValue& v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v.bits)); }
double as_double(const ExprValue& v) { return std::bit_cast<double>(v.bits); }

ExprValue evaluate(const Expr& e, const std::map<std::string, ExprValue>& variables, int lane) {
  return Evaluator(variables, lane)(e);
}

}  // namespace mica::test
