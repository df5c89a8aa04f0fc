// build_loop_nest: the scheduled loops of every root Func, with the Funcs computed inside them.
//
//   before  f(x) = b(x - 1) + b(x + 1);  b.compute_at(f, "xo");  f.split(x, "xo", "xi", 32)
//   after   for f.xo in [0, (f.extent.0 + 31)/32):
//             allocate b[34] at f.min.0 + f.xo*32 - 1
//               produce b: for b.x ... b[..] = ...        clipped to what the pipeline needs of b
//               for f.xi in [0, min(32, f.extent.0 - f.xo*32)): f[..] = b[..] + b[..]
//
// A Func inside a loop is computed over the constant box that one iteration of the loop reads;
// where that box sticks out of the box the whole pipeline needs (a tile at the domain's edge), loops
// on the host are clipped, loops over GPU threads are guarded. So no point outside is computed or
// loaded. A vector loop that may stick out gets a scalar twin for its last iterations.
//
// Requires: infer_bounds. Ensures: loops of all kinds; Loads and Stores in logical coordinates; no
// Access is left; every array is a parameter or inside its Allocate; one nest per definition of a
// root Func, in order. Errors: a box inside a block whose size is not constant.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void build_loop_nest(Program& program);

}  // namespace mica::passes
