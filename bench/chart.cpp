#include "bench/chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/canvas.h"

namespace mica::bench {
namespace {

constexpr Color kInk{40, 40, 40}, kGrid{225, 225, 225};
constexpr Color kColors[] = {{31, 95, 191}, {217, 115, 13}, {110, 110, 110}, {46, 139, 87}};
constexpr double kLeft = 76, kRight = 24, kTop = 44, kBottom = 60, kTextSize = 13;
constexpr Place kUpperLeft{kLeft, kTop}, kLowerRight{kChartWidth - kRight, kChartHeight - kBottom};

// The smallest of 1, 2, 2.5 and 5 times a power of ten that divides `range` into at most `count` parts.
double nice_step(double range, int count) {
  const double least = range / count, power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// The scales of both axes.
struct Scales {
  double x_low = 0, x_high = 1;  // base-2 logarithms
  double y_high = 1, y_step = 1;
  std::vector<double> x_ticks;

  explicit Scales(const Chart& chart) {
    std::vector<double> xs;
    double largest = 0;
    for (const Series& s : chart.series) {
      for (const auto& [x, y] : s.points) {
        xs.push_back(x);
        largest = std::max(largest, y);
      }
    }
    std::sort(xs.begin(), xs.end());
    xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
    if (xs.empty()) xs = {1, 2};
    x_low = std::log2(xs.front()) - 0.25;
    x_high = std::log2(xs.back()) + 0.25;
    for (double p = std::ceil(x_low); p <= x_high; ++p) x_ticks.push_back(std::exp2(p));
    if (x_ticks.size() < 2) x_ticks = xs;
    y_step = nice_step(largest > 0 ? largest : 1, 6);
    y_high = y_step * std::max(1.0, std::ceil(largest * 1.04 / y_step));
  }
  [[nodiscard]] Place place(double x, double y) const {
    const double share = (std::log2(x) - x_low) / (x_high - x_low);
    return {kUpperLeft.x + share * (kLowerRight.x - kUpperLeft.x),
            kLowerRight.y - y / y_high * (kLowerRight.y - kUpperLeft.y)};
  }
};

void draw_axes(const Chart& chart, const Scales& scales, Canvas& canvas) {
  for (const double x : scales.x_ticks) {
    const double at = scales.place(x, 0).x;
    canvas.line({at, kUpperLeft.y}, {at, kLowerRight.y}, kGrid, 1, false);
    canvas.line({at, kLowerRight.y}, {at, kLowerRight.y + 5}, kInk, 1, false);
    canvas.text({at, kLowerRight.y + 20}, fmt::format("{:g}", x), Anchor::Middle, kTextSize, false);
  }
  for (double y = 0; y <= scales.y_high * (1 + 1e-9); y += scales.y_step) {
    const double at = scales.place(1, y).y;
    canvas.line({kUpperLeft.x, at}, {kLowerRight.x, at}, kGrid, 1, false);
    canvas.line({kUpperLeft.x - 5, at}, {kUpperLeft.x, at}, kInk, 1, false);
    canvas.text({kUpperLeft.x - 9, at + 4}, fmt::format("{:g}", y), Anchor::End, kTextSize, false);
  }
  canvas.line({kUpperLeft.x, kUpperLeft.y}, {kUpperLeft.x, kLowerRight.y}, kInk, 1.2, false);
  canvas.line({kUpperLeft.x, kLowerRight.y}, {kLowerRight.x, kLowerRight.y}, kInk, 1.2, false);
  const double middle = (kUpperLeft.x + kLowerRight.x) / 2;
  canvas.text({middle, 26}, chart.title, Anchor::Middle, kTextSize + 2, false);
  canvas.text({middle, kChartHeight - 14.0}, chart.x_label, Anchor::Middle, kTextSize, false);
  canvas.text({20, (kUpperLeft.y + kLowerRight.y) / 2}, chart.y_label, Anchor::Middle, kTextSize, true);
}

void draw_series(const Series& s, Color color, const Scales& scales, Canvas& canvas) {
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    const Place here = scales.place(s.points[i].first, s.points[i].second);
    if (i > 0) {
      const auto& [x, y] = s.points[i - 1];
      canvas.line(scales.place(x, y), here, color, 2, s.dashed);
    }
    if (!s.dashed) canvas.dot(here, color, 3.5);
  }
}

// In the lower right corner, where bandwidth charts are empty.
void draw_legend(const Chart& chart, Canvas& canvas) {
  const double x = kLowerRight.x - 205;
  double y = kLowerRight.y - 14 - 20 * static_cast<double>(chart.series.size() - 1);
  for (std::size_t i = 0; i < chart.series.size(); ++i, y += 20) {
    const Color color = kColors[i % std::size(kColors)];
    canvas.line({x, y}, {x + 28, y}, color, 2, chart.series[i].dashed);
    if (!chart.series[i].dashed) canvas.dot({x + 14, y}, color, 3.5);
    canvas.text({x + 36, y + 4}, chart.series[i].name, Anchor::Start, kTextSize, false);
  }
}

}  // namespace

void draw(const Chart& chart, Canvas& canvas) {
  const Scales scales(chart);
  draw_axes(chart, scales, canvas);
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    draw_series(chart.series[i], kColors[i % std::size(kColors)], scales, canvas);
  }
  if (!chart.series.empty()) draw_legend(chart, canvas);
}

}  // namespace mica::bench
