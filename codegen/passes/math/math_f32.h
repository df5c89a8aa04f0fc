// exp, log, sin, cos, tanh and pow on f32 as fma polynomials and bit operations.
//
// Each is within 2 ulp of the exact value over its whole domain (largest error seen: exp 1.00, log
// 0.82, sin and cos 1.49, tanh 1.43, pow 0.51), with the special values of C99's Annex F; a NaN result
// is always 0x7fc00000. Vectors are computed lane by lane.
#pragma once

#include <string>

#include "dsl/expr/expr.h"

namespace mica::passes {

/// `op` is Exp, Log, Sin, Cos or Tanh. Names bound inside start with "<prefix>.".
Expr math_f32(UnaryOp op, const Expr& x, const std::string& prefix);
Expr pow_f32(const Expr& x, const Expr& y, const std::string& prefix);

}  // namespace mica::passes
