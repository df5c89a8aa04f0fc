// split_blocks: in kernels whose blocks overlap, the march of blocks that lie inside with all that they
// read is apart from that of the others, and has no tests and no clamps. (Inside and outside are of
// whatever is compared with a coordinate: the domain, an array, a box that the algorithm names.) Of two
// dimensions, blocks that lie inside along one have marches of their own, too, with the tests of the
// other alone: in those of short code, as each march is another copy.
//
//   before  for block: march step: t[..] = select(x >= first && .., u[max(min(x, last), first)], ..)
//   after   for block: if 120*block.x - 8 >= first && ..: march step: t[..] = u[x]
//                      else if ..: ..
//                      else: march step: as before
//
// Fields that repeat beside their box (FunctionData::held_periods) are remainders; a march of blocks of
// which no point is more than a period beside its image has choices in their places.
//
// Plain tiles, without marches and arrays of their own, are split where that takes boundary conditions
// out of their indices: blocks inside; those of which no point is more than a period beside its image,
// where a remainder is two minima; and the rest, point by point.
//
//   before  for block: for thread: f[x] = u[(x - 1) % n]
//   after   for block: if 128*block.x >= 1 && ..: for thread: f[x] = u[x - 1]
//                      else if 128*block.x - 1 >= -n && ..: for thread: f[x] = u[min of x - 1, x - 1 +
//                      n] else: for thread: for point: f[x] = u[(x - 1) % n]
//
// The inequalities are those that codegen/analysis/interiors finds, over all threads, lanes and planes
// of a block, and are worked out in 64 bits: threads of a block take the same branch.
//
// Requires: simplify_loops; march and thread loops. Ensures: the same values.
#pragma once

#include <cstddef>

#include "codegen/program.h"

namespace mica::passes {

/// Nodes of the expressions of marches that are copied for blocks inside, and for those at one edge.
constexpr std::size_t kLargestSplitMarch = 20'000, kLargestSplitEdges = 5'000;

void split_blocks(Program& program);

}  // namespace mica::passes
