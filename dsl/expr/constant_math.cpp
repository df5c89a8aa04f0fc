#include "dsl/expr/constant_math.h"

#include <cmath>
#include <utility>

namespace mica {
namespace {

std::uint64_t bits_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Values of unsigned types are zero-extended, so that one comparison serves all widths.
bool is_less(Type type, std::int64_t a, std::int64_t b) {
  return type.is_uint() ? bits_of(a) < bits_of(b) : a < b;
}

std::int64_t quotient(Type type, std::int64_t a, std::int64_t b) {
  if (!type.is_uint()) return floor_div(a, b);
  return b == 0 ? 0 : static_cast<std::int64_t>(bits_of(a) / bits_of(b));
}

std::int64_t remainder(Type type, std::int64_t a, std::int64_t b) {
  if (!type.is_uint()) return floor_mod(a, b);
  return b == 0 ? 0 : static_cast<std::int64_t>(bits_of(a) % bits_of(b));
}

// Two's complement arithmetic without the undefined overflow of signed integers.
std::int64_t wrapping(BinaryOp op, std::int64_t a, std::int64_t b) {
  const auto left = static_cast<std::uint64_t>(a);
  const auto right = static_cast<std::uint64_t>(b);
  const std::uint64_t result = op == BinaryOp::Add   ? left + right
                               : op == BinaryOp::Sub ? left - right
                                                     : left * right;
  return static_cast<std::int64_t>(result);
}

std::optional<std::int64_t> fold_wide(BinaryOp op, Type type, std::int64_t a, std::int64_t b) {
  const bool in_shift_range = b >= 0 && b < type.bits;
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul: return wrapping(op, a, b);
    case BinaryOp::Div: return quotient(type, a, b);
    case BinaryOp::Mod: return remainder(type, a, b);
    case BinaryOp::Min: return is_less(type, b, a) ? b : a;
    case BinaryOp::Max: return is_less(type, a, b) ? b : a;
    case BinaryOp::BitAnd: return a & b;
    case BinaryOp::BitOr: return a | b;
    case BinaryOp::BitXor: return a ^ b;
    case BinaryOp::Shl:
      if (!in_shift_range) return std::nullopt;
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
    case BinaryOp::Shr:
      if (!in_shift_range) return std::nullopt;
      return type.is_uint() ? static_cast<std::int64_t>(bits_of(a) >> b) : a >> b;
    case BinaryOp::Pow:
    case BinaryOp::Atan2:
    case BinaryOp::Fmod:
    case BinaryOp::And:
    case BinaryOp::Or: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapping(BinaryOp::Sub, 0, a);
  const std::int64_t quotient = a / b;
  return quotient - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return 0;
  const std::int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

std::optional<std::int64_t> fold(BinaryOp op, Type type, std::int64_t a, std::int64_t b) {
  if (type.is_bool()) {
    if (op == BinaryOp::And) return a != 0 && b != 0 ? 1 : 0;
    if (op == BinaryOp::Or) return a != 0 || b != 0 ? 1 : 0;
    return std::nullopt;
  }
  const std::optional<std::int64_t> wide = fold_wide(op, type, a, b);
  return wide ? std::optional(wrap_to_type(type, *wide)) : std::nullopt;
}

bool fold(CompareOp op, Type type, std::int64_t a, std::int64_t b) {
  switch (op) {
    case CompareOp::Eq: return a == b;
    case CompareOp::Ne: return a != b;
    case CompareOp::Lt: return is_less(type, a, b);
    case CompareOp::Le: return !is_less(type, b, a);
    case CompareOp::Gt: return is_less(type, b, a);
    case CompareOp::Ge: return !is_less(type, a, b);
  }
  return false;
}

std::int64_t lowest_of(Type type) {
  internal_check(type.is_integer(), "lowest_of needs an integer type");
  return type.is_uint() ? 0 : -highest_of(type) - 1;
}

std::int64_t highest_of(Type type) {
  internal_check(type.is_integer(), "highest_of needs an integer type");
  const int digits = type.is_uint() ? type.bits : type.bits - 1;
  return static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - digits));
}

bool has_value(Type type, Type of, std::int64_t value) {
  if (wrap_to_type(type, value) != value) return false;
  // The same 64 bits are another number in u64 than in a signed type.
  return value >= 0 || (type == UInt(64)) == (of == UInt(64));
}

std::int64_t to_integer(Type type, double value) {
  if (std::isnan(value)) return 0;
  const double whole = std::trunc(value);
  const double above = std::ldexp(1.0, type.is_uint() ? type.bits : type.bits - 1);
  if (whole >= above) return highest_of(type);
  if (whole <= (type.is_uint() ? 0.0 : -above)) return lowest_of(type);
  return type.is_uint() ? static_cast<std::int64_t>(static_cast<std::uint64_t>(whole))
                        : static_cast<std::int64_t>(whole);
}

std::string integer_text(Type type, std::int64_t value) {
  if (type.is_bool()) return value != 0 ? "true" : "false";
  return type.is_uint() ? std::to_string(bits_of(value)) : std::to_string(value);
}

}  // namespace mica
