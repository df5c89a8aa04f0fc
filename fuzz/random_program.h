// Random algorithms.
#pragma once

#include "fuzz/program.h"
#include "fuzz/random_data.h"

namespace mica::test {

/// The points_to_compute of a drawn program stay below this.
inline constexpr std::int64_t kMostFuzzPoints = 30000;

/// One to six Funcs of one to four dimensions over one to five inputs: stencils (stars, boxes, irregular
/// and staggered taps up to five points away), scaled and clamped coordinates, boundary conditions,
/// expressions over all types, Tuples, updates and reductions. Its inlined_taps stay below a few
/// hundred. A coupled one can mostly be a step of several fields: two to four Funcs and as many inputs
/// of one type, most Funcs outputs.
Program random_program(Random& random, bool coupled = false);
/// A box for each output, with mins of both signs.
std::vector<Box> random_boxes(const Program& program, Random& random);

}  // namespace mica::test
