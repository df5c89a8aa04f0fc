// split_blocks: in kernels whose blocks overlap, the march of blocks that lie inside with all that they
// read is apart from that of the others, and has no tests and no clamps. (Inside and outside are of
// whatever is compared with a coordinate: the domain, an array, a box that the algorithm names.)
//
//   before  for block: march step: t[..] = select(x >= first && .., u[max(min(x, last), first)], ..)
//   after   for block: if 120*block - 8 >= first && ..: march step: t[..] = u[x]
//                      else: march step: as before
//
// The inequalities are those that codegen/analysis/interiors finds, over all threads, lanes and planes
// of a block, and are worked out in 64 bits: threads of a block take the same branch.
//
// Requires: simplify_loops; march loops. Ensures: the same values.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void split_blocks(Program& program);

}  // namespace mica::passes
