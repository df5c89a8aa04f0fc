// What is known of magnetized fluids, and whether it holds.
#pragma once

#include "examples/mhd/fluid.h"

namespace mica::examples {

/// Waves beside theory: Alfven waves, damped and of large amplitude, and sound. The fields' error must
/// fall with the 6th power of the distance of points, time steps being as its square.
bool check_waves(Mhd& mhd);
/// Mass, and energy of all kinds, which only errors of differences may change: their drift in a smooth
/// flow in which everything acts must fall as fast.
bool check_conservation(Mhd& mhd);

}  // namespace mica::examples
