// place_funcs: decides where each Func is computed and kept.
//
//   what the schedule says           compute_inline, compute_root, compute_at, stage, store_*
//   outputs, Funcs with updates      at the root
//   any other without a directive    inline, unless that would compute it more than kMostInlineCalls
//   times
//                                    for a point of what reads it: then at the root, before its readers.
//                                    On a CPU, where nothing at all is scheduled, also one that takes
//                                    long and is the same for many of those points (repeated_work.h)
//
//   before  b = sum of 27 taps of u     f = sum of 27 taps of b     g = sum of 27 taps of f
//   after   b inline (27 times for a point of f), f at the root (with b in g it would be 125 times)
//
// A Func that only moves values (a tap, clamped or chosen) stays inline however often it is read, and so
// does one whose box could hold more points than are read (an index that nothing bounds, one variable in
// two of its indices), and one that reads what is computed inside another Func's loops.
//
// Requires: rounding is fixed (make_pipeline), so that no choice changes a bit. Ensures: `placement` has
// every Func of the pipeline; where the choice was made by counting, Placement::reason says so.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

/// How often a Func may be computed for a point of its readers before it is computed ahead of them.
constexpr std::size_t kMostInlineCalls = 40;
/// How many operations that may take if it is computed more than once.
constexpr std::size_t kMostInlineOperations = 235;

void place_funcs(Program& program);

}  // namespace mica::passes
