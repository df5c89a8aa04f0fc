// What is known about waves: order of convergence, and a point source in a uniform medium.
#pragma once

#include "runtime/run/target.h"

namespace mica::examples {

/// A standing wave of cosines between mirrors on grids of falling spacing, in f64, against the wave that
/// the same time steps would make of it without any error in space. Prints the errors and their order;
/// whether it is 8 to 0.2.
bool check_order(const Target& target);

/// Pressure of a source between grid points in a uniform medium at receivers between grid points,
/// against f(t - r/v) / (4 pi r), the solution without edges. Runs until echoes of the edges would have
/// come back, and prints root-mean-square misfits as shares of the trace, apart what comes after the
/// wave has passed. Whether the largest misfit is below 1 %.
bool check_point_source(const Target& target);

}  // namespace mica::examples
