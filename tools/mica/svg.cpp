#include "tools/mica/svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/mica/html.h"

namespace mica::tools {
namespace {

std::string with_hint(const std::string& tag, const std::string& attributes, const std::string& hint) {
  if (hint.empty()) return "<" + tag + " " + attributes + "/>\n";
  return "<" + tag + " " + attributes + "><title>" + escaped(hint) + "</title></" + tag + ">\n";
}

std::string with_class(const std::string& classes) {
  return classes.empty() ? "" : " class=\"" + escaped(classes) + "\"";
}

}  // namespace

void Svg::rect(const Box& box, const std::string& classes, const std::string& hint) {
  body_ += with_hint("rect",
                     fmt::format(R"(x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"{})", box.x,
                                 box.y, box.width, box.height, with_class(classes)),
                     hint);
}

void Svg::circle(const Place& at, double radius, const std::string& classes, const std::string& hint) {
  body_ += with_hint(
      "circle",
      fmt::format(R"(cx="{:.1f}" cy="{:.1f}" r="{:g}"{})", at.x, at.y, radius, with_class(classes)),
      hint);
}

void Svg::line(const Place& from, const Place& to, const std::string& classes) {
  body_ += fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"{}/>)", from.x, from.y,
                       to.x, to.y, with_class(classes)) +
           "\n";
}

void Svg::polyline(const std::vector<Place>& places, const std::string& classes) {
  std::string points;
  for (const Place& at : places) {
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", at.x, at.y);
  }
  body_ += "<polyline points=\"" + points + "\"" + with_class(classes) + "/>\n";
}

void Svg::text(const Place& at, const std::string& words, Anchor anchor, const std::string& classes) {
  const char* side = anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
  body_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)", at.x, at.y, side,
                       with_class(classes), escaped(words)) +
           "\n";
}

void Svg::upright_text(const Place& at, const std::string& words) {
  body_ +=
      fmt::format(
          R"x(<text transform="translate({:.1f} {:.1f}) rotate(-90)" text-anchor="middle">{}</text>)x",
          at.x, at.y, escaped(words)) +
      "\n";
}

std::string Svg::figure(const std::string& caption) const {
  constexpr double kLeast = 440;  // so that a caption is no column of words
  return fmt::format(
      "<figure style=\"max-width: min(100%, {4:.0f}px)\"><svg width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n{2}</svg><figcaption>{3}</figcaption></figure>\n",
      std::ceil(width_), std::ceil(height_), body_, escaped(caption),
      std::max(kLeast, std::ceil(width_)));
}

double Svg::width_of(const std::string& words) {
  const auto letters = std::count_if(words.begin(), words.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // UTF-8: not the rest of a letter
  });
  constexpr double kWidest = 7.2;  // of an average letter of 12 pixels, in the fonts that browsers take
  return kWidest * static_cast<double>(letters);
}

// ---- plots -----------------------------------------------------------------------------------------

namespace {

// No powers of ten where digits do.
std::string number(double value) {
  return value >= 1000 && value < 1e7 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

constexpr double kWidth = 440, kHeight = 300, kLeft = 66, kBottom = 42, kTop = 14, kRight = 22;

}  // namespace

double SvgPlot::Axis::share(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  return std::log(value / low) / std::log(high / low);
}

std::vector<double> SvgPlot::Axis::ticks() const {
  std::vector<double> values;
  if (logarithmic) {
    const bool long_axis = std::log10(high / low) > 2.5;
    const double first = std::pow(10, std::floor(std::log10(low)));
    for (double decade = first; decade <= high; decade *= 10) {
      for (const double m : {1.0, 2.0, 5.0}) {
        if (decade * m >= low && decade * m <= high && (m == 1 || !long_axis)) {
          values.push_back(decade * m);
        }
      }
    }
    if (values.size() > 2) return values;
    values.clear();
  }
  // The smallest of 1, 2 and 5 times a power of ten that is not too often.
  constexpr double kMost = 7;
  double step = std::pow(10, std::floor(std::log10((high - low) / kMost)));
  for (const double m : {2.0, 2.5, 2.0}) {
    if ((high - low) / step > kMost) step *= m;
  }
  if (!logarithmic) step = std::max(step, 1.0);  // it counts something
  for (double n = std::ceil(low / step); n * step <= high; ++n) values.push_back(n * step);
  return values;
}

SvgPlot::Axis SvgPlot::around(const std::vector<double>& values, std::string title, double rim) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low / rim, *high * rim, true, std::move(title)};
}

SvgPlot::SvgPlot(Axis x, Axis y) : x_(std::move(x)), y_(std::move(y)), svg_(kWidth, kHeight) {
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  for (const double v : x_.ticks()) {
    const double at = place(v, y_.low).x;
    svg_.line({at, kTop}, {at, bottom}, "rule");
    svg_.text({at, bottom + 15}, number(v), Svg::Anchor::Middle);
  }
  for (const double v : y_.ticks()) {
    const double at = place(x_.low, v).y;
    svg_.line({kLeft, at}, {right, at}, "rule");
    svg_.text({kLeft - 6, at + 4}, number(v), Svg::Anchor::End);
  }
  svg_.rect({kLeft, kTop, right - kLeft, bottom - kTop}, "axis");
  svg_.text({(kLeft + right) / 2, kHeight - 8}, x_.title, Svg::Anchor::Middle);
  svg_.upright_text({13, (kTop + bottom) / 2}, y_.title);
}

Svg::Place SvgPlot::place(double x, double y) const {
  return {kLeft + x_.share(x) * (kWidth - kLeft - kRight),
          kHeight - kBottom - y_.share(y) * (kHeight - kBottom - kTop)};
}

void SvgPlot::mark(double x, double y, const std::string& classes, const std::string& hint,
                   double radius) {
  svg_.circle(place(x, y), radius, classes, hint);
}

void SvgPlot::line(const std::vector<std::pair<double, double>>& points, const std::string& classes) {
  std::vector<Svg::Place> places;
  for (const auto& [x, y] : points) places.push_back(place(x, y));
  svg_.polyline(places, classes);
}

}  // namespace mica::tools
