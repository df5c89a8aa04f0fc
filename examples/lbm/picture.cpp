#include "examples/lbm/picture.h"

#include <algorithm>
#include <cmath>

namespace mica::examples {

void draw(const std::string& path, const Drawn& drawn, const Plates& plates) {
  const auto& n = drawn.setup.cells;
  const auto nx = static_cast<double>(n[0]), ny = static_cast<double>(n[1]);
  const Frame frame = proportional(nx, ny, 960, 480, 80, 45);
  const double below = frame.top + frame.height + 105, high = 240;
  Page page(static_cast<int>(std::max(frame.left + frame.width, 1040.0) + 110),
            static_cast<int>(below + high + 65));

  const double d = drawn.diameter, fastest = 1.5;  // of the inflow, in full colour
  Plot plane = page.plot(frame, {"x / diameter", 0, nx / d}, {"y / diameter", 0, ny / d}, drawn.title);
  const std::int64_t first = n[0] * n[1] * (n[2] / 2);
  const double *u = drawn.fields.u.data() + first, *v = drawn.fields.v.data() + first,
               *w = drawn.fields.w.data() + first;
  plane.image(n[0], n[1], [&](std::int64_t x, std::int64_t y) {
    if (drawn.setup.solid(x, y, n[2] / 2)) return kGray;
    const std::int64_t i = x + n[0] * y;
    const double speed = std::sqrt(u[i] * u[i] + v[i] * v[i] + w[i] * w[i]) / drawn.setup.inflow;
    return sequential(std::round(60 * speed / fastest) / 60);  // in steps, so that files stay small
  });
  page.color_bar({frame.left + frame.width + 20, frame.top, 20, frame.height}, sequential,
                 {"|velocity| / inflow", 0, fastest});

  double most = 0;
  for (const PlotPoint& point : drawn.wake) most = std::max(most, std::abs(point.y));
  most = std::max(0.5, std::ceil(4 * most) / 4);
  const double last = drawn.wake.empty() ? 1 : drawn.wake.back().x;
  Plot wake = page.plot({80, below, 430, high}, {"time x inflow / diameter", 0, last},
                        {"v / inflow", -most, most}, "Two diameters behind the obstacle");
  wake.curve(drawn.wake, kBlue, "", 1.5);
  Plot profile =
      page.plot({620, below, 430, high}, {"u", 0, 0.09}, {"y (cells)", 0, 9}, "Flow between plates");
  profile.curve(plates.exact, kGray, "exact");
  profile.dots(plates.computed, kRed, "computed", 4, true);
  profile.legend(Corner::TopRight);
  page.save(path);
}

}  // namespace mica::examples
