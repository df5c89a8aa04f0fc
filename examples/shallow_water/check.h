// What is known of the scheme, and whether it holds.
#pragma once

#include "examples/shallow_water/flow.h"

namespace mica::examples {

/// A small inertia-gravity wave along x: its frequency beside sqrt(f^2 + g H k^2) and beside what the
/// scheme makes of that, to which it must be equal to 1e-8.
bool check_wave(const Target& target);

/// Either scheme on one flow with a time step and its half: what it conserves must drift by a power of
/// dt that is at least 2.5, as steps of third order make it.
bool check_conservation(const Target& target);

}  // namespace mica::examples
