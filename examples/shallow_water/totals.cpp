#include "examples/shallow_water/flow.h"

namespace mica::examples {
namespace {

/// A field around the periodic plane.
class Around {
 public:
  explicit Around(const Buffer<double>& field)
      : values_(field.data()), nx_(field.extent(0)), ny_(field.extent(1)), row_(field.stride(1)) {}
  double operator()(std::int64_t i, std::int64_t j) const {
    return values_[(i + nx_) % nx_ + (j + ny_) % ny_ * row_];
  }

 private:
  const double* values_;
  std::int64_t nx_, ny_, row_;
};

}  // namespace

Buffer<double> vorticity(const State& state, const Plane& plane) {
  const Around u(state.u), v(state.v);
  Buffer<double> result(plane.nx, plane.ny);
  result.for_each([&](double& value, const Coordinates& at) {
    const std::int64_t i = at[0], j = at[1];
    value = (v(i, j) - v(i - 1, j)) / plane.dx() - (u(i, j) - u(i, j - 1)) / plane.dy();
  });
  return result;
}

Totals totals(const State& state, const Plane& plane) {
  const Buffer<double> turning = vorticity(state, plane);
  const Around u(state.u), v(state.v), h(state.h);
  Totals sums;
  turning.for_each([&](const double& relative, const Coordinates& at) {
    const std::int64_t i = at[0], j = at[1];
    const double left = (h(i - 1, j) + h(i, j)) / 2, lower = (h(i, j - 1) + h(i, j)) / 2;
    const double corner = (h(i - 1, j - 1) + h(i, j - 1) + h(i - 1, j) + h(i, j)) / 4;
    const double absolute = plane.coriolis + relative;
    sums.mass += h(i, j);
    sums.energy +=
        (plane.gravity * h(i, j) * h(i, j) + left * u(i, j) * u(i, j) + lower * v(i, j) * v(i, j)) / 2;
    sums.enstrophy += absolute * absolute / corner / 2;
  });
  return sums;
}

Drift drift(const Totals& now, const Totals& before) {
  const auto share = [](long double a, long double b) { return static_cast<double>((a - b) / b); };
  return {share(now.mass, before.mass), share(now.energy, before.energy),
          share(now.enstrophy, before.enstrophy)};
}

}  // namespace mica::examples
