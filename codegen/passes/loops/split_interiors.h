// split_interiors: on the host, a loop whose iterations mostly stay inside of what its expressions ask
// for is split into edges and an interior, where clamps, remainders and tests for inside are gone and
// vectors of neighbours are one load.
//
//   before  for x in [0, n): f[x] = u[max(min(x - 1, u.extent.0 - 1), 0)]
//   after   for x in [0, a): f[x] = u[max(min(x - 1, u.extent.0 - 1), 0)]
//           for x in [a, b): f[x] = u[x - 1]
//           for x in [b, n): f[x] = u[max(min(x - 1, u.extent.0 - 1), 0)]
//                                        a = clamp(1, 0, n), b = clamp(u.extent.0 + 1, a, n)
//
// codegen/analysis/interiors finds inequalities in the loop's variable; all of them hold in [a, b),
// whose ends are worked out in 64 bits. Outer loops ask `if a <= y < b` instead, once an iteration, but
// for serial ones over many rows.
// Beside the interior of a loop over vectors, taps that stick out are chosen lane by lane (edge_lanes),
// each end of a row by its own code, which chooses nothing for the other one; a row of hardly more than
// a vector chooses at both. Where that cannot be, a vector is moved until it is inside, so that only the
// points that need the condition are computed with it. The last vector of a row that has no whole number
// of them is moved to the row's end, where there is a condition and where there is none. Of moved
// vectors some points are computed twice (vector_line). Loops over a few points stay whole. The loop
// over tiles asks `if a <= xo < b`: tiles inside are whole and have no condition; in those at an edge,
// the innermost loop is split again. A loop that was fused of two asks whether either is inside, one
// after the other: blocks of planes and strips of rows; of a strip each row asks on its own. What is
// beside the interior of an outer loop shares the code of its rows' ends. In a nest so large that the
// copies would come to more than kLargestSplit nodes, only innermost loops are split, and both of their
// edges share one copy of the code: the conditions of outer loops cost a few operations a row.
//
// Requires: simplify_loops; a vector's tail is a loop of its own (partition_loops). Ensures: the same
// values; the same iterations in the same order, but for the vectors that were moved.
#pragma once

#include <cstddef>

#include "codegen/program.h"

namespace mica::passes {

/// Nodes of expressions that the copies of a nest may have together.
constexpr std::size_t kLargestSplit = 20'000;

void split_interiors(Program& program);

}  // namespace mica::passes
