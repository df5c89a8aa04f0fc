// Boundary conditions on inputs and Funcs. Part of dsl/func.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dsl/func.h"

namespace mica {

/// One dimension of the box inside which a boundary condition takes values from its source, and outside
/// of which it makes them up.
struct BoundaryRange {
  /// No condition along this dimension.
  BoundaryRange() = default;
  /// [min, min + extent), in bounds that a launch knows. By the place in the list: the first entry is
  /// for dimension 0.
  BoundaryRange(Expr first, Expr count) : min(std::move(first)), extent(std::move(count)) {}
  /// The source's own range along a dimension that is named: of a Func by its Var, of an input x, y, z,
  /// w.
  BoundaryRange(const Var& dimension) : along(dimension.name()) {}  // NOLINT
  BoundaryRange(const Var& dimension, Expr first, Expr count)
      : along(dimension.name()), min(std::move(first)), extent(std::move(count)) {}

  std::string along;
  Expr min, extent;
};
using BoundaryRanges = std::vector<BoundaryRange>;

/// Values outside of a box. Each returns a Func of the source's dimensions, to which a further condition
/// may be given: repeat_edge(repeat_image(u, {{x}}), {{y}}) is periodic in x and repeats its edges in y.
///
/// Of an input, the box is its buffer's unless `ranges` says another, as {{0, n}, {0, m}}; dimensions
/// that `ranges` leaves out, or has an empty {} for, have no condition. Of a Func, `ranges` gives the
/// box; only one that is made of conditions on an input has a range of its own. An extent below 1 counts
/// as 1. UserErrors: more ranges than dimensions, a Var that is none of them or named twice, no range
/// known.
namespace BoundaryConditions {
/// The nearest element: f(x) = u(clamp(x, min, max)).
Func repeat_edge(const ImageParam& source, CallSite at = CallSite::current());
Func repeat_edge(const ImageParam& source, const BoundaryRanges& ranges,
                 CallSite at = CallSite::current());
Func repeat_edge(const Func& source, const BoundaryRanges& ranges, CallSite at = CallSite::current());
/// `value` outside.
Func constant_exterior(const ImageParam& source, Expr value, CallSite at = CallSite::current());
Func constant_exterior(const ImageParam& source, Expr value, const BoundaryRanges& ranges,
                       CallSite at = CallSite::current());
Func constant_exterior(const Func& source, Expr value, const BoundaryRanges& ranges,
                       CallSite at = CallSite::current());
/// The image repeated: u(min + (x - min) mod extent).
Func repeat_image(const ImageParam& source, CallSite at = CallSite::current());
Func repeat_image(const ImageParam& source, const BoundaryRanges& ranges,
                  CallSite at = CallSite::current());
Func repeat_image(const Func& source, const BoundaryRanges& ranges, CallSite at = CallSite::current());
/// Mirrored with the edge element twice: ... b a | a b c | c b ...
Func mirror_image(const ImageParam& source, CallSite at = CallSite::current());
Func mirror_image(const ImageParam& source, const BoundaryRanges& ranges,
                  CallSite at = CallSite::current());
Func mirror_image(const Func& source, const BoundaryRanges& ranges, CallSite at = CallSite::current());
/// Mirrored about the edge element: ... c b | a b c | b a ...
Func mirror_interior(const ImageParam& source, CallSite at = CallSite::current());
Func mirror_interior(const ImageParam& source, const BoundaryRanges& ranges,
                     CallSite at = CallSite::current());
Func mirror_interior(const Func& source, const BoundaryRanges& ranges,
                     CallSite at = CallSite::current());
}  // namespace BoundaryConditions

}  // namespace mica
