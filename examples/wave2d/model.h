// A velocity model on a regular grid and the time step it allows.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/buffer/buffer.h"

namespace mica::examples {

/// P-wave velocity in m/s; dimension 0 is depth (downwards), dimension 1 distance.
struct VelocityModel {
  Buffer<float> velocity;
  double spacing = 0;  ///< metres between neighbours, in both directions
  std::string name;
  [[nodiscard]] std::int64_t depth() const { return velocity.extent(0); }
  [[nodiscard]] std::int64_t distance() const { return velocity.extent(1); }
  [[nodiscard]] double slowest() const;
  [[nodiscard]] double fastest() const;
};

/// Flat layers over a fault and a dome, 1.5 to 4.5 km/s.
VelocityModel layered_model(std::int64_t distance, std::int64_t depth, double spacing);

/// Depth fastest, from a raw float32 or NPY file of two dimensions. UserErrors: see read_velocities.
VelocityModel load_model(const std::string& path, std::int64_t distance, std::int64_t depth,
                         double spacing);

/// The model with `margin` more points on every side, its edge values continued, as (v dt/h)^2.
Buffer<float> courant_squared(const VelocityModel& model, std::int64_t margin, double dt);

/// sigma*dt/2 of a layer of `margin` points at each side (sponge_damping), of the larger share where
/// two sides' layers meet.
Buffer<float> absorbing_layer(const VelocityModel& model, std::int64_t margin, double dt);

}  // namespace mica::examples
