// inline_funcs: substitutes the Funcs whose placement is Inline and drops them.
//
//   before  b(x) = u(x - 1) + u(x)       f(x) = b(x) * b(x + 1)        b is inline
//   after   f(x) = (u(x - 1) + u(x)) * (u(x) + u(x + 1))
//
// Requires: place_funcs. Ensures: `placement` has every Func that is left, none of them inline; no
// Access names another.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void inline_funcs(Program& program);

}  // namespace mica::passes
