// split_host_device: each nest becomes a kernel with parameters, and a launch in the plan.
//
//   before  a nest with free symbols u.stride.1, c0 and arrays u, f
//   after   kernel f(u*, f*, u.stride.1, c0) and the launch that passes them, with its grid
//
// Requires: all other passes. Ensures: every free variable of a kernel's body is a parameter or an
// axis; pointers come first, in order of first use, then scalars. The arrays in Nest::textures become
// textures, each with its origin after it; UserError for one that cannot be.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void split_host_device(Program& program);

}  // namespace mica::passes
