#include "examples/cavity/ghia.h"

#include <algorithm>
#include <cmath>

#include "examples/common/larger.h"

namespace mica::examples {
namespace {

// The places are points of a grid of 128 intervals.
struct Row {
  int place;
  double ghia100, ghia1000, spectral1000;
};
constexpr Row kU[] = {
    {0, 0, 0, 0},
    {7, -0.03717, -0.18109, -0.1812881},
    {8, -0.04192, -0.20196, -0.2023300},
    {9, -0.04775, -0.22220, -0.2228955},
    {13, -0.06434, -0.29730, -0.3004561},
    {22, -0.10150, -0.38289, -0.3885691},
    {36, -0.15662, -0.27805, -0.2803696},
    {58, -0.21090, -0.10648, -0.1081999},
    {64, -0.20581, -0.06080, -0.0620561},
    {79, -0.13641, 0.05702, 0.0570178},
    {94, 0.00332, 0.18719, 0.1886747},
    {109, 0.23151, 0.33304, 0.3372212},
    {122, 0.68717, 0.46604, 0.4723329},
    {123, 0.73722, 0.51117, 0.5169277},
    {124, 0.78871, 0.57492, 0.5808359},
    {125, 0.84123, 0.65928, 0.6644227},
    {128, 1, 1, 1},
};
constexpr Row kV[] = {
    {0, 0, 0, 0},
    {8, 0.09233, 0.27485, 0.2807056},
    {9, 0.10091, 0.29012, 0.2962703},
    {10, 0.10890, 0.30353, 0.3099097},
    {12, 0.12317, 0.32627, 0.3330442},
    {20, 0.16077, 0.37095, 0.3769189},
    {29, 0.17507, 0.33075, 0.3339924},
    {30, 0.17527, 0.32235, 0.3253592},
    {64, 0.05454, 0.02526, 0.0257995},
    {103, -0.24533, -0.31966, -0.3202137},
    {110, -0.22445, -0.42665, -0.4264545},
    {116, -0.16914, -0.51550, -0.5264392},
    {121, -0.10313, -0.39188, -0.4103754},
    {122, -0.08864, -0.33714, -0.3553213},
    {123, -0.07391, -0.27669, -0.2936869},
    {124, -0.05906, -0.21388, -0.2279225},
    {128, 0, 0, 0},
};

std::vector<PlotPoint> column(Line line, double Row::*value) {
  std::vector<PlotPoint> points;
  for (const Row& row : line == Line::U ? kU : kV) points.push_back({row.place / 128.0, row.*value});
  return points;
}

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
  if (reynolds == 100) return column(line, &Row::ghia100);
  if (reynolds == 1000) return column(line, &Row::ghia1000);
  return {};
}

std::vector<PlotPoint> spectral(double reynolds, Line line) {
  if (reynolds == 1000) return column(line, &Row::spectral1000);
  return {};
}

double error_of_ghia(double reynolds) { return reynolds == 100 ? 0.01 : 0.0185; }

double largest_deviation(const std::vector<double>& values, const std::vector<PlotPoint>& published) {
  double largest = 0;
  for (const PlotPoint& point : published) {
    const double at = point.x * static_cast<double>(values.size() - 1);
    largest = larger(largest, std::abs(interpolated(values, at) - point.y));
  }
  return largest;
}

}  // namespace mica::examples
