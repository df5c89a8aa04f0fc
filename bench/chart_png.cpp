// Charts as PNG files: lines by their distance from each pixel, letters by their strokes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include <png.h>

#include "bench/canvas.h"
#include "bench/stroke_font.h"
#include "dsl/expr/diagnostics.h"

namespace mica::bench {
namespace {

constexpr int kScale = 2;  // pixels of the picture a pixel of the chart
constexpr Color kText{40, 40, 40};

class PngCanvas final : public Canvas {
 public:
  PngCanvas() : samples_(std::size_t{3} * kWidth * kHeight, 255) {}

  void line(Place from, Place to, Color color, double width, bool dashed) override {
    if (!dashed) return stroke(scaled(from), scaled(to), color, width * kScale);
    constexpr double kDash = 6, kPeriod = 10;
    const double length = std::hypot(to.x - from.x, to.y - from.y);
    auto at = [&](double along) {
      const double share = length > 0 ? std::min(along, length) / length : 0;
      return scaled({from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)});
    };
    for (double along = 0; along < length; along += kPeriod) {
      stroke(at(along), at(along + kDash), color, width * kScale);
    }
  }
  void dot(Place centre, Color color, double radius) override {
    stroke(scaled(centre), scaled(centre), color, 2 * radius * kScale);
  }
  void text(Place at, const std::string& text, Anchor anchor, double size, bool upright) override {
    const double unit = 0.72 * size / kCapitalHeight;
    const double length = unit * (kLetterAdvance * static_cast<double>(text.size()) - 2);
    double along = anchor == Anchor::Start ? 0 : anchor == Anchor::Middle ? -length / 2 : -length;
    for (const char letter : text) {
      letter_at(at, along, unit, upright, strokes_of(letter));
      along += kLetterAdvance * unit;
    }
  }
  void write(const std::string& path) const;

 private:
  static constexpr int kWidth = kChartWidth * kScale, kHeight = kChartHeight * kScale;

  static Place scaled(Place p) { return {p.x * kScale, p.y * kScale}; }

  // One letter whose left end is `along` the text's direction from `at`.
  void letter_at(Place at, double along, double unit, bool upright, std::string_view strokes) {
    Place previous;
    bool pen_down = false;
    for (std::size_t i = 0; i + 1 < strokes.size(); i += 3) {
      const double right = along + unit * (strokes[i] - '0');
      const double down = unit * (strokes[i + 1] - '0' - kCapitalHeight);
      const Place here =
          scaled(upright ? Place{at.x + down, at.y - right} : Place{at.x + right, at.y + down});
      if (pen_down) stroke(previous, here, kText, 1.3 * kScale);
      previous = here;
      pen_down = i + 2 < strokes.size() && strokes[i + 2] == ' ';
    }
  }

  // A line with round ends, in pixels of the picture; pixels at its edge are mixed.
  void stroke(Place a, Place b, Color color, double width) {
    const double reach = width / 2 + 1;
    const int x0 = std::max(0, static_cast<int>(std::min(a.x, b.x) - reach));
    const int x1 = std::min(kWidth - 1, static_cast<int>(std::max(a.x, b.x) + reach));
    const int y0 = std::max(0, static_cast<int>(std::min(a.y, b.y) - reach));
    const int y1 = std::min(kHeight - 1, static_cast<int>(std::max(a.y, b.y) + reach));
    const double dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) {
        const double px = x + 0.5 - a.x, py = y + 0.5 - a.y;
        const double share = square > 0 ? std::clamp((px * dx + py * dy) / square, 0.0, 1.0) : 0.0;
        const double distance = std::hypot(px - share * dx, py - share * dy);
        mix(x, y, color, std::clamp(width / 2 + 0.5 - distance, 0.0, 1.0));
      }
    }
  }
  void mix(int x, int y, Color color, double cover) {
    std::uint8_t* to =
        &samples_[3 * (static_cast<std::size_t>(y) * kWidth + static_cast<std::size_t>(x))];
    const std::uint8_t from[3] = {color.red, color.green, color.blue};
    for (int c = 0; c < 3; ++c) {
      to[c] = static_cast<std::uint8_t>(std::lround(to[c] + cover * (from[c] - to[c])));
    }
  }

  std::vector<std::uint8_t> samples_;  // red, green, blue of each pixel, row by row
};

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  throw UserError(*static_cast<const std::string*>(png_get_error_ptr(png)) + ": " + message);
}

void PngCanvas::write(const std::string& path) const {
  struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "wb"));
  if (!file) throw UserError("cannot open " + path + " for writing");
  std::string name = path;
  struct Writer {
    png_structp png;
    png_infop info = nullptr;
    explicit Writer(std::string* path_of_file)
        : png(png_create_write_struct(PNG_LIBPNG_VER_STRING, path_of_file, fail, nullptr)) {
      info = png_create_info_struct(png);
    }
    ~Writer() { png_destroy_write_struct(&png, &info); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
  } writer(&name);
  png_init_io(writer.png, file.get());
  png_set_IHDR(writer.png, writer.info, kWidth, kHeight, 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(writer.png, writer.info);
  for (int y = 0; y < kHeight; ++y) {
    png_write_row(writer.png, &samples_[3 * static_cast<std::size_t>(y) * kWidth]);
  }
  png_write_end(writer.png, writer.info);
  // What a full disk refuses shows when the last bytes are written.
  if (std::fclose(file.release()) != 0) throw UserError("cannot write " + path);
}

}  // namespace

void write_png(const Chart& chart, const std::string& path) {
  PngCanvas canvas;
  draw(chart, canvas);
  canvas.write(path);
}

}  // namespace mica::bench
