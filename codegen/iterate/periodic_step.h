// Steps that read their fields as if these repeated, as BoundaryConditions::repeat_image says.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dsl/func/func.h"

namespace mica::iterate {

/// How a step repeats along each dimension of its fields.
struct Periods {
  /// Along dimension d, and outside of the fields' box, the step computes what it computes a period, the
  /// box's extent, away.
  std::vector<bool> repeats;

  [[nodiscard]] bool any() const;
  /// `repeats`, a bit a dimension.
  [[nodiscard]] std::uint32_t bits() const;
};

/// Of a step that replaces `fields`. Along a dimension that repeats, it reads a field at its own point,
/// or at coordinates x + c that are brought into the box of a field, min + (x + c - min) % extent; other
/// inputs likewise; and its values depend on its Vars by what it reads alone. All fields are taken
/// to have one box. No dimension repeats where one does not see it at a glance, as in updates.
Periods periods_of(const Func& step, const std::vector<std::shared_ptr<const ImageData>>& fields);

/// x + c of an index that is brought into the box of one of `fields`, as above; other indices as they
/// are.
Expr unwrapped(const Expr& index, std::size_t dimension,
               const std::vector<std::shared_ptr<const ImageData>>& fields);
/// `index`, brought into the box of `field`.
Expr wrapped(const Expr& index, std::size_t dimension, const std::shared_ptr<const ImageData>& field);

}  // namespace mica::iterate
