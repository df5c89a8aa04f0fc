// unroll_loops: writes out the iterations of Unrolled loops.
//
//   before  unrolled y in [0, 2): f[y] = g[y]          after  f[0] = g[0];  f[1] = g[1]
//
// Requires constant extents (UserError otherwise). Ensures no Unrolled loop is left.
#pragma once

#include "codegen/ir/stmt.h"

namespace mica::passes {

ir::Stmt unroll_loops(const ir::Stmt& stmt);

}  // namespace mica::passes
