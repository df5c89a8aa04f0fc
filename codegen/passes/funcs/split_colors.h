// split_colors: an update with colors becomes one update a color, in their order.
//
//   before  p(x, y) = (p(x - 1, y) + p(x + 1, y))/2   color(x % 2)
//   after   the same for the points with x % 2 == 0; the same for those with x % 2 == 1
//
// Each is then a nest, and a kernel, of its own, so that all points of a color are computed before any
// of the next. Its loop over the first dimension whose factor has no divisor in common with the number
// of colors steps from one point of the color to the next; where no dimension has such a factor, points
// of other colors are skipped one by one.
//
// Requires: check_schedule, which sees the update as the user wrote it. Ensures: Coloring::only is set
// in every update with colors.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void split_colors(Program& program);

}  // namespace mica::passes
