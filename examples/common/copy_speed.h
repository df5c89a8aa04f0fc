// How fast a target copies memory: the yardstick of the examples.
#pragma once

#include <cstddef>

#include "runtime/run/target.h"

namespace mica::examples {

/// Bytes read plus bytes written a second by a copy that reads and writes `bytes` in all, median of
/// 21 runs, on the target's device (the host's threads for the host and the emulator).
double copy_bandwidth(const Target& target, std::size_t bytes);

}  // namespace mica::examples
