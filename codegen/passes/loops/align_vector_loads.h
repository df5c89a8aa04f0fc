// align_vector_loads: on the GPU, builds the shifted vectors of a row's taps from aligned loads.
//
//   before  u[ramp(a - 1, 1, 4)] + u[ramp(a, 1, 4)] + u[ramp(a + 1, 1, 4)]        a divisible by 4
//   after   v = u[ramp(a, 1, 4)] (aligned to 4), l = u[a - 1], r = u[a + 4]
//           shuffle(l, v; 0 1 2 3) + v + shuffle(v, r; 1 2 3 4)
//
// Only elements that some tap of the same statement reads are loaded: an aligned vector where all of
// its elements are needed, halves, quarters or single elements elsewhere. Where alignment is unknown
// (the variant for unaligned arrays, a row pitch that is no multiple) all of a row's taps are one vector
// of alignment 1, which back ends cut out of what they can load; two elements of four bytes or more are
// loaded by themselves. Stores get the alignment that can be shown.
// Requires: vectorize_loops. Ensures: every vector load on the device has the alignment of its size (up
// to 16 bytes), or that of an element; the plan lists the alignments that parameters must have.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void align_vector_loads(Program& program);

}  // namespace mica::passes
