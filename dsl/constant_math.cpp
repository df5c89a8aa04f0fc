#include "dsl/constant_math.h"

#include <algorithm>

namespace mica {
namespace {

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
    case BinaryOp::Div: return floor_div(a, b);
    case BinaryOp::Mod: return floor_mod(a, b);
    case BinaryOp::Min: return std::min(a, b);
    case BinaryOp::Max: return std::max(a, b);
    case BinaryOp::BitAnd: return a & b;
    case BinaryOp::BitOr: return a | b;
    case BinaryOp::BitXor: return a ^ b;
    case BinaryOp::Shl:
      if (!in_shift_range) return std::nullopt;
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << b);
    case BinaryOp::Shr:
      if (!in_shift_range) return std::nullopt;
      return a >> b;  // unsigned values are held zero-extended
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

bool fold(CompareOp op, std::int64_t a, std::int64_t b) {
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

}  // namespace mica
