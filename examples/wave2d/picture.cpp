#include "examples/wave2d/picture.h"

#include <algorithm>
#include <cmath>

#include "examples/common/wave_picture.h"

namespace mica::examples {

void draw_wavefield(const std::string& path, const VelocityModel& model, const Buffer<float>& pressure,
                    const std::string& title) {
  const double scale = pressure_scale(pressure);
  const double km = model.spacing * 1e-3;
  const double wide = static_cast<double>(model.distance()) * km,
               deep = static_cast<double>(model.depth()) * km;
  const Frame frame = proportional(wide, deep, 1000, 700, 80, 45);
  const double bars = frame.left + frame.width + 25;
  Page page(static_cast<int>(bars + 260), static_cast<int>(frame.top + frame.height + 75));
  Plot plot = page.plot(frame, {"distance (km)", 0, wide}, {"depth (km)", deep, 0}, title);
  draw_section(plot, {model.velocity, pressure.translated({0, 0}), scale});
  const double length = round_length(wide / 6);
  plot.scale_bar(length, in_km(length));
  draw_bars(page, {bars, frame.top, 22, frame.height}, model.velocity, scale);
  page.save(path);
}

}  // namespace mica::examples
