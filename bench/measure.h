// One case, run and timed.
#pragma once

#include "bench/bench.h"

namespace mica::bench {

/// Makes the case's arrays, compares the schedule's and the twin's outputs with the host's, and times
/// them and a device copy in turn. UserError when the schedule refuses the case's parameters.
Result measure(const Case& c, const Options& options);

}  // namespace mica::bench
