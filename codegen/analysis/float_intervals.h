// Intervals of floats that an operation takes from those of its operands in one direction.
#pragma once

#include <functional>

#include "codegen/analysis/intervals.h"

namespace mica::analysis {

/// The values other than NaN of a sum, product, quotient or Fma of one varying operand with what has one
/// value, of a conversion, of a rounding, a root or an absolute value, and of functions with bounds.
/// Rounding is monotone, so that the ends, computed as the values are, hold them. `of` gives the
/// intervals of parts, where min and max of what has one value are the same. Undefined ends: not known.
Interval monotone_interval(const Expr& e, const std::function<Interval(const Expr&)>& of);

}  // namespace mica::analysis
