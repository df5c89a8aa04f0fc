// expand_math: math functions become fma polynomials and bit operations.
//
//   before  exp(u(x)) * 2.0f
//   after   (let exp.0.x = u(x) in let exp.0.t = fma(exp.0.x, ..) in .. select(..)) * 2.0f
//
// Rewrites Exp, Log, Sin, Cos, Tanh, Pow, Atan2 and Fmod on f32 and f64, scalar or vector. Since every
// target then evaluates the same roundings, they return the same bits everywhere. Sqrt, Floor, Ceil,
// Round and Abs are left: targets have exact instructions for them.
//
// Requires: legalize_half (no math function on f16 or bf16). Ensures: none of these is left. Bound
// names are "<function>.<n>.<part>", n the number of math functions nested in the arguments.
#pragma once

#include "codegen/ir/stmt.h"

namespace mica::passes {

Expr expand_math(const Expr& e);
/// In every expression of `s`.
ir::Stmt expand_math(const ir::Stmt& s);

}  // namespace mica::passes
