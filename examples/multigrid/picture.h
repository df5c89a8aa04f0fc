// The residuals and the solution drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"

namespace mica::examples {

/// The residual of a grid of n^3 cells before the first cycle and after each.
struct History {
  std::int64_t n = 0;
  std::vector<double> residuals;
};

/// Residuals against cycles, of the four finest grids, and u on the plane of cells next to z = 3/8
/// with, for `sphere`, the circle across which beta rises. UserError when it cannot be written.
void draw(const std::string& path, const std::vector<History>& histories, const Buffer<double>& u,
          bool sphere);

}  // namespace mica::examples
