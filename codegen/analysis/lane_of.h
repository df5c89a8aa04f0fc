// One lane of a vector's coordinates.
#pragma once

#include <cstdint>

#include "dsl/expr/expr.h"

namespace mica::analysis {

/// Lane `lane` of `e`, which is made of ramps, broadcasts and scalars by operations on each lane:
///
///     lane_of(x4(a + b) + ramp(0, 1, 4) - x4(4), 2)   is   a + b + 2 - 4
Expr lane_of(const Expr& e, std::int64_t lane);

}  // namespace mica::analysis
