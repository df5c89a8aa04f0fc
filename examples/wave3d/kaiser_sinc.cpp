#include "examples/wave3d/kaiser_sinc.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace mica::examples {
namespace {

std::vector<std::pair<std::int64_t, double>> weights_along(double at) {
  constexpr double kB = 6.31;
  const double nearest = std::round(at);
  if (std::abs(at - nearest) < 1e-9) return {{static_cast<std::int64_t>(nearest), 1.0}};
  std::vector<std::pair<std::int64_t, double>> weights;
  const auto first = static_cast<std::int64_t>(std::floor(at)) - kSincRadius + 1;
  for (std::int64_t i = first; i < first + 2 * kSincRadius; ++i) {
    const double d = static_cast<double>(i) - at, t = d / kSincRadius;
    const double sinc = std::sin(std::numbers::pi * d) / (std::numbers::pi * d);
    weights.emplace_back(
        i, sinc * std::cyl_bessel_i(0.0, kB * std::sqrt(1 - t * t)) / std::cyl_bessel_i(0.0, kB));
  }
  return weights;
}

}  // namespace

Place kaiser_sinc(const std::array<double, 3>& at) {
  Place place;
  for (const auto& [k, wk] : weights_along(at[2])) {
    for (const auto& [j, wj] : weights_along(at[1])) {
      for (const auto& [i, wi] : weights_along(at[0])) place.push_back({{i, j, k}, wi * wj * wk});
    }
  }
  return place;
}

}  // namespace mica::examples
