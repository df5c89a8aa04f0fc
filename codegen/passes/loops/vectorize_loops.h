// vectorize_loops: iterations of a Vectorized loop become lanes.
//
//   before  vectorized x in [0, 4): f[b + x] = u[a + x]*c
//   after   f[ramp(b, 1, 4)] = u[ramp(a, 1, 4)]*x4(c)
//
// What cannot be done in lanes (a condition or a loop bound that depends on the lane, a store that
// does not, memory of each lane's own) is written out lane by lane.
// Requires: flatten_storage; constant extents. Ensures: no Vectorized loop is left; operands of a node
// agree in lanes; a Ramp's base and stride are scalars.
#pragma once

#include "codegen/ir/stmt.h"

namespace mica::passes {

ir::Stmt vectorize_loops(const ir::Stmt& stmt);

}  // namespace mica::passes
