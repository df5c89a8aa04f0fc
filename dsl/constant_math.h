// Exact integer arithmetic of constants, as compiled code computes it.
#pragma once

#include <cstdint>
#include <optional>

#include "dsl/expr.h"

namespace mica {

/// How the integer arithmetic of an expression is meant.
enum class Integers : std::uint8_t {
  Wrap,   ///< each operation wraps to its type, as code computes it
  Exact,  ///< unbounded integers: coordinates, and the bounds made of them
};

/// a / b rounded toward minus infinity; 0 when b is 0. The lowest value by -1 wraps to itself.
std::int64_t floor_div(std::int64_t a, std::int64_t b);
/// a - b*floor_div(a, b): has b's sign; 0 when b is 0.
std::int64_t floor_mod(std::int64_t a, std::int64_t b);

/// `a op b` on values of the integer or bool `type`, wrapped to it. Empty for Pow, for shifts by an
/// amount outside [0, bits), for And and Or on integers and arithmetic on bools.
std::optional<std::int64_t> fold(BinaryOp op, Type type, std::int64_t a, std::int64_t b);
/// `a op b` on integers or bools.
bool fold(CompareOp op, std::int64_t a, std::int64_t b);

}  // namespace mica
