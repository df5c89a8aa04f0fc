#include "examples/multigrid/picture.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "examples/common/pictures.h"

namespace mica::examples {
namespace {

void draw_residuals(Page& page, const Frame& frame, const std::vector<History>& histories) {
  constexpr std::size_t kDrawn = 4;
  const Color colors[kDrawn] = {kBlue, kRed, kGreen, kOrange};
  const std::size_t first = histories.size() - std::min(kDrawn, histories.size());
  std::size_t cycles = 1;
  double least = 1;
  for (std::size_t i = first; i < histories.size(); ++i) {
    const std::vector<double>& residuals = histories[i].residuals;
    cycles = std::max(cycles, residuals.size() - 1);
    for (const double r : residuals) least = std::min(least, r / residuals.front());
  }
  Plot plot = page.plot(frame, {"V-cycles", 0, static_cast<double>(cycles)},
                        {"residual / residual of u = 0", least / 2, 2, true}, "Residual");
  for (std::size_t i = first; i < histories.size(); ++i) {
    std::vector<PlotPoint> points;
    for (const double r : histories[i].residuals) {
      points.push_back({static_cast<double>(points.size()), r / histories[i].residuals.front()});
    }
    const std::string n = std::to_string(histories[i].n);
    plot.curve(points, colors[i - first], n + " x " + n + " x " + n);
    plot.dots(points, colors[i - first], "", 3, true);
  }
  plot.legend(Corner::BottomLeft);
}

void draw_slice(Page& page, const Frame& frame, const Buffer<double>& u, bool sphere) {
  const std::int64_t n = u.extent(0) - 2;
  const Buffer<double> slice = u.cropped({{0, n}, {0, n}, {3 * n / 8, 1}}).copy();
  const double* values = slice.data();
  double most = 0;
  for (std::int64_t i = 0; i < n * n; ++i) most = std::max(most, std::abs(values[i]));
  Plot plot = page.plot(frame, {"x", 0, 1}, {"y", 0, 1},
                        sphere ? "u at z = 3/8, and where beta rises" : "u at z = 3/8");
  plot.image(n, n, [&](std::int64_t x, std::int64_t y) {
    // In steps, so that files stay small.
    return diverging(std::round(32 * (1 + values[x + n * y] / most)) / 64);
  });
  if (sphere) {
    const double radius = std::sqrt(1.0 / 16 - 1.0 / 64);
    std::vector<PlotPoint> circle;
    for (int i = 0; i <= 120; ++i) {
      const double a = 2 * std::numbers::pi * i / 120;
      circle.push_back({0.5 + radius * std::cos(a), 0.5 + radius * std::sin(a)});
    }
    plot.curve(circle, kBlack, "", 1.5, true);
  }
  page.color_bar({frame.left + frame.width + 20, frame.top, 20, frame.height}, diverging,
                 {"u", -most, most});
}

}  // namespace

void draw(const std::string& path, const std::vector<History>& histories, const Buffer<double>& u,
          bool sphere) {
  constexpr double kTop = 45, kSide = 360;
  Page page(1050, static_cast<int>(kTop + kSide + 65));
  draw_residuals(page, {100, kTop, kSide, kSide}, histories);
  draw_slice(page, {560, kTop, kSide, kSide}, u, sphere);
  page.save(path);
}

}  // namespace mica::examples
