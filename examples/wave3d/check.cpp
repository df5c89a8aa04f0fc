#include "examples/wave3d/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "examples/common/larger.h"
#include "examples/common/seismic.h"
#include "examples/wave3d/acoustic.h"

namespace mica::examples {
namespace {

constexpr int kHalfWaves[] = {3, 2, 2};  // along the three edges of the unit cube

/// The largest error after `steps` steps of dt (velocity 1) on a grid of `intervals`.
double standing_wave_error(std::int64_t intervals, double dt, std::int64_t steps, const Target& target) {
  const double h = 1.0 / static_cast<double>(intervals);
  const ImageParam before(Float(64), 3, "before"), now(Float(64), 3, "now");
  const Func mirrored = BoundaryConditions::mirror_interior(now);
  Var z("z"), x("x"), y("y");
  Func next("next");
  const Expr laplacian = laplacian25(
      Float(64), [&](Expr i, Expr j, Expr k) -> Expr { return mirrored(i, j, k); }, z, x, y);
  const Param<double> courant("courant", dt * dt / (h * h));
  next(z, x, y) = 2.0 * now(z, x, y) - before(z, x, y) + courant * laplacian;
  if (target.is_gpu()) next.gpu_tile(z, x, 32, 4);

  double k2 = 0;
  for (const int k : kHalfWaves) k2 += std::pow(std::numbers::pi * k, 2);
  const double turn = 2 * std::asin(dt * std::sqrt(k2) / 2);  // of the phase, in a step
  const std::int64_t n = intervals + 1;
  const auto wave = [&](double phase) {
    Buffer<double> p(n, n, n);
    p.for_each([&](double& value, const Coordinates& at) {
      value = std::cos(phase);
      for (std::size_t d = 0; d < 3; ++d) {
        value *= std::cos(std::numbers::pi * kHalfWaves[d] * static_cast<double>(at[d]) * h);
      }
    });
    return p;
  };
  Buffer<double> last = wave(-turn), p = wave(0);
  Iteration iteration({{before, now}, {now, next}});
  iteration.run({{before, last}, {now, p}}, steps, {.target = target});
  const Buffer<double> exact = wave(turn * static_cast<double>(steps));
  const double *a = std::as_const(p).data(), *b = exact.data();
  double largest = 0;
  for (std::int64_t i = 0; i < p.elements(); ++i) {
    largest = larger(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}

}  // namespace

bool check_order(const Target& target) {
  const std::int64_t grids[] = {12, 18, 27};
  const double dt = stable_time_step(1.0 / static_cast<double>(grids[2]), 1, 8, 3);
  const auto steps = static_cast<std::int64_t>(0.4 / dt);
  double last = 0, order = 0;
  for (std::size_t i = 0; i < std::size(grids); ++i) {
    const double error = standing_wave_error(grids[i], dt, steps, target);
    if (i > 0)
      order = std::log(last / error) /
              std::log(static_cast<double>(grids[i]) / static_cast<double>(grids[i - 1]));
    std::printf("space     h = 1/%-3lld error %.6e%s", static_cast<long long>(grids[i]), error,
                i > 0 ? "" : "\n");
    if (i > 0) std::printf("  order %.3f\n", order);
    last = error;
  }
  const bool right = std::abs(order - 8) <= 0.2;
  std::printf("order     in space %.3f, expected 8: %s\n", order, right ? "right" : "WRONG");
  return right;
}

bool check_point_source(const Target& target) {
  constexpr double kSpacing = 10, kVelocity = 2000, kTime = 0.55;
  constexpr std::int64_t kMargin = 50;
  VelocityVolume model{Buffer<float>(61, 61, 61), kSpacing, "uniform medium"};
  model.velocity.fill(static_cast<float>(kVelocity));
  Shot shot{{303.1, 296.4, 304.7}, resolved_frequency(kSpacing, kVelocity), {}};
  shot.receivers = {{303.1, 460, 304.7}, {120.5, 150.2, 333.3}, {500.7, 480.9, 100.3}};
  const double share = 0.3;  // of the longest time step, so that its error is small beside that of space
  const double dt = stable_time_step(kSpacing, kVelocity, 8, 3) * share / 0.9;
  Acoustic3d wave(model, shot, static_cast<std::int64_t>(kTime / dt), kMargin, target, share);
  wave.run();
  const Buffer<float>& gather = wave.gather();
  double worst = 0;
  for (std::size_t i = 0; i < shot.receivers.size(); ++i) {
    const Position& at = shot.receivers[i];
    const double r = std::hypot(at[0] - shot.source[0], at[1] - shot.source[1], at[2] - shot.source[2]);
    double misfit = 0, late = 0, power = 0;
    for (std::int64_t n = 0; n < gather.extent(1); ++n) {
      const double t = static_cast<double>(n + 1) * wave.dt() - r / kVelocity;
      const double exact = ricker_at(shot.frequency, t) / (4 * std::numbers::pi * r);
      const double square = std::pow(gather(static_cast<std::int64_t>(i), n) - exact, 2);
      misfit += square;
      power += exact * exact;
      if (t > 2.6 / shot.frequency) late += square;  // the wavelet is over: what comes is from the edges
    }
    const double share_off = std::sqrt(misfit / power);
    std::printf("source    receiver at %.1f m: misfit %.3f %%, echoes of the edges %.3f %%\n", r,
                100 * share_off, 100 * std::sqrt(late / power));
    worst = larger(worst, share_off);
  }
  const bool right = worst < 0.01;
  std::printf("source    largest misfit %.3f %%, allowed 1 %%: %s\n", 100 * worst,
              right ? "right" : "WRONG");
  return right;
}

}  // namespace mica::examples
