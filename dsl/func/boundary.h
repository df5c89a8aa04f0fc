// Boundary conditions on inputs and Funcs. Part of dsl/func/func.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dsl/func/func.h"

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
  /// w, d4, d5.
  BoundaryRange(const Var& dimension) : along(dimension.name()) {}  // NOLINT
  BoundaryRange(const Var& dimension, Expr first, Expr count)
      : along(dimension.name()), min(std::move(first)), extent(std::move(count)) {}

  std::string along;
  Expr min, extent;
};
using BoundaryRanges = std::vector<BoundaryRange>;

/// What a boundary condition is put on: an input or a Func. Made implicitly.
class BoundarySource {
 public:
  BoundarySource(const ImageParam& input) : image_(input.data()) {}     // NOLINT
  BoundarySource(const Func& function) : func_(function.function()) {}  // NOLINT
  /// One of the two; the other is null.
  [[nodiscard]] const std::shared_ptr<const ImageData>& image() const { return image_; }
  [[nodiscard]] const std::shared_ptr<FunctionData>& func() const { return func_; }

 private:
  std::shared_ptr<const ImageData> image_;
  std::shared_ptr<FunctionData> func_;
};

/// Values outside of a box. Each returns a Func of the source's dimensions, to which a further condition
/// may be given: repeat_edge(repeat_image(u, {{x}}), {{y}}) is periodic in x and repeats its edges in y.
///
/// Without `ranges` the box is the source's own: of an input its buffer's, of a Func that is made of
/// conditions on an input that input's; another Func has none. With `ranges`, as {{0, n}, {0, m}}, it is
/// theirs, and dimensions that they leave out, or have an empty {} for, have no condition. An extent
/// below 1 counts as 1. UserErrors: more ranges than dimensions, a Var that is none of them or named
/// twice, no range known, a Func that is not defined.
namespace BoundaryConditions {
/// The nearest element: f(x) = u(clamp(x, min, max)).
Func repeat_edge(const BoundarySource& source, const BoundaryRanges& ranges = {},
                 CallSite at = CallSite::current());
/// `value` outside.
Func constant_exterior(const BoundarySource& source, Expr value, const BoundaryRanges& ranges = {},
                       CallSite at = CallSite::current());
/// The image repeated: u(min + (x - min) mod extent).
Func repeat_image(const BoundarySource& source, const BoundaryRanges& ranges = {},
                  CallSite at = CallSite::current());
/// Mirrored with the edge element twice: ... b a | a b c | c b ...
Func mirror_image(const BoundarySource& source, const BoundaryRanges& ranges = {},
                  CallSite at = CallSite::current());
/// Mirrored about the edge element: ... c b | a b c | b a ...
Func mirror_interior(const BoundarySource& source, const BoundaryRanges& ranges = {},
                     CallSite at = CallSite::current());
}  // namespace BoundaryConditions

}  // namespace mica
