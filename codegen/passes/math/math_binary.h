// atan2 and fmod on f32 and f64 as fma polynomials and integers.
//
// atan2 is within 2 ulp of the exact value (largest error seen: f64 1.41), fmod is exact,
// both with the special values of C99's Annex F; a NaN result is always 0x7fc00000 or
// 0x7ff8000000000000. Vectors are computed lane by lane.
#pragma once

#include <string>

#include "dsl/expr/expr.h"

namespace mica::passes {

/// `y` and `x` have one type, f32 or f64. Names bound inside start with "<prefix>.".
Expr expand_atan2(const Expr& y, const Expr& x, const std::string& prefix);
Expr expand_fmod(const Expr& a, const Expr& b, const std::string& prefix);

}  // namespace mica::passes
