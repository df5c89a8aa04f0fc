// What charts are drawn on: coordinates in pixels from the upper left corner.
#pragma once

#include <cstdint>
#include <string>

#include "bench/chart.h"

namespace mica::bench {

inline constexpr int kChartWidth = 800, kChartHeight = 500;

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};
struct Place {
  double x = 0, y = 0;
};
enum class Anchor : std::uint8_t { Start, Middle, End };

class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual void line(Place from, Place to, Color color, double width, bool dashed) = 0;
  virtual void dot(Place centre, Color color, double radius) = 0;
  /// `at` is on the base line; `size` is about the height of a line. Upright text runs from bottom to
  /// top.
  virtual void text(Place at, const std::string& text, Anchor anchor, double size, bool upright) = 0;
};

/// Frame, ticks, lines and legend of `chart`.
void draw(const Chart& chart, Canvas& canvas);

}  // namespace mica::bench
