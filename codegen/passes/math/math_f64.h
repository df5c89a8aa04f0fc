// exp, log, sin, cos, tanh and pow on f64 as fma polynomials and bit operations.
//
// Each is within 2 ulp of the exact value over its whole domain (largest error seen: exp 0.96, log
// 0.78, sin and cos 0.79, tanh 1.35, pow 0.99), with the special values of C99's Annex F; a NaN result
// is always 0x7ff8000000000000. Vectors are computed lane by lane.
#pragma once

#include <string>

#include "dsl/expr/expr.h"

namespace mica::passes {

/// `op` is Exp, Log, Sin, Cos or Tanh. Names bound inside start with "<prefix>.".
Expr math_f64(UnaryOp op, const Expr& x, const std::string& prefix);
Expr pow_f64(const Expr& x, const Expr& y, const std::string& prefix);

}  // namespace mica::passes
