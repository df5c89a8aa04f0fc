#include "examples/heat3d/heat.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "examples/common/larger.h"

namespace mica::examples {
namespace {

Func step_of(const ImageParam& u, const Param<double>& r, const Target& target) {
  Var x("x"), y("y"), z("z");
  Func next("next");
  next(x, y, z) = (1 - 6 * r) * u(x, y, z) + r * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                                  u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
  if (target.is_gpu()) {
    // Each block walks 32 planes; time_tile keeps the levels of its steps in registers.
    next.gpu_tile(x, y, 32, 8).vectorize(x, 2).unroll(y, 2).march(z, 32);
  } else {
    next.vectorize(x, 8).parallel(z, 4);
  }
  return next;
}

}  // namespace

double Mode::at(const Grid& grid, std::int64_t i, std::int64_t j, std::int64_t k) const {
  const auto wave = [&](std::int64_t n, int halves) {
    return std::sin(std::numbers::pi * halves * static_cast<double>(n) * grid.spacing());
  };
  return wave(i, half_waves[0]) * wave(j, half_waves[1]) * wave(k, half_waves[2]);
}

double Mode::rate() const {
  double sum = 0;
  for (const int k : half_waves) sum += std::pow(std::numbers::pi * k, 2);
  return sum;
}

double Mode::rate_on(const Grid& grid) const {
  const double h = grid.spacing();
  double sum = 0;
  for (const int k : half_waves) sum += std::pow(2 / h * std::sin(std::numbers::pi * k * h / 2), 2);
  return sum;
}

Heat::Heat(const Target& target, int tile)
    : target_(target),
      tile_(tile),
      u_(Float(64), 3, "u"),
      next_(step_of(u_, r_, target)),
      heat_({{u_, next_}}) {
  heat_.stable_if(r_ <= 1.0 / 6);
}

void Heat::run(Buffer<double>& u, const Grid& grid, std::int64_t steps) {
  // Without boundary conditions a step computes the points that have all their neighbours.
  const double r = grid.dt / (grid.spacing() * grid.spacing());
  heat_.time_tile(static_cast<int>(std::clamp<std::int64_t>(steps, 1, tile_)));
  heat_.run({{u_, u}}, steps, {.target = target_, .params = {{r_, r}}});
}

Buffer<double> start(const Mode& mode, const Grid& grid) {
  const std::int64_t n = grid.intervals + 1;
  Buffer<double> u(n, n, n);
  u.for_each([&](double& value, const Coordinates& at) {
    const bool face = std::any_of(at.begin(), at.begin() + 3,
                                  [&](std::int64_t i) { return i == 0 || i == grid.intervals; });
    value = face ? 0.0 : mode.at(grid, at[0], at[1], at[2]);
  });
  return u;
}

double amplitude(const Buffer<double>& u, const Mode& mode, const Grid& grid) {
  double product = 0, square = 0;
  u.for_each([&](const double& value, const Coordinates& at) {
    const double m = mode.at(grid, at[0], at[1], at[2]);
    product += value * m;
    square += m * m;
  });
  return product / square;
}

double largest_difference(const Buffer<double>& u, const Mode& mode, const Grid& grid,
                          double amplitude) {
  double largest = 0;
  u.for_each([&](const double& value, const Coordinates& at) {
    largest = larger(largest, std::abs(value - amplitude * mode.at(grid, at[0], at[1], at[2])));
  });
  return largest;
}

}  // namespace mica::examples
