// The meaning of every scalar operation of dsl/expr/expr.h, written for clarity and shared with no
// compiler code: tests compare what compiled code returns with this, bit by bit.
#pragma once

#include <cstdint>

#include "dsl/expr/expr.h"

namespace mica::test {

/// One scalar. Integers and bool live in `i`, sign- or zero-extended from their width (a u64 of 2^63 or
/// more is negative there); f16, bf16
/// and f32 live in `f`, as a value that the type can hold; f64 lives in `d`.
union Value {
  std::int64_t i = 0;
  float f;
  double d;
};

/// `value` reduced to the width of the integer or bool `type` and extended back.
std::int64_t wrap(Type type, std::int64_t value);
/// The nearest value of the f16, bf16 or f32 `type`, ties to even.
float round_to(Type type, float value);

Value integer_value(Type type, std::int64_t value);
Value float_value(Type type, double value);  ///< rounded to `type`, through f32 for 16-bit types

Value apply_unary(UnaryOp op, Type type, Value a);
Value apply_binary(BinaryOp op, Type type, Value a, Value b);
/// `type` is the operands'; the result is a bool.
Value apply_compare(CompareOp op, Type type, Value a, Value b);
Value apply_fma(Type type, Value a, Value b, Value c);
Value apply_cast(Type from, Type to, Value value);

/// An element in memory as a Value and back. `from` and `to` need no alignment.
Value load_value(Type type, const void* from);
void store_value(Type type, void* to, Value value);

}  // namespace mica::test
