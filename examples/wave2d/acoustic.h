// The acoustic wave equation in two dimensions, stepped in time.
#pragma once

#include <cstdint>

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

  /// Advances `steps` time steps.
  void run(std::int64_t steps);
  /// Draws a bar of the steps of the runs that follow.
  void show_progress() { wave_.show_progress("wave2d"); }
  /// Waits for the steps that are under way.
  void finish() const;
  /// Pressure at the model's points (without the layers), after bringing it to the host.
  [[nodiscard]] Buffer<float> wavefield() const;

  [[nodiscard]] double dt() const { return dt_; }                ///< seconds
  [[nodiscard]] std::int64_t points() const { return points_; }  ///< grid points updated a step
  [[nodiscard]] std::int64_t steps_done() const { return done_; }
  /// Bytes that a step must move: four arrays read, one written.
  [[nodiscard]] std::int64_t bytes_per_step() const { return points_ * 5 * 4; }

 private:
  [[nodiscard]] Expr shot(const Source& source) const;

  Target target_;
  std::int64_t margin_, depth_, distance_, points_, done_ = 0;
  double dt_;
  ImageParam now_, before_, courant_, layer_;
  Func next_;
  Iteration wave_;
  Buffer<float> pressure_, pressure_before_;
};

}  // namespace mica::examples
