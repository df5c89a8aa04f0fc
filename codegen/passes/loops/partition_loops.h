// partition_loops: a serial loop whose whole body is decided by a condition on its variable becomes
// two loops without the condition. On the host only.
//
//   before  for xo in [0, n): if 8 <= e - xo*8: A else B
//   after   for xo in [0, m): A;  for xo in [m, n): B          m = clamp(floor((e - 8)/8) + 1, 0, n)
//
// Where B is what a whole vector leaves, for v in [0, min(8, e - xo*8)), the second loop ends with its
// points.
//
// A condition that the loop's variable does not change stands around the loop:
//
//   before  for xo in [0, n): for r: if 8 <= e - xo*8: A else B
//   after   for xo in [0, m): for r: A;  for xo in [m, n): for r: B
//
// A parallel loop stays one and tests where it is; one that was fused, with its iterations' outer part:
//
//   before  parallel t in [0, n*m): for x, for zi in [0, 4) unrolled: if t/n*4 + zi < e: A
//   after   parallel t in [0, n*m): if t/n < (e - 4)/4 + 1: for x: A, A, A, A   else as before
//
// Requires: nothing. Ensures: the same iterations, but for empty ones, in the same order.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void partition_loops(Program& program);

}  // namespace mica::passes
