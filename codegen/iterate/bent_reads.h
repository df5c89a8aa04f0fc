// Coordinates that boundary conditions bend into a range, found again in the indices of reads.
#pragma once

#include <cstdint>
#include <optional>

#include "dsl/expr/expr.h"

namespace mica::iterate {

enum class Bend : std::uint8_t { Clamp, Mirror, MirrorAboutEdge };

/// A coordinate that is bent into a range, min <= x <= max.
struct Bent {
  Bend how = Bend::Clamp;
  Expr coordinate;
  Expr min, max;
};

/// What repeat_edge, constant_exterior, mirror_image or mirror_interior, or a clamp by hand, has made of
/// a coordinate: max(min(c, max), min), where c is the coordinate or, mirrored, min + min((x - min) %
/// period,
/// ...). The bounds are known when a run begins. Nothing for other indices.
std::optional<Bent> bent_of(const Expr& index);

}  // namespace mica::iterate
