// The acoustic wave equation in two dimensions, stepped in time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "examples/wave2d/model.h"
#include "schedules/mica.h"

namespace mica::examples {

struct Source {
  std::int64_t depth = 0, distance = 0;  ///< grid point of the model
  double frequency = 0;                  ///< peak frequency of the Ricker wavelet, Hz
};

/// Pressure p with  p_tt + 2 sigma p_t = v^2 laplace(p) + source,  8th order in space and 2nd in time:
///
///   (1 + s) p(t+1) = 2 p(t) - (1 - s) p(t-1) + (v dt/h)^2 sum_k w_k (p(z+k) + p(x+k)) + f(t)
///
/// with s = sigma dt/2 in absorbing layers of `margin` points around the model.
class Acoustic {
 public:
  Acoustic(const VelocityModel& model, const Source& source, const Target& target,
           std::int64_t margin = 64);

  /// Advances `steps` time steps; `report`, if given, is called now and then with the steps done.
  void run(std::int64_t steps, const std::function<void(std::int64_t)>& report = {});
  /// Waits for the steps that are under way.
  void finish();
  /// Pressure at the model's points (without the layers), after bringing it to the host.
  [[nodiscard]] Buffer<float> wavefield() const;

  [[nodiscard]] double dt() const { return dt_; }                ///< seconds
  [[nodiscard]] std::int64_t points() const { return points_; }  ///< grid points updated a step
  [[nodiscard]] std::int64_t steps_done() const { return done_; }
  /// Bytes that a step must move: four arrays read, one written.
  [[nodiscard]] std::int64_t bytes_per_step() const { return points_ * 5 * 4; }
  [[nodiscard]] const Func& algorithm() const { return next_; }
  [[nodiscard]] const Executable& executable() const { return step_; }

 private:
  [[nodiscard]] float ricker(std::int64_t step) const;

  Source source_;
  std::int64_t margin_, depth_, distance_, points_, done_ = 0;
  double dt_;
  ImageParam now_, before_, courant_, layer_;
  Param<float> amplitude_;
  Param<std::int32_t> source_z_, source_x_;
  Func next_;
  Executable step_;
  Buffer<float> fields_[3];  // pressure at t-1, t, t+1, in turn
};

/// The largest stable time step: dt = 2 h / (v_max sqrt(2 sum |w_k|)), times 0.9.
double stable_time_step(const VelocityModel& model);
/// A peak frequency whose shortest wave still has five points: v_min / (5 h * 2.5).
double resolved_frequency(const VelocityModel& model);

}  // namespace mica::examples
