#include "fuzz/oracle_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "fuzz/reference_math.h"

namespace mica::test {
namespace {

std::uint64_t low_bits(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

std::int64_t smallest(Type type) {
  return type.is_int() ? -static_cast<std::int64_t>(low_bits(type.bits - 1)) - 1 : 0;
}
std::int64_t largest(Type type) {
  return static_cast<std::int64_t>(low_bits(type.is_int() ? type.bits - 1 : type.bits));
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  const std::int64_t q = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? q - 1 : q;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t r = a % b;
  return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

std::int64_t integer_binary(BinaryOp op, Type type, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  // Widths of integers are powers of two, so that this is the amount modulo the width.
  const int shift = static_cast<int>(ub & static_cast<std::uint64_t>(type.bits - 1));
  switch (op) {
    case BinaryOp::Add: return static_cast<std::int64_t>(ua + ub);
    case BinaryOp::Sub: return static_cast<std::int64_t>(ua - ub);
    case BinaryOp::Mul: return static_cast<std::int64_t>(ua * ub);
    case BinaryOp::Div:
      if (type.is_uint()) return ub == 0 ? 0 : static_cast<std::int64_t>(ua / ub);
      return floor_div(a, b);
    case BinaryOp::Mod:
      if (type.is_uint()) return ub == 0 ? 0 : static_cast<std::int64_t>(ua % ub);
      return floor_mod(a, b);
    case BinaryOp::Min:
      if (type.is_uint()) return ua < ub ? a : b;
      return a < b ? a : b;
    case BinaryOp::Max:
      if (type.is_uint()) return ua < ub ? b : a;
      return a < b ? b : a;
    case BinaryOp::And: return (a != 0 && b != 0) ? 1 : 0;
    case BinaryOp::Or: return (a != 0 || b != 0) ? 1 : 0;
    case BinaryOp::BitAnd: return static_cast<std::int64_t>(ua & ub);
    case BinaryOp::BitOr: return static_cast<std::int64_t>(ua | ub);
    case BinaryOp::BitXor: return static_cast<std::int64_t>(ua ^ ub);
    case BinaryOp::Shl: return static_cast<std::int64_t>(ua << shift);
    case BinaryOp::Shr: return type.is_uint() ? static_cast<std::int64_t>(ua >> shift) : a >> shift;
    case BinaryOp::Pow:
    case BinaryOp::Atan2:
    case BinaryOp::Fmod: break;
  }
  throw InternalError("the oracle met a math function of integers");
}

/// IEEE 754-2019 minimum and maximum.
template <typename F>
F minimum(F a, F b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <typename F>
F maximum(F a, F b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<F>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a < b ? b : a;
}

template <typename F>
F float_binary(BinaryOp op, F a, F b) {
  switch (op) {
    case BinaryOp::Add: return a + b;
    case BinaryOp::Sub: return a - b;
    case BinaryOp::Mul: return a * b;
    case BinaryOp::Div: return a / b;
    case BinaryOp::Min: return minimum(a, b);
    case BinaryOp::Max: return maximum(a, b);
    case BinaryOp::Pow: return reference_pow(a, b);
    case BinaryOp::Atan2: return reference_atan2(a, b);
    case BinaryOp::Fmod: return reference_fmod(a, b);
    case BinaryOp::Mod:
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
    case BinaryOp::Shl:
    case BinaryOp::Shr: break;
  }
  throw InternalError("the oracle met an integer operation on floats");
}

template <typename F>
F float_unary(UnaryOp op, F a) {
  switch (op) {
    case UnaryOp::Neg: return -a;
    case UnaryOp::Abs: return std::fabs(a);
    case UnaryOp::Sqrt: return std::sqrt(a);
    case UnaryOp::Floor: return std::floor(a);
    case UnaryOp::Ceil: return std::ceil(a);
    case UnaryOp::Round: return std::nearbyint(a);
    case UnaryOp::Exp: return reference_exp(a);
    case UnaryOp::Log: return reference_log(a);
    case UnaryOp::Sin: return reference_sin(a);
    case UnaryOp::Cos: return reference_cos(a);
    case UnaryOp::Tanh: return reference_tanh(a);
    case UnaryOp::Not:
    case UnaryOp::BitNot: break;
  }
  throw InternalError("the oracle met an integer operation on a float");
}

std::int64_t integer_unary(UnaryOp op, Type type, std::int64_t a) {
  const auto ua = static_cast<std::uint64_t>(a);
  switch (op) {
    case UnaryOp::Neg: return static_cast<std::int64_t>(0 - ua);
    case UnaryOp::Abs: return a < 0 && !type.is_uint() ? static_cast<std::int64_t>(0 - ua) : a;
    case UnaryOp::Not: return a == 0 ? 1 : 0;
    case UnaryOp::BitNot: return static_cast<std::int64_t>(~ua);
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
  throw InternalError("the oracle met a float function of an integer");
}

template <typename T>
bool compare_values(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::Eq: return a == b;
    case CompareOp::Ne: return a != b;
    case CompareOp::Lt: return a < b;
    case CompareOp::Le: return a <= b;
    case CompareOp::Gt: return a > b;
    case CompareOp::Ge: return a >= b;
  }
  throw InternalError("the oracle met an unknown comparison");
}

bool is_f64(Type type) { return type.is_float() && type.bits == 64; }

Value of_float(float v) {
  Value r;
  r.f = v;
  return r;
}
Value of_double(double v) {
  Value r;
  r.d = v;
  return r;
}
Value of_int(std::int64_t v) {
  Value r;
  r.i = v;
  return r;
}

/// Toward zero, kept within the range of `type`; NaN gives 0.
std::int64_t saturate(Type type, double value) {
  if (std::isnan(value)) return 0;
  if (type.is_uint()) {
    if (value <= 0) return 0;
    if (value >= std::ldexp(1.0, type.bits)) return largest(type);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
  }
  // Doubles next to the limits of i64 are far apart: comparing after conversion to double is exact.
  if (value <= static_cast<double>(smallest(type))) return smallest(type);
  if (value >= static_cast<double>(largest(type))) return largest(type);
  return static_cast<std::int64_t>(value);
}

/// Nearest number with `fraction` bits after the leading one, exponents from `min_exponent` up and
/// magnitudes up to `limit`; beyond it infinity. Scaling by powers of two is exact in double.
float round_to_format(float value, int fraction, int min_exponent, double limit) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const double unit = std::ldexp(1.0, exponent - fraction);
  const double rounded = std::nearbyint(static_cast<double>(value) / unit) * unit;
  if (std::fabs(rounded) > limit) {
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  }
  return static_cast<float>(rounded);
}

std::uint16_t encode_half(float value) {
  if (std::isnan(value)) return 0x7e00;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float a = std::fabs(value);
  if (std::isinf(a)) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (a < 0x1p-14F) return static_cast<std::uint16_t>(sign | static_cast<int>(a * 0x1p24F));
  const int exponent = std::ilogb(a);
  const int fraction = static_cast<int>(std::ldexp(a, 10 - exponent)) - 1024;
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | fraction);
}

float decode_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

template <typename T>
T read(const void* from) {
  T v;
  std::memcpy(&v, from, sizeof(T));
  return v;
}

}  // namespace

std::int64_t wrap(Type type, std::int64_t value) {
  const auto low = static_cast<std::uint64_t>(value) & low_bits(type.bits);
  if (type.is_int() && ((low >> (type.bits - 1)) & 1) != 0) {
    return static_cast<std::int64_t>(low | ~low_bits(type.bits));
  }
  return static_cast<std::int64_t>(low);
}

float round_to(Type type, float value) {
  if (type.code == TypeCode::BFloat) {
    return round_to_format(value, 7, -126, std::ldexp(255.0, 120));
  }
  if (type.bits == 16) return round_to_format(value, 10, -14, 65504.0);
  return value;
}

Value integer_value(Type type, std::int64_t value) { return of_int(wrap(type, value)); }

Value float_value(Type type, double value) {
  return is_f64(type) ? of_double(value) : of_float(round_to(type, static_cast<float>(value)));
}

Value apply_unary(UnaryOp op, Type type, Value a) {
  if (is_f64(type)) return of_double(float_unary(op, a.d));
  if (type.is_float()) return of_float(round_to(type, float_unary(op, a.f)));
  return integer_value(type, integer_unary(op, type, a.i));
}

Value apply_binary(BinaryOp op, Type type, Value a, Value b) {
  if (is_f64(type)) return of_double(float_binary(op, a.d, b.d));
  if (type.is_float()) return of_float(round_to(type, float_binary(op, a.f, b.f)));
  return integer_value(type, integer_binary(op, type, a.i, b.i));
}

Value apply_compare(CompareOp op, Type type, Value a, Value b) {
  if (is_f64(type)) return of_int(compare_values(op, a.d, b.d) ? 1 : 0);
  if (type.is_float()) return of_int(compare_values(op, a.f, b.f) ? 1 : 0);
  if (type.is_uint()) {
    const auto ua = static_cast<std::uint64_t>(a.i), ub = static_cast<std::uint64_t>(b.i);
    return of_int(compare_values(op, ua, ub) ? 1 : 0);
  }
  return of_int(compare_values(op, a.i, b.i) ? 1 : 0);
}

Value apply_fma(Type type, Value a, Value b, Value c) {
  if (is_f64(type)) return of_double(std::fma(a.d, b.d, c.d));
  return of_float(round_to(type, std::fma(a.f, b.f, c.f)));
}

Value apply_cast(Type from, Type to, Value value) {
  if (from.is_float()) {
    if (to.is_float()) {
      if (is_f64(to)) return of_double(is_f64(from) ? value.d : static_cast<double>(value.f));
      const float narrow = is_f64(from) ? static_cast<float>(value.d) : value.f;
      return of_float(round_to(to, narrow));
    }
    const double wide = is_f64(from) ? value.d : static_cast<double>(value.f);
    if (to.is_bool()) return of_int(wide != 0 ? 1 : 0);
    return of_int(saturate(to, wide));
  }
  if (to.is_float() && from.is_uint()) {
    const auto natural = static_cast<std::uint64_t>(value.i);
    if (is_f64(to)) return of_double(static_cast<double>(natural));
    return of_float(round_to(to, static_cast<float>(natural)));
  }
  if (is_f64(to)) return of_double(static_cast<double>(value.i));
  if (to.is_float()) return of_float(round_to(to, static_cast<float>(value.i)));
  if (to.is_bool()) return of_int(value.i != 0 ? 1 : 0);
  return integer_value(to, value.i);
}

Value load_value(Type type, const void* from) {
  switch (type.code) {
    case TypeCode::Bool: return of_int(read<std::uint8_t>(from) != 0 ? 1 : 0);
    case TypeCode::Int:
      switch (type.bits) {
        case 8: return of_int(read<std::int8_t>(from));
        case 16: return of_int(read<std::int16_t>(from));
        case 32: return of_int(read<std::int32_t>(from));
        case 64: return of_int(read<std::int64_t>(from));
        default: break;
      }
      break;
    case TypeCode::UInt:
      switch (type.bits) {
        case 8: return of_int(read<std::uint8_t>(from));
        case 16: return of_int(read<std::uint16_t>(from));
        case 32: return of_int(read<std::uint32_t>(from));
        case 64: return of_int(read<std::int64_t>(from));
        default: break;
      }
      break;
    case TypeCode::BFloat: {
      const std::uint32_t bits = std::uint32_t{read<std::uint16_t>(from)} << 16;
      return of_float(read<float>(&bits));
    }
    case TypeCode::Float:
      switch (type.bits) {
        case 16: return of_float(decode_half(read<std::uint16_t>(from)));
        case 32: return of_float(read<float>(from));
        case 64: return of_double(read<double>(from));
        default: break;
      }
      break;
  }
  throw InternalError("the oracle cannot load " + to_string(type));
}

void store_value(Type type, void* to, Value value) {
  if (is_f64(type)) {
    std::memcpy(to, &value.d, 8);
  } else if (type.code == TypeCode::BFloat) {
    const std::uint32_t bits = std::isnan(value.f) ? 0x7fc00000U : read<std::uint32_t>(&value.f);
    const auto upper = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(to, &upper, 2);
  } else if (type.is_half()) {
    const std::uint16_t bits = encode_half(value.f);
    std::memcpy(to, &bits, 2);
  } else if (type.is_float()) {
    std::memcpy(to, &value.f, 4);
  } else {
    // Two's complement: the low bytes are the narrow integer (x86-64 and AArch64 are little-endian).
    std::memcpy(to, &value.i, static_cast<std::size_t>(type.bytes()));
  }
}

}  // namespace mica::test
