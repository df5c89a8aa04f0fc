// What the acoustic examples share: velocities, wavelet, time step, absorbing edges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"

namespace mica::examples {

/// P-wave velocities in m/s from a raw float32 or NPY file; samples in km/s (all below 20) are
/// converted. UserErrors: see read_float_array; a velocity that is not in 0.001 ... 1e6, which the
/// message says of samples in the other byte order, too.
Buffer<float> read_velocities(const std::string& path, const std::vector<std::int64_t>& extents);

/// 0.9 of the longest stable step of a leapfrog scheme, in seconds, with central differences of `order`
/// in `dimensions` directions, `spacing` metres between points and `fastest` m/s:
/// dt = 2 h / (v sqrt(dimensions * sum |w_k|)), at which the fastest oscillation of the grid begins to
/// grow.
double stable_time_step(double spacing, double fastest, int order, int dimensions);

/// A peak frequency in Hz at which the shortest waves still have five points: v / (5 h * 2.5), where 2.5
/// times the peak is about the end of a Ricker wavelet's spectrum.
double resolved_frequency(double spacing, double slowest);

/// Ricker's wavelet at time t in seconds, of a peak frequency in Hz: (1 - 2a) exp(-a) with
/// a = (pi f (t - 1.2 / f))^2, so that it starts at 1e-3 of its peak (N. Ricker, Geophysics 18 (1953)
/// 10-40).
double ricker_at(double frequency, double t);
/// The wavelet at the steps 0, dt, 2 dt, ... as far as it is more than the least number; the last sample
/// is 0. UserError when it lasts more than 2^26 steps.
Buffer<float> ricker(double frequency, double dt);

/// An absorbing layer of `margin` points at each end of a row, whose damping grows with the square of
/// the depth into it, strong enough that a wave crossing it twice at the fastest velocity is left with
/// 1e-4 of its amplitude: sigma(s) = (3 v / 2 L) ln(1e4) (s/L)^2  (F. Collino, C. Tsogka, Geophysics 66
/// (2001) 294-307, for a layer of width L).
struct Sponge {
  std::int64_t margin = 0;
  double spacing = 0;  ///< metres
  double fastest = 0;  ///< m/s
  /// sigma in 1/s at point i of n, margins included; 0 between the layers.
  [[nodiscard]] double damping(std::int64_t i, std::int64_t n) const;
};

}  // namespace mica::examples
