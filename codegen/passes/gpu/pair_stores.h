// pair_stores: two threads that store 32 bytes each, side by side, exchange halves, so that each of the
// two instructions writes whole sectors of 32 bytes. A vector of four f64 is stored 16 bytes at a time:
// as it is, either instruction of a warp writes half of each sector, and the cache takes both.
//
//   before  if inside(thread.x): out[ramp(base, 1, 4)] = v          base + 4 in the thread after it
//   after   first  = thread.x even: v[0, 1], odd: v[2, 3] of the thread before it
//           second = thread.x even: v[0, 1] of the thread after it, odd: v[2, 3]
//           if inside(even thread of the pair): out[ramp(.., 1, 2)] = first       the even one's four
//           if inside(odd thread of the pair): out[ramp(.., 1, 2)] = second       the odd one's
//
// In common frames (time tiles), whose threads hold what they store in registers, and where all threads
// of a warp get there.
//
// Requires: map_gpu_axes. Ensures: the same elements with the same values.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void pair_stores(Program& program);

}  // namespace mica::passes
