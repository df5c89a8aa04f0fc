// Plots: axes with ticks and labels, curves, images, contours and colour bars, drawn by cairo into a
// PNG or an SVG.
//
//   Page page(900, 500);
//   Plot plot = page.plot({.left = 90, .top = 40, .width = 700, .height = 380}, {"x (m)", 0, 10},
//                         {"u", 0, 1}, "decay");
//   plot.curve(points, kBlue, "computed");
//   plot.legend(Corner::TopRight);
//   page.save("decay.png");
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mica::pictures {

/// Red, green and blue, 0 to 1.
struct Color {
  double red = 0, green = 0, blue = 0;
};
inline constexpr Color kBlack{0.1, 0.1, 0.1}, kGray{0.55, 0.55, 0.55}, kBlue{0.12, 0.36, 0.70},
    kRed{0.80, 0.16, 0.15}, kGreen{0.13, 0.52, 0.25}, kOrange{0.90, 0.50, 0.05};

/// The colour of a value from 0 to 1; values outside are taken as the nearer of the two.
using ColorMap = Color (*)(double);
Color gray_scale(double share);  ///< light to dark gray
Color diverging(double share);   ///< blue, white at 0.5, red
Color sequential(double share);  ///< dark blue over green to yellow

/// `share` of b and the rest of a.
Color mix(const Color& a, const Color& b, double share);

/// A point in the units of the axes.
struct PlotPoint {
  double x = 0, y = 0;
};

/// One direction of a plot. `from` is at the left or at the bottom, `to` opposite: from > to turns the
/// axis round. A logarithmic axis needs two positive ends. Ends that are equal, not finite, or not
/// positive where they must be are widened to an axis that can be drawn.
struct Axis {
  std::string label;  ///< with its unit: "depth (km)"
  double from = 0, to = 1;
  bool logarithmic = false;
  std::vector<double> ticks = {};  ///< where it has ticks, with their numbers; empty: at round numbers
  bool bare = false;               ///< neither ticks nor the lines at them
};

/// A rectangle of a page in pixels; labels and ticks stand outside of it.
struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
};

enum class Corner : std::uint8_t { TopLeft, TopRight, BottomLeft, BottomRight };

struct PageData;  // the canvas
struct PlotData;  // the frame, the axes and what the legend has

/// Axes and what is drawn in them. Copies stand for one plot of one page.
class Plot {
 public:
  explicit Plot(std::shared_ptr<PlotData> data) : data_(std::move(data)) {}

  /// Lines from point to point; one that is not finite interrupts them. A label is for the legend.
  Plot& curve(const std::vector<PlotPoint>& points, const Color& color, const std::string& label = "",
              double width = 2, bool dashed = false);
  /// A circle at each point; `filled` or its rim alone.
  Plot& dots(const std::vector<PlotPoint>& points, const Color& color, const std::string& label = "",
             double radius = 4, bool filled = false);
  /// nx x ny rectangles that fill the axes, (0, 0) at their `from` ends. Of more than 2,048 in a
  /// direction some are left out.
  Plot& image(std::int64_t nx, std::int64_t ny,
              const std::function<Color(std::int64_t, std::int64_t)>& color);
  /// The line on which value(i, j) is `level`, of nx x ny points whose first and last lie on the ends of
  /// the axes: linear between neighbours (marching squares).
  Plot& contour(std::int64_t nx, std::int64_t ny,
                const std::function<double(std::int64_t, std::int64_t)>& value, double level,
                const Color& color, double width = 1);
  /// A filled rectangle between two of its corners.
  Plot& box(const PlotPoint& from, const PlotPoint& to, const Color& color);
  Plot& text(const PlotPoint& at, const std::string& words, const Color& color = kBlack);
  /// The labels of what was drawn so far.
  Plot& legend(Corner corner);
  /// A bar of `length` units of x in the lower left corner, with its words.
  Plot& scale_bar(double length, const std::string& words);

 private:
  std::shared_ptr<PlotData> data_;
};

enum class FileKind : std::uint8_t {
  Png,
  Svg,  ///< letters as outlines, so that it looks the same where other fonts are
};

/// A white page of so many pixels that becomes a file.
class Page {
 public:
  Page(int width, int height, FileKind kind = FileKind::Png);
  /// Axes in `frame`, a title above it.
  Plot plot(const Frame& frame, const Axis& x, const Axis& y, const std::string& title = "");
  /// The colours of a scale in an upright `frame`, its ticks and label to the right.
  void color_bar(const Frame& frame, ColorMap colors, const Axis& values);
  /// Words whose base line begins at a place of the page, in pixels from its upper left corner.
  void text(double left, double top, const std::string& words, const Color& color = kBlack);
  /// UserError naming the path when it cannot be written.
  void save(const std::string& path) const;

 private:
  std::shared_ptr<PageData> data_;
};

/// Frame, in a page that has room for it, of a picture of `width` x `height` units in true proportion,
/// at most `wide` x `high` pixels and at least 120 in each direction.
Frame proportional(double width, double height, double wide, double high, double left, double top);

}  // namespace mica::pictures
