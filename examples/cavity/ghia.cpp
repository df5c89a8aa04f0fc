#include "examples/cavity/ghia.h"

#include <algorithm>
#include <cmath>

namespace mica::examples {
namespace {

// The places are points of a grid of 128 intervals.
struct Row {
  int place;
  double re100, re1000;
};
constexpr Row kU[] = {
    {0, 0, 0},
    {7, -0.03717, -0.18109},
    {8, -0.04192, -0.20196},
    {9, -0.04775, -0.22220},
    {13, -0.06434, -0.29730},
    {22, -0.10150, -0.38289},
    {36, -0.15662, -0.27805},
    {58, -0.21090, -0.10648},
    {64, -0.20581, -0.06080},
    {79, -0.13641, 0.05702},
    {94, 0.00332, 0.18719},
    {109, 0.23151, 0.33304},
    {122, 0.68717, 0.46604},
    {123, 0.73722, 0.51117},
    {124, 0.78871, 0.57492},
    {125, 0.84123, 0.65928},
    {128, 1, 1},
};
constexpr Row kV[] = {
    {0, 0, 0},
    {8, 0.09233, 0.27485},
    {9, 0.10091, 0.29012},
    {10, 0.10890, 0.30353},
    {12, 0.12317, 0.32627},
    {20, 0.16077, 0.37095},
    {29, 0.17507, 0.33075},
    {30, 0.17527, 0.32235},
    {64, 0.05454, 0.02526},
    {103, -0.24533, -0.31966},
    {110, -0.22445, -0.42665},
    {116, -0.16914, -0.51550},
    {121, -0.10313, -0.39188},
    {122, -0.08864, -0.33714},
    {123, -0.07391, -0.27669},
    {124, -0.05906, -0.21388},
    {128, 0, 0},
};

/// The cubic through four neighbouring values around `at`, which counts intervals from the first.
double interpolated(const std::vector<double>& values, double at) {
  const auto last = static_cast<std::ptrdiff_t>(values.size()) - 4;
  const auto first =
      std::clamp(static_cast<std::ptrdiff_t>(std::floor(at)) - 1, std::ptrdiff_t{0}, last);
  double sum = 0;
  for (std::ptrdiff_t i = first; i < first + 4; ++i) {
    double weight = 1;
    for (std::ptrdiff_t j = first; j < first + 4; ++j) {
      if (j != i) weight *= (at - static_cast<double>(j)) / static_cast<double>(i - j);
    }
    sum += weight * values[static_cast<std::size_t>(i)];
  }
  return sum;
}

}  // namespace

std::vector<PlotPoint> ghia(double reynolds, Line line) {
  std::vector<PlotPoint> points;
  if (reynolds != 100 && reynolds != 1000) return points;
  for (const Row& row : line == Line::U ? kU : kV) {
    points.push_back({row.place / 128.0, reynolds == 100 ? row.re100 : row.re1000});
  }
  return points;
}

double largest_deviation(const std::vector<double>& values, const std::vector<PlotPoint>& published) {
  double largest = 0;
  for (const PlotPoint& point : published) {
    const double at = point.x * static_cast<double>(values.size() - 1);
    const double deviation = std::abs(interpolated(values, at) - point.y);
    if (!(deviation <= largest)) largest = deviation;  // NaN is kept
  }
  return largest;
}

}  // namespace mica::examples
