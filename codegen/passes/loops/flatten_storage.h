// flatten_storage: logical coordinates become element offsets.
//
//   before  u[x - 1, y]         u a parameter               f.s[x, y]     s allocated at mins mx, my
//   after   u[x + y*u.stride.1 - 1]                         f.s[x - mx + (y - my)*34]
//
// A parameter's pointer stands at the parameter's origin (analysis/array_origins.h), in a kernel of a
// GPU most often the mins of the box that is computed, so that its indices hold no mins; on the host at
// logical index 0 in every dimension.
// Offsets have the rows of the whole block first, which a GPU works out once a warp (in kernels without
// loops), then the rest of the variable part, then multiples of strides, then the constant, so that taps
// share all but the end. With 64-bit offsets every variable is widened before it is multiplied.
// Requires: build_loop_nest, simplify. Ensures: one index a Load or Store (i32, or i64 for parameters
// when the variant asks); `logical` keeps the coordinates for targets that check accesses, those of
// Allocates relative to their mins; Allocates have strides.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void flatten_storage(Program& program);

}  // namespace mica::passes
