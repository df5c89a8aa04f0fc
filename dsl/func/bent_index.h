// Coordinates that boundary conditions bend into a box. A part of dsl/func/boundary.
#pragma once

#include "dsl/expr/expr.h"

namespace mica::boundary {

/// min <= x <= max along one dimension.
struct Range {
  Expr min, extent;
  [[nodiscard]] Expr max() const;
};

/// The nearest coordinate of the range.
Expr clamped(const Expr& x, const Range& range);
/// The coordinate a number of periods, the extent, away.
Expr wrapped(const Expr& x, const Range& range);
/// ... 1 0 | 0 1 2 | 2 1 ...
Expr mirrored(const Expr& x, const Range& range);
/// ... 2 1 | 0 1 2 | 1 0 ...
Expr mirrored_about_edge(const Expr& x, const Range& range);

}  // namespace mica::boundary
