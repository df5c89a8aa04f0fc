#include "examples/common/wave_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "dsl/expr/diagnostics.h"

namespace mica::examples {
namespace {

struct Speeds {
  explicit Speeds(const Buffer<float>& velocity) {
    const float* v = velocity.data();
    slowest = *std::min_element(v, v + velocity.elements());
    fastest = *std::max_element(v, v + velocity.elements());
  }
  double slowest, fastest;
};

}  // namespace

double pressure_scale(const Buffer<float>& pressure) {
  std::vector<float> magnitudes;
  pressure.for_each([&](const float& p, const Coordinates&) {
    if (!std::isfinite(p)) throw UserError("the pressure has grown beyond the largest number");
    magnitudes.push_back(std::abs(p));
  });
  auto rank =
      magnitudes.begin() + static_cast<std::ptrdiff_t>(0.998 * static_cast<double>(magnitudes.size()));
  std::nth_element(magnitudes.begin(), rank, magnitudes.end());
  return *rank > 0 ? *rank : 1.0;
}

void draw_section(Plot& plot, const Section& section) {
  const Speeds speeds(section.velocity);
  const double span = std::max(speeds.fastest - speeds.slowest, 1.0);
  const std::int64_t depth = section.velocity.extent(0);
  const Buffer<float> dense = section.pressure.copy();
  const float *v = section.velocity.data(), *p = dense.data();
  plot.image(section.velocity.extent(1), depth, [&](std::int64_t x, std::int64_t up) {
    const std::int64_t at = depth - 1 - up + x * depth;
    const double s = std::clamp(p[at] / section.scale, -1.0, 1.0);
    // Small amplitudes show, too; the ends are those of the colour bar.
    const Color wave = s > 0 ? diverging(1) : diverging(0);
    return mix(gray_scale((v[at] - speeds.slowest) / span), wave, std::pow(std::abs(s), 0.6));
  });
}

void draw_bars(Page& page, const Frame& frame, const Buffer<float>& velocity, double scale) {
  const Speeds speeds(velocity);
  const auto over_gray = [](double share) {
    const double s = 2 * share - 1;
    return mix(gray_scale(0), s > 0 ? diverging(1) : diverging(0), std::pow(std::abs(s), 0.6));
  };
  page.color_bar(frame, over_gray, {"pressure (source = 1)", -scale, scale});
  Frame beside = frame;
  beside.left += 130;
  page.color_bar(beside, gray_scale, {"velocity (km/s)", speeds.slowest * 1e-3, speeds.fastest * 1e-3});
}

double round_length(double km) {
  const double power = std::pow(10.0, std::floor(std::log10(km)));
  return power * (km >= 5 * power ? 5 : km >= 2 * power ? 2 : 1);
}

std::string in_km(double km) {
  char words[64];
  km < 1 ? std::snprintf(words, sizeof words, "%g m", km * 1e3)
         : std::snprintf(words, sizeof words, "%g km", km);
  return words;
}

}  // namespace mica::examples
