#include "examples/wave2d/model.h"

#include <algorithm>
#include <cmath>

#include "examples/common/seismic.h"

namespace mica::examples {

double VelocityModel::slowest() const {
  const float* v = velocity.data();
  return *std::min_element(v, v + velocity.elements());
}

double VelocityModel::fastest() const {
  const float* v = velocity.data();
  return *std::max_element(v, v + velocity.elements());
}

VelocityModel layered_model(std::int64_t distance, std::int64_t depth, double spacing) {
  VelocityModel model{Buffer<float>(depth, distance), spacing, "layered model"};
  const double nx = static_cast<double>(distance), nz = static_cast<double>(depth);
  model.velocity.for_each([&](float& v, const Coordinates& at) {
    const double x = static_cast<double>(at[1]) / nx, z = static_cast<double>(at[0]) / nz;
    const double dome = 0.12 * std::exp(-40.0 * (x - 0.35) * (x - 0.35));
    const double throw_ = x + 0.15 * z > 0.68 ? 0.06 : 0.0;  // a dipping normal fault
    const double s = z + (z > 0.15 ? dome - throw_ : 0.0);
    v = s < 0.15 ? 1500.0F : s < 0.35 ? 2000.0F : s < 0.5 ? 2600.0F : s < 0.7 ? 3300.0F : 4500.0F;
  });
  return model;
}

VelocityModel load_model(const std::string& path, std::int64_t distance, std::int64_t depth,
                         double spacing) {
  VelocityModel model{read_velocities(path, {depth, distance}), spacing, path};
  if (model.velocity.dimensions() != 2) {
    throw UserError(path + " has " + std::to_string(model.velocity.dimensions()) +
                    " dimensions; a velocity model has 2");
  }
  return model;
}

Buffer<float> courant_squared(const VelocityModel& model, std::int64_t margin, double dt) {
  Buffer<float> c(model.depth() + 2 * margin, model.distance() + 2 * margin);
  const float* v = model.velocity.data();
  c.for_each([&](float& value, const Coordinates& at) {
    const std::int64_t z = std::clamp<std::int64_t>(at[0] - margin, 0, model.depth() - 1);
    const std::int64_t x = std::clamp<std::int64_t>(at[1] - margin, 0, model.distance() - 1);
    const double courant = v[z + x * model.depth()] * dt / model.spacing;
    value = static_cast<float>(courant * courant);
  });
  return c;
}

Buffer<float> absorbing_layer(const VelocityModel& model, std::int64_t margin, double dt) {
  Buffer<float> layer(model.depth() + 2 * margin, model.distance() + 2 * margin);
  const Sponge sponge{margin, model.spacing, model.fastest()};
  layer.for_each([&](float& value, const Coordinates& at) {
    const double s =
        std::max(sponge.damping(at[0], layer.extent(0)), sponge.damping(at[1], layer.extent(1)));
    value = static_cast<float>(s * dt / 2);
  });
  return layer;
}

}  // namespace mica::examples
