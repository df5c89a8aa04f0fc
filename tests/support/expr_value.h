// Evaluates lowered expressions bit by bit, for tests of passes that run without a back end.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dsl/expr/expr.h"

namespace mica::test {

/// The low `type.bits` bits of a scalar; the others are 0.
struct ExprValue {
  Type type;
  std::uint64_t bits = 0;
  friend bool operator==(const ExprValue&, const ExprValue&) = default;
};
ExprValue value_of(float x);
ExprValue value_of(double x);
ExprValue value_of(std::int32_t x);
float as_float(const ExprValue& v);
double as_double(const ExprValue& v);

/// The value of lane `lane` of `e`, whose free variables have the values of `variables` (in every
/// lane). Knows scalars of i32, i64, u32, u64, bool, f16, bf16, f32 and f64 in every operation that is
/// left after expand_math; InternalError on other nodes (loads, integer division, ...).
ExprValue evaluate(const Expr& e, const std::map<std::string, ExprValue>& variables, int lane = 0);

}  // namespace mica::test
