// split_blocks: in kernels whose blocks overlap, the march of blocks that lie inside along the other
// dimensions with all that they read is apart from that of the others, and has no tests and no clamps
// of these. (Inside and outside are of whatever is compared with a coordinate: the domain, an array, a
// box that the algorithm names.) In either, the turns whose planes lie inside have none of planes.
//
//   before  for block: t = select(x >= first && z >= first && .., u[max(min(x, last), first)], ..) for
//                      the first steps; then for turn in [0, whole): the same
//   after   for block: if 120*block.x - 8 >= first && ..: t = select(z >= first && .., u[x], ..) for the
//                      first steps; for turn in [0, inside): t = u[x]; for turn in [inside, whole):
//                      select else: the same with tests of x
//
// Of two dimensions, whose chunks have more first steps, a third march is that of blocks inside along
// both. So are those of long code, as each part is another copy: inside along all, and the others.
//
// Fields that repeat beside their box (FunctionData::Held::periods) are remainders; a march of blocks of
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
// Requires: unroll_marches; thread loops. Ensures: the same values; no March loop is left.
#pragma once

#include <cstddef>

#include "codegen/program.h"

namespace mica::passes {

/// Nodes of the expressions of a turn of marches that are copied for blocks inside, and of those in
/// which planes inside are told apart.
constexpr std::size_t kLargestSplitMarch = 20'000, kLargestSplitPlanes = 10'000;

void split_blocks(Program& program);

}  // namespace mica::passes
