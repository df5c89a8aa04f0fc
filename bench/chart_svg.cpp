// Charts as SVG text.
#include <fmt/format.h>

#include "bench/canvas.h"

namespace mica::bench {
namespace {

std::string hex(Color c) { return fmt::format("#{:02x}{:02x}{:02x}", c.red, c.green, c.blue); }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      default: result += c;
    }
  }
  return result;
}

class SvgCanvas final : public Canvas {
 public:
  void line(Place from, Place to, Color color, double width, bool dashed) override {
    body_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:g}\"{}/>\n",
        from.x, from.y, to.x, to.y, hex(color), width, dashed ? " stroke-dasharray=\"6 4\"" : "");
  }
  void dot(Place centre, Color color, double radius) override {
    body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:g}\" fill=\"{}\"/>\n", centre.x,
                         centre.y, radius, hex(color));
  }
  void text(Place at, const std::string& text, Anchor anchor, double size, bool upright) override {
    const char* side = anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
    const std::string turned =
        upright ? fmt::format(" transform=\"rotate(-90 {:.1f} {:.1f})\"", at.x, at.y) : "";
    body_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" text-anchor=\"{}\"{}>{}</text>\n", at.x,
        at.y, size, side, turned, escaped(text));
  }
  [[nodiscard]] std::string document() const {
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
               "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" fill=\"#282828\">\n"
               "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n",
               kChartWidth, kChartHeight) +
           body_ + "</svg>\n";
  }

 private:
  std::string body_;
};

}  // namespace

std::string to_svg(const Chart& chart) {
  SvgCanvas canvas;
  draw(chart, canvas);
  return canvas.document();
}

}  // namespace mica::bench
