// Line charts over a logarithmic axis, as SVG and as PNG.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mica::bench {

/// Lines through points (x, y), with a dot at each.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< by ascending x
  bool dashed = false;                            ///< a dashed line without dots
};

/// x is drawn to base 2, y from zero. Every x is above zero, no y is negative.
struct Chart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
};

/// A whole SVG document of 800 by 500 pixels.
std::string to_svg(const Chart& chart);
/// The same picture as a PNG file at twice the resolution. UserError when it cannot be written.
void write_png(const Chart& chart, const std::string& path);

}  // namespace mica::bench
