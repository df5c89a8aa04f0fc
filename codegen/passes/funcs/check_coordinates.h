// check_coordinates: the conditions on a launch under which no coordinate leaves 32 bits.
//
//   f(x) = u((2*x + p)/3),  g computed at f:  g needs [4*f.min, 4*f.min + 4*f.extent - 4]
//   check  2*f.min + p and 2*f.min + 2*f.extent - 2 + p lie in 32 bits; so does what g needs
//
// Code computes coordinates in 32 bits, where they wrap; bounds are those of unbounded integers
// (analysis/bounds.h), evaluated in 64 bits at the launch. Both are the same where each operand of a
// min, max, division, ... in an index lies in 32 bits, and each box in the limits of dsl/expr/limits.h.
// What follows from those limits alone, as in every index x + c, makes no check. Requires: infer_bounds.
// Ensures: only program.plan.checks changes.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void check_coordinates(Program& program);

}  // namespace mica::passes
