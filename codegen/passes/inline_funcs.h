// inline_funcs: decides where each Func is computed and substitutes the inlined ones.
//
//   before  b(x) = u(x - 1) + u(x)       f(x) = b(x) * b(x + 1)        b compute_inline
//   after   f(x) = (u(x - 1) + u(x)) * (u(x) + u(x + 1))
//
// A Func is inlined if its schedule says so, or says nothing and the Func is neither an output, nor
// updated, nor staged. Requires: rounding is fixed (make_pipeline), so that inlining changes no bit.
// Ensures: `placement` has every Func that is left, none of them inline; no Access names another.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void inline_funcs(Program& program);
/// The second half: substitutes the Funcs whose placement is Inline and drops them.
void substitute_inlined(Program& program);

}  // namespace mica::passes
