// Exact integer arithmetic of constants, as compiled code computes it.
//
// A value of an integer or bool type is held in 64 bits, sign- or zero-extended (wrap_to_type): those of
// u64 from 2^63 on are negative numbers here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dsl/expr/expr.h"

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
/// `a op b` on values of the integer or bool `type`.
bool fold(CompareOp op, Type type, std::int64_t a, std::int64_t b);

/// The least and the greatest value of an integer type.
std::int64_t lowest_of(Type type);
std::int64_t highest_of(Type type);
/// Does the integer or bool type `type` have the number that `value` is in the integer type `of`?
bool has_value(Type type, Type of, std::int64_t value);
/// What a conversion of the number to an integer type gives: truncated, at the nearest end of the type
/// where it lies outside, 0 for NaN.
std::int64_t to_integer(Type type, double value);
/// "18446744073709551615", "-1", "true".
std::string integer_text(Type type, std::int64_t value);

}  // namespace mica
