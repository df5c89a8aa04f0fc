// Where the loops of a Func begin that is computed inside of others, and how many points they have,
// written out where it is simple. A part of split_interiors.
//
//   before  for xo in [0, n): let g.low = xo*64
//             for x in [0, 64): g[g.low + x] = u[max(g.low + x - 1, u.min)]
//   after   for xo in [0, n): for x in [0, 64): g[xo*64 + x] = u[max(xo*64 + x - 1, u.min)]
//
// So it is seen which iterations of the loops around, as those over tiles, are inside.
#pragma once

#include "codegen/ir/stmt.h"

namespace mica::passes {

/// Without the LetStmts around loops of sums of names and constants that have at most one min or max.
ir::Stmt spread_ends(const ir::Stmt& s);

}  // namespace mica::passes
