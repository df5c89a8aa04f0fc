#include "examples/wave3d/model.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "examples/common/seismic.h"

namespace mica::examples {

double VelocityVolume::slowest() const {
  return *std::min_element(velocity.data(), velocity.data() + velocity.elements());
}

double VelocityVolume::fastest() const {
  return *std::max_element(velocity.data(), velocity.data() + velocity.elements());
}

VelocityVolume layered_volume(const Shape& shape, double spacing) {
  VelocityVolume model{Buffer<float>(shape.depth, shape.x, shape.y), spacing, "layered model"};
  const auto share = [](std::int64_t i, std::int64_t n) {
    return n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0.5;
  };
  model.velocity.for_each([&](float& v, const Coordinates& at) {
    const double z = share(at[0], shape.depth), x = share(at[1], shape.x), y = share(at[2], shape.y);
    const double dome = 0.147 * std::exp(-30 * ((x - 0.4) * (x - 0.4) + (y - 0.5) * (y - 0.5)));
    const double fault = x + 0.2 * z + 0.1 * y > 0.85 ? 0.07 : 0.0;
    const double s = z + (z >= 0.2 ? dome - fault : 0.0);
    v = s < 0.2 ? 1500.0F : s < 0.4 ? 2000.0F : s < 0.6 ? 2600.0F : s < 0.8 ? 3200.0F : 4000.0F;
  });
  return model;
}

VelocityVolume load_volume(const std::string& path, const Shape& shape, double spacing,
                           std::int64_t every) {
  // What cannot be looked at is reported when it is read. An NPY file brings its own shape.
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  const auto whole = static_cast<std::uintmax_t>(shape.x * shape.y * shape.depth) * sizeof(float);
  std::vector<std::int64_t> extents{shape.depth, shape.x};
  if (!unknown && bytes == whole) extents.push_back(shape.y);
  const Buffer<float> file = read_velocities(path, extents);
  if (file.dimensions() != 2 && file.dimensions() != 3) {
    throw UserError(path + " has " + std::to_string(file.dimensions()) +
                    " dimensions; a velocity model has 2 or 3");
  }
  const bool section = file.dimensions() == 2;
  const auto kept = [&](int d) { return (file.extent(d) + every - 1) / every; };
  VelocityVolume model{Buffer<float>(kept(0), kept(1), section ? shape.y : kept(2)),
                       spacing * static_cast<double>(every), path};
  const float* v = file.data();
  model.velocity.for_each([&](float& value, const Coordinates& at) {
    const std::int64_t y = section ? 0 : at[2] * every;
    value = v[at[0] * every + file.extent(0) * (at[1] * every + file.extent(1) * y)];
  });
  return model;
}

}  // namespace mica::examples
