// Where the flow begins.
#pragma once

#include "examples/shallow_water/flow.h"

namespace mica::examples {

/// Two jets along x, of `speed` m/s westward at 1/4 of the width and eastward at 3/4, each some
/// `breadth` metres wide, with thickness in geostrophic balance, f u = -g h_y; waves of a hundredth of
/// the thickness's range are laid over it, which grow. UserError where there is no fluid left beside a
/// jet, or the plane does not turn.
State jets(const Plane& plane, double speed, double breadth);

/// Fluid at rest with a bump of `height` metres in the middle, exp(-(r/radius)^2).
State bump(const Plane& plane, double height, double radius);

/// The speed of a gravity wave on the fastest flow: a bound for time_step.
double fastest(const State& state, const Plane& plane);

}  // namespace mica::examples
