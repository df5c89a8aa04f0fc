#include "runtime/run/host_arithmetic.h"

#include <bit>
#include <cmath>
#include <limits>

#include "dsl/expr/constant_math.h"

namespace mica::host_arithmetic {

namespace {

std::uint64_t as_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }
std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

HostValue integer(std::int64_t value) {
  HostValue result{};
  result.i = value;
  return result;
}

HostValue real(double value) {
  HostValue result{};
  result.f = value;
  return result;
}

std::int64_t integer_binary(BinaryOp op, std::int64_t a, std::int64_t b, Type type) {
  if (op == BinaryOp::And) return a & b;
  if (op == BinaryOp::Or) return a | b;
  if (op == BinaryOp::Shl || op == BinaryOp::Shr) b = as_signed(as_unsigned(b) % type.bits);
  const auto result = fold(op, type.is_bool() ? UInt(8) : type, a, b);
  internal_check(result.has_value(), "a math function has no integer form");
  return *result;
}

/// IEEE 754-2019 minimum.
template <typename T>
T minimum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <typename T>
T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

template <typename T>
T real_binary(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::Add: return a + b;
    case BinaryOp::Sub: return a - b;
    case BinaryOp::Mul: return a * b;
    case BinaryOp::Div: return a / b;
    case BinaryOp::Min: return minimum(a, b);
    case BinaryOp::Max: return maximum(a, b);
    case BinaryOp::Mod:
    case BinaryOp::Pow:
    case BinaryOp::Atan2:
    case BinaryOp::Fmod:
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
    case BinaryOp::Shl:
    case BinaryOp::Shr: break;
  }
  throw InternalError("an operation on floats that the host cannot evaluate");
}

template <typename T>
T real_unary(UnaryOp op, T a) {
  switch (op) {
    case UnaryOp::Neg: return -a;
    case UnaryOp::Abs: return std::fabs(a);
    case UnaryOp::Sqrt: return std::sqrt(a);
    case UnaryOp::Floor: return std::floor(a);
    case UnaryOp::Ceil: return std::ceil(a);
    case UnaryOp::Round: return std::nearbyint(a);  // ties to even in the default rounding mode
    case UnaryOp::Not:
    case UnaryOp::BitNot:
    case UnaryOp::Exp:
    case UnaryOp::Log:
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tanh: break;
  }
  throw InternalError("a function of floats that the host cannot evaluate");
}

std::int64_t integer_unary(UnaryOp op, std::int64_t a, Type type) {
  switch (op) {
    case UnaryOp::Neg: return as_signed(0 - as_unsigned(a));
    case UnaryOp::Not: return a == 0 ? 1 : 0;
    case UnaryOp::BitNot: return ~a;
    case UnaryOp::Abs: return a < 0 && !type.is_uint() ? as_signed(0 - as_unsigned(a)) : a;
    case UnaryOp::Sqrt:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round:
    case UnaryOp::Exp:
    case UnaryOp::Log:
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tanh: break;
  }
  throw InternalError("a function of integers that the host cannot evaluate");
}

bool holds(CompareOp op, double a, double b) {
  switch (op) {
    case CompareOp::Eq: return a == b;
    case CompareOp::Ne: return a != b;
    case CompareOp::Lt: return a < b;
    case CompareOp::Le: return a <= b;
    case CompareOp::Gt: return a > b;
    case CompareOp::Ge: return a >= b;
  }
  throw InternalError("no legal comparison");
}

}  // namespace

bool is_exact(UnaryOp op) {
  return op != UnaryOp::Exp && op != UnaryOp::Log && op != UnaryOp::Sin && op != UnaryOp::Cos &&
         op != UnaryOp::Tanh;
}

bool is_exact(BinaryOp op) { return !is_math_function(op); }

std::int64_t wrap(std::int64_t value, Type type) {
  if (type.is_bool()) return value & 1;
  if (type.bits >= 64) return value;
  const int shift = 64 - type.bits;
  const std::uint64_t high = as_unsigned(value) << shift;
  return type.is_int() ? as_signed(high) >> shift : as_signed(high >> shift);
}

double round_to(double value, Type type) {
  if (type.bits == 64) return value;
  const auto single = static_cast<float>(value);
  if (type.bits == 32) return single;
  return type.code == TypeCode::BFloat ? static_cast<float>(bfloat16(single))
                                       : static_cast<float>(float16(single));
}

HostValue unary(UnaryOp op, HostValue a, Type type) {
  if (!type.is_float()) return integer(wrap(integer_unary(op, a.i, type), type));
  if (type.bits == 64) return real(real_unary(op, a.f));
  return real(round_to(static_cast<double>(real_unary(op, static_cast<float>(a.f))), type));
}

HostValue binary(BinaryOp op, HostValue a, HostValue b, Type type) {
  if (!type.is_float()) return integer(wrap(integer_binary(op, a.i, b.i, type), type));
  if (type.bits == 64) return real(real_binary(op, a.f, b.f));
  const float single = real_binary(op, static_cast<float>(a.f), static_cast<float>(b.f));
  return real(round_to(static_cast<double>(single), type));
}

namespace {

/// The end of 64 bits on the side of `positive`.
std::int64_t end_of_range(bool positive) {
  using Limits = std::numeric_limits<std::int64_t>;
  return positive ? Limits::max() : Limits::min();
}

std::int64_t exact_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? end_of_range((a < 0) == (b < 0)) : result;
}

std::int64_t exact_shift(std::int64_t a, std::int64_t amount) {
  constexpr std::int64_t kWidest = 62;
  if (a == 0 || amount < 0) return 0;
  return amount > kWidest ? end_of_range(a > 0) : exact_product(a, std::int64_t{1} << amount);
}

}  // namespace

HostValue exact(UnaryOp op, HostValue a) {
  const bool reverses = op == UnaryOp::Neg || (op == UnaryOp::Abs && a.i < 0);
  if (reverses && a.i == end_of_range(false)) return integer(end_of_range(true));
  return integer(integer_unary(op, a.i, Int(64)));
}

HostValue exact(BinaryOp op, HostValue a, HostValue b) {
  std::int64_t result = 0;
  switch (op) {
    case BinaryOp::Add:
      return integer(__builtin_add_overflow(a.i, b.i, &result) ? end_of_range(a.i > 0) : result);
    case BinaryOp::Sub:
      return integer(__builtin_sub_overflow(a.i, b.i, &result) ? end_of_range(a.i > 0) : result);
    case BinaryOp::Mul: return integer(exact_product(a.i, b.i));
    case BinaryOp::Shl: return integer(exact_shift(a.i, b.i));
    default: return integer(integer_binary(op, a.i, b.i, Int(64)));
  }
}

HostValue compare(CompareOp op, HostValue a, HostValue b, Type type) {
  return integer(type.is_float() ? holds(op, a.f, b.f) : fold(op, type, a.i, b.i));
}

HostValue fma(HostValue a, HostValue b, HostValue c, Type type) {
  if (type.bits == 64) return real(std::fma(a.f, b.f, c.f));
  const float single =
      std::fma(static_cast<float>(a.f), static_cast<float>(b.f), static_cast<float>(c.f));
  return real(round_to(static_cast<double>(single), type));
}

HostValue cast(HostValue value, Type from, Type to) {
  if (from.is_float()) {
    if (to.is_float()) return real(round_to(value.f, to));
    if (to.is_bool()) return integer(value.f != 0.0 ? 1 : 0);
    return integer(to_integer(to, value.f));
  }
  if (to.is_bool()) return integer(value.i != 0 ? 1 : 0);
  if (!to.is_float()) return integer(wrap(value.i, to));
  // One rounding from 64 bits to f32; f16 and bf16 are reached through f32.
  const auto of = [&](auto number) {
    if (to.bits == 64) return real(static_cast<double>(number));
    return real(round_to(static_cast<double>(static_cast<float>(number)), to));
  };
  return from.is_uint() ? of(as_unsigned(value.i)) : of(value.i);
}

HostValue reinterpret(HostValue value, Type from, Type to) {
  internal_check(from.bits == to.bits, "reinterpretation between types of different width");
  return unpack_value(pack_value(value, from), to);
}

}  // namespace mica::host_arithmetic

namespace mica {

std::uint64_t pack_value(HostValue value, Type type) {
  if (!type.is_float()) {
    const auto bits = static_cast<std::uint64_t>(value.i);
    return type.bits == 64 ? bits : bits & ((std::uint64_t{1} << type.bits) - 1);
  }
  if (type.bits == 64) return std::bit_cast<std::uint64_t>(value.f);
  const auto single = static_cast<float>(value.f);
  if (type.bits == 32) return std::bit_cast<std::uint32_t>(single);
  return type.code == TypeCode::BFloat ? bfloat16(single).bits : float16(single).bits;
}

std::uint64_t convert_and_pack(HostValue value, Type from, Type to) {
  return pack_value(from == to ? value : host_arithmetic::cast(value, from, to), to);
}

HostValue unpack_value(std::uint64_t bits, Type type) {
  HostValue value{};
  if (!type.is_float()) {
    value.i = host_arithmetic::wrap(static_cast<std::int64_t>(bits), type);
  } else if (type.bits == 64) {
    value.f = std::bit_cast<double>(bits);
  } else if (type.bits == 32) {
    value.f = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  } else if (type.code == TypeCode::BFloat) {
    bfloat16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    value.f = static_cast<float>(half);
  } else {
    float16 half;
    half.bits = static_cast<std::uint16_t>(bits);
    value.f = static_cast<float>(half);
  }
  return value;
}

}  // namespace mica
