// Before and after in one picture.
#pragma once

#include <cstdint>

#include "examples/common/pictures.h"

namespace mica::examples {

/// 8 bits of `before` on the left, of `after` on the right, and eight white columns between them. Both
/// have the same shape and the same white.
Buffer<std::uint8_t> side_by_side(const Photo& before, const Photo& after);

}  // namespace mica::examples
