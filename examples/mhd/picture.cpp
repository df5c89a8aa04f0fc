#include "examples/mhd/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "examples/common/pictures.h"

namespace mica::examples {
namespace {

/// In 40 steps, so that files stay small.
Color stepped(double share) { return diverging(std::round(40 * share) / 40); }

}  // namespace

void draw(const std::string& path, const std::vector<TotalsAt>& history,
          const Buffer<double>& vorticity) {
  constexpr double kSide = 400, kTop = 45;
  Page page(1130, static_cast<int>(kTop + kSide) + 65);
  const Totals& start = history.front().totals;
  const double moving = start.kinetic + start.magnetic;
  Plot plot = page.plot({85, kTop, kSide, kSide}, {"time", 0, history.back().time},
                        {"share of what moves at the start", 0, 1.4}, "Energies");
  const auto curve = [&](const Color& color, const char* name, bool dashed, const auto& value) {
    std::vector<PlotPoint> points;
    for (const TotalsAt& at : history) points.push_back({at.time, value(at.totals) / moving});
    plot.curve(points, color, name, 2, dashed);
  };
  curve(kGray, "all", true, [&](const Totals& t) { return t.energy() - start.heat; });
  curve(kBlue, "kinetic", false, [](const Totals& t) { return t.kinetic; });
  curve(kRed, "magnetic", false, [](const Totals& t) { return t.magnetic; });
  curve(kOrange, "heat", false, [&](const Totals& t) { return t.heat - start.heat; });
  plot.legend(Corner::TopRight);

  const std::int64_t n = vorticity.extent(0);
  const double* values = vorticity.data();
  double square = 0;
  for (std::int64_t i = 0; i < n * n; ++i) square += values[i] * values[i];
  const double most = std::max(0.1, 3 * std::sqrt(square / static_cast<double>(n * n)));
  constexpr double kLength = 2 * std::numbers::pi;
  char title[64];
  std::snprintf(title, sizeof title, "Vorticity along z at time %g", history.back().time);
  Plot slice = page.plot({590, kTop, kSide, kSide}, {"x", 0, kLength}, {"y", 0, kLength}, title);
  slice.image(n, n, [&](std::int64_t x, std::int64_t y) {
    return stepped(0.5 + values[x + n * y] / (2 * most));
  });
  page.color_bar({1010, kTop, 20, kSide}, stepped, {"vorticity", -most, most});
  page.save(path);
}

}  // namespace mica::examples
