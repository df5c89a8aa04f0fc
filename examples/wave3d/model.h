// A velocity model in three dimensions.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/buffer/buffer.h"

namespace mica::examples {

/// P-wave velocity in m/s; dimension 0 is depth (downwards), 1 is x, 2 is y.
struct VelocityVolume {
  Buffer<float> velocity;
  double spacing = 0;  ///< metres between neighbours, in all directions
  std::string name;
  [[nodiscard]] double slowest() const;
  [[nodiscard]] double fastest() const;
};

/// Points of a model.
struct Shape {
  std::int64_t x = 0, y = 0, depth = 0;
};

/// Layers over a dome and a fault, 1.5 to 4 km/s.
VelocityVolume layered_volume(const Shape& shape, double spacing);

/// A raw float32 or NPY file, depth fastest, then x, then y. A section (an NPY of two dimensions, or a
/// raw file of shape.x * shape.depth samples) is repeated along y. Of x and depth, and of y where the
/// file has it, every `every`-th point is kept, so that the spacing becomes as many times larger.
/// UserErrors: see read_velocities; a file of other dimensions or sizes.
VelocityVolume load_volume(const std::string& path, const Shape& shape, double spacing,
                           std::int64_t every);

}  // namespace mica::examples
