// The largest of numbers some of which may be none.
#pragma once

#include <limits>

namespace mica::examples {

/// The larger of two numbers; NaN if either is, so that an error that is no number is never hidden by
/// the numbers after it.
constexpr double larger(double a, double b) { return a >= b || a != a ? a : b; }

static_assert(larger(1, 2) == 2 && larger(2, 1) == 2);
static_assert(larger(std::numeric_limits<double>::quiet_NaN(), 1) != 1);
static_assert(larger(1, std::numeric_limits<double>::quiet_NaN()) != 1);

}  // namespace mica::examples
