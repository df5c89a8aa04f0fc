// Drawings in the tool's pages: SVG elements whose colours are classes of the pages' style sheet
// (tools/mica/html.cpp), and plots with axes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mica::tools {

/// A drawing of so many pixels; x runs to the right, y down. Classes are names of the style sheet.
class Svg {
 public:
  enum class Anchor { Start, Middle, End };
  struct Place {
    double x = 0, y = 0;
  };
  struct Box {
    double x = 0, y = 0, width = 0, height = 0;
    friend bool operator==(const Box&, const Box&) = default;
  };

  Svg(double width, double height) : width_(width), height_(height) {}

  /// A hint shows when the reader points at the element.
  void rect(const Box& box, const std::string& classes, const std::string& hint = "");
  void circle(const Place& at, double radius, const std::string& classes, const std::string& hint = "");
  void line(const Place& from, const Place& to, const std::string& classes);
  void polyline(const std::vector<Place>& places, const std::string& classes);
  /// `at` is on the base line.
  void text(const Place& at, const std::string& words, Anchor anchor, const std::string& classes = "");
  /// From bottom to top, its middle at `at`.
  void upright_text(const Place& at, const std::string& words);
  [[nodiscard]] std::string figure(const std::string& caption) const;

  /// No less than what the words take in a drawing, in pixels.
  static double width_of(const std::string& words);

 private:
  double width_, height_;
  std::string body_;
};

/// Axes and what is drawn over them.
class SvgPlot {
 public:
  struct Axis {
    double low = 0, high = 1;
    bool logarithmic = false;
    std::string title = {};
    /// Round values between the ends, not more than there is room for; whole ones unless logarithmic.
    [[nodiscard]] std::vector<double> ticks() const;
    [[nodiscard]] double share(double value) const;
  };
  /// A logarithmic axis whose ends stand apart from the values, which are above zero, by `rim` times.
  static Axis around(const std::vector<double>& values, std::string title, double rim = 1.08);

  SvgPlot(Axis x, Axis y);
  /// Among the classes "dot", filled, or "ring", a rim.
  void mark(double x, double y, const std::string& classes, const std::string& hint, double radius = 4);
  void line(const std::vector<std::pair<double, double>>& points, const std::string& classes);
  [[nodiscard]] std::string figure(const std::string& caption) const { return svg_.figure(caption); }

 private:
  [[nodiscard]] Svg::Place place(double x, double y) const;
  Axis x_, y_;
  Svg svg_;
};

}  // namespace mica::tools
