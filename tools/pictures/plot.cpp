#include "tools/pictures/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numbers>
#include <utility>

#include <cairo-svg.h>
#include <cairo.h>

#include "tools/pictures/plot_axis.h"
#include "tools/pictures/png_image.h"

namespace mica::pictures {
namespace {

constexpr double kTextSize = 15, kTickLength = 6;

Color between(const std::vector<Color>& colors, double share) {
  const double last = static_cast<double>(colors.size() - 1);
  const double at = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * last : 0.0;
  const auto i = static_cast<std::size_t>(std::min(at, last - 1));
  return mix(colors[i], colors[i + 1], at - static_cast<double>(i));
}

}  // namespace

struct PageData {
  PageData(int wide, int high, FileKind file_kind)
      : width(wide),
        height(high),
        kind(file_kind),
        surface(new_surface()),
        cairo(cairo_create(surface)) {
    cairo_set_source_rgb(cairo, 1, 1, 1);
    cairo_paint(cairo);
    // Where there are no fonts, cairo draws ASCII with one of its own.
    cairo_select_font_face(cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo, kTextSize);
  }
  PageData(const PageData&) = delete;
  PageData& operator=(const PageData&) = delete;
  ~PageData() {
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
  }

  void color(const Color& c) const { cairo_set_source_rgb(cairo, c.red, c.green, c.blue); }
  void line(double x0, double y0, double x1, double y1) const {
    cairo_move_to(cairo, x0, y0);
    cairo_line_to(cairo, x1, y1);
    cairo_stroke(cairo);
  }
  /// How far words go on; draws them from the current point on if they are to be shown. Digits and signs
  /// after a ^ are raised: "10^-3".
  double go_along(const std::string& words, bool shown) const {
    double along = 0;
    for (std::size_t at = 0; at < words.size();) {
      const bool raised = words[at] == '^';
      const std::size_t begin = raised ? at + 1 : at;
      const std::size_t end =
          raised ? words.find_first_not_of("-0123456789", begin) : words.find('^', begin);
      const std::string part = words.substr(begin, end - begin);
      cairo_set_font_size(cairo, raised ? 0.7 * kTextSize : kTextSize);
      cairo_text_extents_t size;
      cairo_text_extents(cairo, part.c_str(), &size);
      along += size.x_advance;
      const double up = raised ? 0.4 * kTextSize : 0;
      if (shown) {
        cairo_rel_move_to(cairo, 0, -up);
        cairo_show_text(cairo, part.c_str());
        cairo_rel_move_to(cairo, 0, up);
      }
      at = std::min(end, words.size());
    }
    cairo_set_font_size(cairo, kTextSize);
    return along;
  }
  [[nodiscard]] double width_of(const std::string& words) const { return go_along(words, false); }
  /// Words whose base line begins, has its middle, or ends (`anchor` 0, 0.5, 1) at a place.
  void text(double x, double y, const std::string& words, double anchor, bool upright = false) const {
    cairo_save(cairo);
    cairo_translate(cairo, x, y);
    if (upright) cairo_rotate(cairo, -std::numbers::pi / 2);
    cairo_move_to(cairo, -anchor * width_of(words), 0);
    go_along(words, true);
    cairo_restore(cairo);
    cairo_new_path(cairo);
  }
  void frame(const Frame& f) const {
    color(kBlack);
    cairo_set_line_width(cairo, 1.2);
    cairo_rectangle(cairo, f.left, f.top, f.width, f.height);
    cairo_stroke(cairo);
  }
  /// Ticks and label of an upright axis, at the left or at the right of `f`.
  void upright_axis(const Frame& f, const DrawnAxis& axis, bool right) const {
    const double edge = right ? f.left + f.width : f.left, out = right ? 1 : -1;
    double widest = 0;
    for (const Tick& tick : axis.ticks()) {
      const double y = f.top + f.height * (1 - tick.share);
      const double length = tick.words.empty() ? kTickLength / 2 : kTickLength;
      line(edge, y, edge + out * length, y);
      text(edge + out * (kTickLength + 4), y + 0.36 * kTextSize, tick.words, right ? 0 : 1);
      widest = std::max(widest, width_of(tick.words));
    }
    const double away = kTickLength + 4 + widest + (right ? 20 : 14);
    text(edge + out * away, f.top + f.height / 2, axis.label(), 0.5, true);
  }
  void level_axis(const Frame& f, const DrawnAxis& axis) const {
    const double edge = f.top + f.height;
    for (const Tick& tick : axis.ticks()) {
      const double x = f.left + f.width * tick.share;
      line(x, edge, x, edge + (tick.words.empty() ? kTickLength / 2 : kTickLength));
      text(x, edge + kTickLength + 4 + 0.75 * kTextSize, tick.words, 0.5);
    }
    text(f.left + f.width / 2, edge + kTickLength + 10 + 2 * kTextSize, axis.label(), 0.5);
  }

  /// Pixels, or what was drawn, to be drawn again into the file.
  [[nodiscard]] cairo_surface_t* new_surface() const {
    if (kind == FileKind::Png) return cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    const cairo_rectangle_t all{0, 0, static_cast<double>(width), static_cast<double>(height)};
    return cairo_recording_surface_create(CAIRO_CONTENT_COLOR, &all);
  }

  int width, height;
  FileKind kind;
  cairo_surface_t* surface;
  cairo_t* cairo;
};

struct PlotData {
  struct Entry {
    std::string label;
    Color color;
    double size = 0;  // width of a line or radius of a dot
    bool is_line = true, dashed = false, filled = false;
  };
  [[nodiscard]] double x(double value) const { return frame.left + frame.width * across.share(value); }
  [[nodiscard]] double y(double value) const { return frame.top + frame.height * (1 - up.share(value)); }
  /// Calls `draw` with what it draws cut off at the frame.
  template <typename Draw>
  void inside(const Draw& draw) const {
    cairo_save(page->cairo);
    cairo_rectangle(page->cairo, frame.left, frame.top, frame.width, frame.height);
    cairo_clip(page->cairo);
    draw(page->cairo);
    cairo_restore(page->cairo);
  }
  void line_style(const Color& color, double width, bool dashed) const {
    page->color(color);
    cairo_set_line_width(page->cairo, width);
    cairo_set_line_join(page->cairo, CAIRO_LINE_JOIN_ROUND);
    const double dashes[] = {8, 5};
    cairo_set_dash(page->cairo, dashes, dashed ? 2 : 0, 0);
  }
  void dot(double at_x, double at_y, const Entry& entry) const {
    line_style(entry.color, 1.6, false);
    cairo_new_path(page->cairo);
    cairo_arc(page->cairo, at_x, at_y, entry.size, 0, 2 * std::numbers::pi);
    entry.filled ? cairo_fill(page->cairo) : cairo_stroke(page->cairo);
  }

  std::shared_ptr<PageData> page;
  Frame frame;
  DrawnAxis across, up;
  std::vector<Entry> entries = {};
};

Color mix(const Color& a, const Color& b, double share) {
  return {a.red + share * (b.red - a.red), a.green + share * (b.green - a.green),
          a.blue + share * (b.blue - a.blue)};
}
Color gray_scale(double share) { return between({{0.94, 0.94, 0.94}, {0.25, 0.25, 0.25}}, share); }
Color diverging(double share) {
  return between(
      {{0.05, 0.19, 0.55}, {0.36, 0.58, 0.85}, {1, 1, 1}, {0.93, 0.48, 0.38}, {0.65, 0.05, 0.1}}, share);
}
Color sequential(double share) {
  return between({{0.20, 0.10, 0.35},
                  {0.19, 0.32, 0.55},
                  {0.13, 0.54, 0.55},
                  {0.36, 0.76, 0.40},
                  {0.97, 0.90, 0.20}},
                 share);
}

Plot& Plot::curve(const std::vector<PlotPoint>& points, const Color& color, const std::string& label,
                  double width, bool dashed) {
  data_->inside([&](cairo_t* cairo) {
    data_->line_style(color, width, dashed);
    bool down = false;
    for (const PlotPoint& point : points) {
      const double x = data_->x(point.x), y = data_->y(point.y);
      const bool drawn = std::isfinite(x) && std::isfinite(y);
      if (drawn) down ? cairo_line_to(cairo, x, y) : cairo_move_to(cairo, x, y);
      down = drawn;
    }
    cairo_stroke(cairo);
  });
  data_->entries.push_back({label, color, width, true, dashed, false});
  return *this;
}

Plot& Plot::dots(const std::vector<PlotPoint>& points, const Color& color, const std::string& label,
                 double radius, bool filled) {
  const PlotData::Entry entry{label, color, radius, false, false, filled};
  for (const PlotPoint& point : points) {  // not cut off: those on the frame are whole
    const double x = data_->across.share(point.x), y = data_->up.share(point.y);
    constexpr double kRim = 1e-9;
    if (!(x >= -kRim && x <= 1 + kRim && y >= -kRim && y <= 1 + kRim)) continue;
    data_->dot(data_->x(point.x), data_->y(point.y), entry);
  }
  data_->entries.push_back(entry);
  return *this;
}

Plot& Plot::image(std::int64_t nx, std::int64_t ny,
                  const std::function<Color(std::int64_t, std::int64_t)>& color) {
  constexpr std::int64_t kMost = 2048;
  const int width = static_cast<int>(std::min(nx, kMost)),
            height = static_cast<int>(std::min(ny, kMost));
  if (width < 1 || height < 1) return *this;
  cairo_surface_t* pixels = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
  unsigned char* rows = cairo_image_surface_get_data(pixels);
  const int pitch = cairo_image_surface_get_stride(pixels);
  const auto level = [](double share) {
    return static_cast<std::uint32_t>(std::clamp(share, 0.0, 1.0) * 255.0 + 0.5);
  };
  for (int row = 0; row < height; ++row) {
    auto* out = reinterpret_cast<std::uint32_t*>(rows + static_cast<std::ptrdiff_t>(row) * pitch);
    const std::int64_t j = (height - 1 - row) * ny / height;  // row 0 is at the top
    for (int i = 0; i < width; ++i) {
      const Color c = color(i * nx / width, j);
      out[i] = level(c.red) << 16 | level(c.green) << 8 | level(c.blue);
    }
  }
  cairo_surface_mark_dirty(pixels);
  data_->inside([&](cairo_t* cairo) {
    cairo_translate(cairo, data_->frame.left, data_->frame.top);
    cairo_scale(cairo, data_->frame.width / width, data_->frame.height / height);
    cairo_set_source_surface(cairo, pixels, 0, 0);
    const bool enlarged = data_->frame.width > width || data_->frame.height > height;
    cairo_pattern_set_filter(cairo_get_source(cairo),
                             enlarged ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_paint(cairo);
  });
  cairo_surface_destroy(pixels);
  data_->page->frame(data_->frame);
  return *this;
}

Plot& Plot::contour(std::int64_t nx, std::int64_t ny,
                    const std::function<double(std::int64_t, std::int64_t)>& value, double level,
                    const Color& color, double width) {
  const Frame& f = data_->frame;
  const double dx = f.width / static_cast<double>(nx - 1), dy = f.height / static_cast<double>(ny - 1);
  struct Node {
    double x, y, above;
  };
  data_->inside([&](cairo_t* cairo) {
    data_->line_style(color, width, false);
    for (std::int64_t j = 0; j + 1 < ny; ++j) {
      for (std::int64_t i = 0; i + 1 < nx; ++i) {
        const auto corner = [&](std::int64_t a, std::int64_t b) {
          return Node{f.left + dx * static_cast<double>(a),
                      f.top + f.height - dy * static_cast<double>(b), value(a, b) - level};
        };
        const std::array<Node, 5> c{corner(i, j), corner(i + 1, j), corner(i + 1, j + 1),
                                    corner(i, j + 1), corner(i, j)};
        bool down = false;  // the square's crossings two by two
        for (std::size_t k = 0; k < 4; ++k) {
          const Node &a = c[k], &b = c[k + 1];
          if ((a.above > 0) == (b.above > 0)) continue;
          const double t = a.above / (a.above - b.above);
          const double x = a.x + t * (b.x - a.x), y = a.y + t * (b.y - a.y);
          down ? cairo_line_to(cairo, x, y) : cairo_move_to(cairo, x, y);
          down = !down;
        }
      }
    }
    cairo_stroke(cairo);
  });
  return *this;
}

Plot& Plot::box(const PlotPoint& from, const PlotPoint& to, const Color& color) {
  data_->inside([&](cairo_t* cairo) {
    data_->page->color(color);
    const double x = data_->x(from.x), y = data_->y(from.y);
    cairo_rectangle(cairo, x, y, data_->x(to.x) - x, data_->y(to.y) - y);
    cairo_fill(cairo);
  });
  return *this;
}

Plot& Plot::text(const PlotPoint& at, const std::string& words, const Color& color) {
  data_->page->color(color);
  data_->page->text(data_->x(at.x), data_->y(at.y), words, 0);
  return *this;
}

Plot& Plot::legend(Corner corner) {
  std::vector<PlotData::Entry> shown;
  double widest = 0;
  for (const auto& entry : data_->entries) {
    if (entry.label.empty()) continue;
    shown.push_back(entry);
    widest = std::max(widest, data_->page->width_of(entry.label));
  }
  if (shown.empty()) return *this;
  const double line = 1.5 * kTextSize, sample = 34, rim = 9, gap = 10;
  const double width = sample + widest + 3 * rim,
               height = line * static_cast<double>(shown.size()) + rim;
  const bool right = corner == Corner::TopRight || corner == Corner::BottomRight;
  const bool bottom = corner == Corner::BottomLeft || corner == Corner::BottomRight;
  const Frame& f = data_->frame;
  const double left = right ? f.left + f.width - width - gap : f.left + gap;
  const double top = bottom ? f.top + f.height - height - gap : f.top + gap;
  cairo_t* cairo = data_->page->cairo;
  cairo_set_source_rgba(cairo, 1, 1, 1, 0.85);
  cairo_rectangle(cairo, left, top, width, height);
  cairo_fill(cairo);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const double y = top + rim / 2 + line * (static_cast<double>(i) + 0.5);
    if (shown[i].is_line) {
      data_->line_style(shown[i].color, shown[i].size, shown[i].dashed);
      data_->page->line(left + rim, y, left + rim + sample, y);
    } else {
      data_->dot(left + rim + sample / 2, y, shown[i]);
    }
    data_->page->color(kBlack);
    data_->page->text(left + 2 * rim + sample, y + 0.36 * kTextSize, shown[i].label, 0);
  }
  cairo_set_dash(cairo, nullptr, 0, 0);
  return *this;
}

Plot& Plot::scale_bar(double length, const std::string& words) {
  const Frame& f = data_->frame;
  const double pixels = std::abs(data_->across.share(length) - data_->across.share(0)) * f.width;
  if (!(pixels > 0 && pixels < f.width - 40)) return *this;
  cairo_t* cairo = data_->page->cairo;
  const double left = f.left + 20, y = f.top + f.height - 18;
  const double wide = std::max(pixels, data_->page->width_of(words));
  cairo_set_source_rgba(cairo, 1, 1, 1, 0.8);
  cairo_rectangle(cairo, left - 8, y - 28, wide + 16, 38);
  cairo_fill(cairo);
  data_->line_style(kBlack, 4, false);
  data_->page->line(left, y, left + pixels, y);
  data_->page->text(left + pixels / 2, y - 9, words, 0.5);
  return *this;
}

namespace {

void save_pixels(const PageData& page, const std::string& path) {
  cairo_surface_flush(page.surface);
  const unsigned char* rows = cairo_image_surface_get_data(page.surface);
  const int pitch = cairo_image_surface_get_stride(page.surface);
  Buffer<std::uint8_t> image(page.width, page.height, 3);
  image.for_each([&](std::uint8_t& value, const Coordinates& at) {
    const auto* row = reinterpret_cast<const std::uint32_t*>(rows + at[1] * pitch);
    value = static_cast<std::uint8_t>(row[at[0]] >> (16 - 8 * at[2]));
  });
  write_png(path, image);
}

void save_svg(const PageData& page, const std::string& path) {
  std::string text;
  const auto append = [](void* to, const unsigned char* bytes, unsigned count) {
    static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(bytes), count);
    return CAIRO_STATUS_SUCCESS;
  };
  cairo_surface_t* svg = cairo_svg_surface_create_for_stream(append, &text, page.width, page.height);
  cairo_svg_surface_set_document_unit(svg, CAIRO_SVG_UNIT_PX);
  cairo_t* cairo = cairo_create(svg);
  cairo_set_source_surface(cairo, page.surface, 0, 0);
  cairo_paint(cairo);
  cairo_destroy(cairo);
  cairo_surface_finish(svg);
  cairo_surface_destroy(svg);
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();  // what a full disk refuses shows when the last bytes are written
  if (!out) throw UserError("cannot write " + path);
}

}  // namespace

Page::Page(int width, int height, FileKind kind)
    : data_(std::make_shared<PageData>(width, height, kind)) {}

Plot Page::plot(const Frame& frame, const Axis& x, const Axis& y, const std::string& title) {
  auto data =
      std::make_shared<PlotData>(PlotData{data_, frame, DrawnAxis(x, static_cast<int>(frame.width / 75)),
                                          DrawnAxis(y, static_cast<int>(frame.height / 50))});
  cairo_set_dash(data_->cairo, nullptr, 0, 0);
  data_->color({0.88, 0.88, 0.88});  // a line at every tick that has words
  cairo_set_line_width(data_->cairo, 1);
  for (const Tick& tick : data->across.ticks()) {
    const double at = frame.left + frame.width * tick.share;
    if (!tick.words.empty()) data_->line(at, frame.top, at, frame.top + frame.height);
  }
  for (const Tick& tick : data->up.ticks()) {
    const double at = frame.top + frame.height * (1 - tick.share);
    if (!tick.words.empty()) data_->line(frame.left, at, frame.left + frame.width, at);
  }
  data_->frame(frame);
  data_->level_axis(frame, data->across);
  data_->upright_axis(frame, data->up, false);
  data_->text(frame.left + frame.width / 2, frame.top - 12, title, 0.5);
  return Plot(data);
}

void Page::color_bar(const Frame& frame, ColorMap colors, const Axis& values) {
  cairo_set_antialias(data_->cairo, CAIRO_ANTIALIAS_NONE);  // no seams between rows of pixels
  for (double y = 0; y < frame.height; ++y) {
    data_->color(colors(1 - (y + 0.5) / frame.height));
    const double height = std::min(1.0, frame.height - y);
    cairo_rectangle(data_->cairo, frame.left, std::floor(frame.top) + y, frame.width, height);
    cairo_fill(data_->cairo);
  }
  cairo_set_antialias(data_->cairo, CAIRO_ANTIALIAS_DEFAULT);
  data_->frame(frame);
  data_->upright_axis(frame, DrawnAxis(values, static_cast<int>(frame.height / 50)), true);
}

void Page::text(double left, double top, const std::string& words, const Color& color) {
  data_->color(color);
  data_->text(left, top, words, 0);
}

void Page::save(const std::string& path) const {
  data_->kind == FileKind::Png ? save_pixels(*data_, path) : save_svg(*data_, path);
}

Frame proportional(double width, double height, double wide, double high, double left, double top) {
  const double scale = std::min(wide / width, high / height);
  return {left, top, std::max(120.0, scale * width), std::max(120.0, scale * height)};
}

}  // namespace mica::pictures
