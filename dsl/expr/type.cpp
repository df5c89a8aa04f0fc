#include "dsl/expr/type.h"

#include <algorithm>
#include <array>
#include <bit>

#include "dsl/expr/diagnostics.h"
#include "dsl/expr/float_mode.h"

namespace mica {
namespace {

constexpr std::array kUserTypes = {Bool(),   UInt(8), Int(8),    UInt(16), Int(16),   UInt(32), Int(32),
                                   UInt(64), Int(64), Float(16), BFloat(), Float(32), Float(64)};

constexpr std::uint32_t kF32Infinity = 0x7f800000u;

std::uint16_t half_from_f32(std::uint32_t f) {
  const auto sign = static_cast<std::uint16_t>((f >> 16) & 0x8000u);
  const std::uint32_t magnitude = f & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > kF32Infinity) {
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);  // a quiet NaN with the payload's upper bits
  } else if (magnitude >= 0x477ff000u) {
    half = 0x7c00u;  // 65520, half way between the largest f16 and 2^16, and above
  } else if (magnitude >= 0x38800000u) {
    const std::uint32_t rebiased = magnitude - 0x38000000u;  // exponent bias 127 -> 15
    half = (rebiased + 0xfffu + ((rebiased >> 13) & 1u)) >> 13;
  } else {
    // Below 2^-14: count units of 2^-24. The value is mantissa * 2^(exponent - 150).
    const std::uint32_t exponent = magnitude >> 23;
    const std::uint32_t shift = 126u - exponent;
    if (shift <= 24u) {
      const std::uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
      const std::uint32_t units = mantissa >> shift;
      const std::uint32_t rest = mantissa & ((1u << shift) - 1u);
      const std::uint32_t tie = 1u << (shift - 1u);
      half = units + (rest > tie || (rest == tie && (units & 1u) != 0u) ? 1u : 0u);
    }
  }
  return static_cast<std::uint16_t>(sign | half);
}

std::uint32_t f32_from_half(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fu;
  const std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 0x1fu) return sign | kF32Infinity | (mantissa << 13);
  if (exponent != 0) return sign | ((exponent + 112u) << 23) | (mantissa << 13);
  if (mantissa == 0) return sign;
  // mantissa * 2^-24: move its leading bit to the implicit place.
  const int top = 31 - std::countl_zero(mantissa);
  return sign | (static_cast<std::uint32_t>(top + 103) << 23) | ((mantissa << (23 - top)) & 0x7fffffu);
}

}  // namespace

float16::float16(float value) : bits(half_from_f32(std::bit_cast<std::uint32_t>(value))) {}
float16::operator float() const { return std::bit_cast<float>(f32_from_half(bits)); }

bfloat16::bfloat16(float value) {
  const auto f = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (f & 0x7fffffffu) > kF32Infinity;
  bits = static_cast<std::uint16_t>(is_nan ? (f >> 16) | 0x40u : (f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
}
bfloat16::operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::string to_string(Type type) {
  std::string text;
  switch (type.code) {
    case TypeCode::Bool: text = "bool"; break;
    case TypeCode::Int: text = "i" + std::to_string(type.bits); break;
    case TypeCode::UInt: text = "u" + std::to_string(type.bits); break;
    case TypeCode::Float: text = "f" + std::to_string(type.bits); break;
    case TypeCode::BFloat: text = "bf" + std::to_string(type.bits); break;
  }
  if (type.lanes != 1) text += "x" + std::to_string(type.lanes);
  return text;
}

Type type_from_string(std::string_view text) {
  for (const Type type : kUserTypes) {
    if (to_string(type) == text) return type;
  }
  throw UserError("'" + std::string(text) + "' is no type; the types are " + user_types());
}

std::string user_types() {
  std::string all;
  for (const Type type : kUserTypes) {
    const bool last = type == kUserTypes.back();
    all += (all.empty() ? "" : last ? " and " : ", ") + to_string(type);
  }
  return all;
}

int widest_bytes(const std::vector<Type>& types) {
  int widest = 1;
  for (const Type type : types) widest = std::max(widest, type.bytes());
  return widest;
}

bool is_user_type(Type type) {
  for (const Type user : kUserTypes) {
    if (user == type) return true;
  }
  return false;
}

std::int64_t wrap_to_type(Type type, std::int64_t value) {
  internal_check(!type.is_float(), "wrap_to_type needs an integer type");
  if (type.is_bool()) return value != 0 ? 1 : 0;
  if (type.bits >= 64) return value;
  const int unused = 64 - type.bits;
  const auto raised = static_cast<std::uint64_t>(value) << unused;
  return type.is_uint() ? static_cast<std::int64_t>(raised >> unused)
                        : static_cast<std::int64_t>(raised) >> unused;
}

double round_to_type(Type type, double value) {
  internal_check(type.is_float(), "round_to_type needs a float type");
  if (type.bits == 64) return value;
  const float single = to_f32(value);
  if (type.bits == 32) return to_f64(single);
  return to_f64(type.code == TypeCode::BFloat ? static_cast<float>(bfloat16(single))
                                              : static_cast<float>(float16(single)));
}

}  // namespace mica
