#include "tools/pictures/plot_axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mica::pictures {
namespace {

std::string power_of_ten(int exponent) { return "10^" + std::to_string(exponent); }

// The least of 1, 2, 5, 10, 20, ... times a power of ten that is not below `step`.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::string with_decimals(double value, int decimals) {
  char words[64];
  std::snprintf(words, sizeof words, "%.*f", decimals, value == 0 ? 0.0 : value);
  return words;
}

Axis drawable(Axis axis) {
  if (axis.logarithmic) {
    const bool positive = axis.from > 0 && axis.to > 0;
    if (!positive || !std::isfinite(axis.from) || !std::isfinite(axis.to)) axis.from = axis.to = 1;
    if (axis.from == axis.to) {
      axis.from /= 10;
      axis.to *= 10;
    }
    return axis;
  }
  if (!std::isfinite(axis.from) || !std::isfinite(axis.to) || !std::isfinite(axis.to - axis.from)) {
    axis.from = 0;
    axis.to = 1;
  }
  const double size = std::max(std::abs(axis.from), std::abs(axis.to));
  if (std::abs(axis.to - axis.from) <= 1e-9 * size || size < 1e-300) {
    const double more = size < 1e-300 ? 1 : 0.1 * size;
    axis.from -= more;
    axis.to += more;
  }
  return axis;
}

}  // namespace

DrawnAxis::DrawnAxis(const Axis& axis, int room) : axis_(drawable(axis)), label_(axis.label) {
  if (!axis_.ticks.empty()) {
    given_ticks();
  } else if (!axis_.bare) {
    axis_.logarithmic ? decades(room) : linear_ticks(room);
  }
}

double DrawnAxis::share(double value) const {
  if (!axis_.logarithmic) return (value - axis_.from) / (axis_.to - axis_.from);
  return std::log(value / axis_.from) / std::log(axis_.to / axis_.from);
}

void DrawnAxis::given_ticks() {
  for (const double value : axis_.ticks) {
    const double at = share(value);
    if (!(at >= 0 && at <= 1)) continue;
    char words[64];
    std::snprintf(words, sizeof words, "%g", value);
    ticks_.push_back({at, words});
  }
}

void DrawnAxis::linear_ticks(int room) {
  const double low = std::min(axis_.from, axis_.to), high = std::max(axis_.from, axis_.to);
  const double step = round_step((high - low) / std::max(room, 1));
  // Numbers that would be long leave a power of ten to the label.
  const int size = static_cast<int>(std::floor(std::log10(std::max(std::abs(low), std::abs(high)))));
  const int left_out = size >= 5 || size < -2 ? size : 0;
  const double unit = std::pow(10.0, left_out);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step / unit) + 1e-9)));
  if (left_out != 0) label_ += " x " + power_of_ten(left_out);
  for (double n = std::ceil(low / step - 1e-6); n <= high / step + 1e-6; ++n) {
    ticks_.push_back({share(n * step), with_decimals(n * step / unit, std::min(decimals, 12))});
  }
}

void DrawnAxis::decades(int room) {
  const double low = std::log10(std::min(axis_.from, axis_.to));
  const double high = std::log10(std::max(axis_.from, axis_.to));
  const int each = std::max(1, static_cast<int>(std::ceil((high - low) / std::max(room, 1))));
  const bool few = high - low < 2.1;  // then 2 and 5 have words, too
  for (int n = static_cast<int>(std::floor(low)); n <= static_cast<int>(std::ceil(high)); ++n) {
    for (int digit = 1; digit <= 9; ++digit) {
      const double place = n + std::log10(digit);
      if (place < low - 1e-9 || place > high + 1e-9) continue;
      std::string words;
      if (digit == 1 && n % each == 0) words = power_of_ten(n);
      if (few && (digit == 2 || digit == 5)) words = std::to_string(digit) + "x" + power_of_ten(n);
      if (few && n >= -2 && n <= 3 && (digit == 1 || digit == 2 || digit == 5)) {
        words = with_decimals(digit * std::pow(10.0, n), std::max(0, -n));
      }
      if (digit == 1 || each == 1) ticks_.push_back({share(std::pow(10.0, place)), words});
    }
  }
}

}  // namespace mica::pictures
