// The acoustic wave equation in three dimensions, stepped in time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "examples/wave3d/model.h"
#include "schedules/mica.h"

namespace mica::examples {

/// A place in metres from the model's first point: depth, x, y.
using Position = std::array<double, 3>;

struct Shot {
  Position source{};
  double frequency = 0;  ///< peak of the Ricker wavelet, Hz
  std::vector<Position> receivers;
};

/// The 25-point Laplacian times h^2, 8th order: the terms of all three directions at each distance.
/// `type` is f32 or f64, `p` what is read.
Expr laplacian25(const Type& type, const std::function<Expr(Expr, Expr, Expr)>& p, const Var& z,
                 const Var& x, const Var& y);

/// Pressure p with  p_tt + 2 sigma p_t = v^2 (laplace(p) + f(t) delta(place - source)),  8th order in
/// space and 2nd in time:
///
///   (1 + s) p(t+1) = 2 p(t) - (1 - s) p(t-1) + (v dt/h)^2 laplacian25(p(t))  (+ v^2 dt^2/h^3 f(t) W)
///
/// with s = sigma dt/2 in absorbing layers of `margin` points around the model (Sponge) and W the
/// weights of the source (kaiser_sinc).
class Acoustic3d {
 public:
  /// `share`: of the longest stable time step, up to 0.9. UserErrors: a source or receiver outside of
  /// the model.
  Acoustic3d(const VelocityVolume& model, const Shot& shot, std::int64_t steps, std::int64_t margin,
             const Target& target, double share = 0.9);

  /// All steps.
  void run();
  /// values(k, n): pressure at receiver k after step n, at the time (n + 1) dt.
  [[nodiscard]] const Buffer<float>& gather() const { return gather_; }
  /// Pressure on the plane through grid point y of the model, dimensions depth and x.
  [[nodiscard]] Buffer<float> section(std::int64_t y) const;
  [[nodiscard]] double dt() const { return dt_; }                ///< seconds
  [[nodiscard]] std::int64_t points() const { return points_; }  ///< grid points updated a step
  void show_progress() { wave_.show_progress("wave3d"); }

 private:
  Target target_;
  std::int64_t margin_, steps_;
  std::vector<std::int64_t> extents_;
  std::int64_t points_;
  double dt_;
  ImageParam before_, now_, courant_;
  Func next_;
  Iteration wave_;
  Buffer<float> pressure_before_, pressure_, courant_squared_, gather_;
};

}  // namespace mica::examples
