// Fixes the order and rounding of floating-point sums before any schedule is applied, so that every
// schedule on every target returns the same bits. NaNs are equal to each other: payload and sign of a
// NaN are not part of the promise.
#pragma once

#include <functional>
#include <string>

#include "dsl/func/function.h"

namespace mica {

/// Rewrites the float sums of `value`, a definition of a Func whose slowest dimension is `slowest`:
///
///  - a maximal tree of + and - is flattened into terms; a uniform factor, made of constants and Params
///    alone, is distributed over a sum it multiplies (integers are left alone, and `strict(e)` keeps e);
///    a sum or product that several operations of `value` use (one Expr, used twice) is computed once:
///    it is fixed on its own, and what uses it is not opened through it;
///  - terms are ordered by the largest offset in `slowest` of their taps (a march along that
///    dimension completes them in this order; a term without such a tap comes first), then as
///    written;
///  - the chain is evaluated from the left: a product term becomes fma(a, b, chain), a subtracted
///    product fma(-a, b, chain), another term a plain + or -; the first term opens the chain.
///
/// Before  c0*u(z) + c1*(u(z-1) + u(z+1))
/// After   fma(c1, u(z+1), fma(c0, u(z), c1*u(z-1)))          -- ties keep the written order
///
/// In a product term a*b, a is the product of the uniform factors as written (outer ones first), or the
/// first factor when none or all are uniform; b is the product of the others from the left. The offset
/// of an access argument (a*z + c)/b in z is c/a; min, max and clamp against something without z do not
/// count, and any other use of z, as well as an update's own old value, gives no offset. A division
/// stays a division, of the fixed sum if it divides one. `fma` calls the user wrote are terms of their
/// own and are not taken apart; their operands are fixed. Sums inside other operations are fixed on
/// their own. Fixing a fixed expression changes nothing.
///
/// ParamRefs are uniform, and so are the VarRefs that `is_param` (if given) says are Params.
Expr fix_rounding(const Expr& value, const std::string& slowest,
                  const std::function<bool(const std::string&)>& is_param = {});

}  // namespace mica
