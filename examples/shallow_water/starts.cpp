#include "examples/shallow_water/starts.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace mica::examples {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

/// The thickness of the jets, which changes by `range` metres to either side at each, and waves on them.
double jet_thickness(const Plane& plane, double range, double breadth, double x, double y) {
  const double sharp = plane.width / (kTurn * breadth);
  const double across = std::tanh(sharp * std::cos(kTurn * y / plane.width));
  double waves = 0;
  for (int k = 1; k <= 6; ++k) waves += std::cos(k * kTurn * x / plane.length + 2.0 * k * k) / 6;
  return plane.depth + range * (across + 0.04 * waves * (1 - across * across));
}

}  // namespace

State jets(const Plane& plane, double speed, double breadth) {
  if (plane.coriolis == 0) throw UserError("a jet in geostrophic balance needs a plane that turns");
  const double range = plane.coriolis * speed * breadth / plane.gravity;
  if (!(std::abs(range) * 1.05 < plane.depth)) {
    throw UserError("a jet of " + std::to_string(speed) + " m/s changes the thickness by " +
                    std::to_string(range) + " m, and there are " + std::to_string(plane.depth) +
                    " m: give more --depth");
  }
  State state(plane);
  const double dx = plane.dx(), dy = plane.dy();
  const auto h = [&](double i, double j) {
    return jet_thickness(plane, range, breadth, (i + 0.5) * dx, (j + 0.5) * dy);
  };
  const double balance = plane.gravity / plane.coriolis;
  for (std::int64_t row = 0; row < plane.ny; ++row) {
    for (std::int64_t column = 0; column < plane.nx; ++column) {
      const auto i = static_cast<double>(column), j = static_cast<double>(row);
      state.h(column, row) = h(i, j);
      state.u(column, row) = -balance / dy * (h(i - 0.5, j + 0.5) - h(i - 0.5, j - 0.5));
      state.v(column, row) = balance / dx * (h(i + 0.5, j - 0.5) - h(i - 0.5, j - 0.5));
    }
  }
  return state;
}

State bump(const Plane& plane, double height, double radius) {
  if (!(height > -plane.depth)) {
    throw UserError("a bump of " + std::to_string(height) + " m leaves no fluid of " +
                    std::to_string(plane.depth) + " m");
  }
  State state(plane);
  state.u.fill(0);
  state.v.fill(0);
  state.h.for_each([&](double& value, const Coordinates& at) {
    const double x = (static_cast<double>(at[0]) + 0.5) * plane.dx() - plane.length / 2;
    const double y = (static_cast<double>(at[1]) + 0.5) * plane.dy() - plane.width / 2;
    value = plane.depth + height * std::exp(-(x * x + y * y) / (radius * radius));
  });
  return state;
}

double fastest(const State& state, const Plane& plane) {
  double thickest = 0, flow = 0;
  state.h.for_each([&](const double& h, const Coordinates&) { thickest = std::max(thickest, h); });
  for (const Buffer<double>& component : {state.u, state.v}) {
    component.for_each([&](const double& c, const Coordinates&) { flow = std::max(flow, std::abs(c)); });
  }
  return std::sqrt(plane.gravity * thickest) + flow;
}

}  // namespace mica::examples
