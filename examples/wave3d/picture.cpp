#include "examples/wave3d/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "examples/common/wave_picture.h"

namespace mica::examples {
namespace {

/// What of the traces is drawn in full colour: their 92nd percentile.
double gather_scale(const Buffer<float>& gather) {
  std::vector<float> sizes;
  gather.for_each([&](const float& p, const Coordinates&) { sizes.push_back(std::abs(p)); });
  const auto rank =
      sizes.begin() + static_cast<std::ptrdiff_t>(0.92 * static_cast<double>(sizes.size()));
  std::nth_element(sizes.begin(), rank, sizes.end());
  return *rank > 0 ? *rank : 1.0;
}

}  // namespace

void draw_shot(const std::string& path, const VelocityVolume& model, const Shot& shot,
               const Buffer<float>& section, std::int64_t y, const Buffer<float>& gather, double dt) {
  const double km = model.spacing * 1e-3;
  const auto points = [&](int d) { return static_cast<double>(model.velocity.extent(d)); };
  const double wide = points(1) * km, deep = points(0) * km;
  const double scale = pressure_scale(section), time = static_cast<double>(gather.extent(1)) * dt;
  const Frame above = proportional(wide, deep, 800, 500, 90, 45);
  const double bars = above.left + above.width + 25;
  const Frame below{above.left, above.top + above.height + 115, above.width, 420};
  Page page(static_cast<int>(bars + 260), static_cast<int>(below.top + below.height + 75));

  char title[128];
  std::snprintf(title, sizeof title, "Pressure after %.3g s at y = %.3g km", time,
                static_cast<double>(y) * km);
  Plot plot = page.plot(above, {"x (km)", 0, wide}, {"depth (km)", deep, 0}, title);
  const Buffer<float> velocity = model.velocity.sliced(2, y).copy();
  draw_section(plot, {velocity, section.translated({0, 0}), scale});
  // Positions count from the first point, and a point fills its square of the picture.
  const auto mark = [&](const Position& at) {
    return PlotPoint{at[1] * 1e-3 + km / 2, at[0] * 1e-3 + km / 2};
  };
  std::vector<PlotPoint> receivers;
  for (const Position& at : shot.receivers) receivers.push_back(mark(at));
  plot.dots(receivers, kGreen, "receivers", 1.5, true)
      .dots({mark(shot.source)}, kOrange, "source", 5, true);
  plot.legend(Corner::BottomRight);
  const double length = round_length(wide / 6);
  plot.scale_bar(length, in_km(length));
  draw_bars(page, {bars, above.top, 22, above.height}, velocity, scale);

  const double first = shot.receivers.front()[1] * 1e-3, last = shot.receivers.back()[1] * 1e-3;
  const double full = gather_scale(gather);
  Plot traces =
      page.plot(below, {"x of the receiver (km)", first, last}, {"time (s)", time, 0}, "Shot gather");
  const float* p = gather.data();
  const std::int64_t count = gather.extent(0), samples = gather.extent(1);
  traces.image(count, samples, [&](std::int64_t k, std::int64_t up) {
    return diverging(0.5 + p[k + (samples - 1 - up) * count] / (2 * full));
  });
  page.color_bar({bars, below.top, 22, below.height}, diverging,
                 {"pressure (92 % are within)", -full, full});
  page.save(path);
}

}  // namespace mica::examples
