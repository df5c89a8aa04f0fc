#include "examples/cavity/picture.h"

#include <algorithm>
#include <cstdio>

#include "examples/cavity/ghia.h"
#include "examples/common/pictures.h"

namespace mica::examples {
namespace {

constexpr double kSide = 380, kLeft = 90, kTop = 45, kAcross = 520, kDown = 500;
constexpr double kVorticity = 6;  // in full colour

std::string name_of(const Flow& flow) {
  char words[64];
  std::snprintf(words, sizeof words, "Re = %g", flow.reynolds);
  return words;
}

void draw_flow(Page& page, const Frame& frame, const Flow& flow) {
  Plot plot = page.plot(frame, {"x", 0, 1}, {"y", 0, 1}, "Stream lines and vorticity, " + name_of(flow));
  const std::int64_t points = flow.stream.extent(0);
  const double *w = flow.vorticity.data(), *psi = flow.stream.data();
  plot.image(points, points, [&](std::int64_t x, std::int64_t y) {
    return mix({1, 1, 1}, diverging(0.5 + w[x + y * points] / (2 * kVorticity)), 0.75);
  });
  const auto stream = [&](std::int64_t x, std::int64_t y) { return psi[x + y * points]; };
  for (const double level : {-0.115, -0.11, -0.1, -0.09, -0.07, -0.05, -0.03, -0.01, -1e-3, -1e-4, 1e-6,
                             1e-5, 1e-4, 5e-4, 1e-3, 1.5e-3}) {
    plot.contour(points, points, stream, level, kBlack, 1);
  }
}

void draw_lines(Page& page, const Frame& frame, const std::vector<Flow>& flows, Line line) {
  const Color colors[] = {kBlue, kRed, kGreen, kOrange};
  const bool is_u = line == Line::U;
  Plot plot = page.plot(frame, {is_u ? "y" : "x", 0, 1},
                        {is_u ? "u" : "v", is_u ? -0.5 : -0.65, is_u ? 1.1 : 0.45},
                        is_u ? "u on the line x = 1/2" : "v on the line y = 1/2");
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const std::vector<double> values = centre_line(flows[i].stream, line);
    std::vector<PlotPoint> points;
    for (std::size_t k = 0; k < values.size(); ++k) {
      points.push_back({static_cast<double>(k) / static_cast<double>(values.size() - 1), values[k]});
    }
    plot.curve(points, colors[i % 4], "Mica, " + name_of(flows[i]));
    const std::vector<PlotPoint> published = ghia(flows[i].reynolds, line);
    if (!published.empty()) plot.dots(published, colors[i % 4], "Ghia et al., " + name_of(flows[i]));
  }
  plot.legend(is_u ? Corner::TopLeft : Corner::BottomLeft);
}

}  // namespace

void draw_flows(const std::string& path, const std::vector<Flow>& flows) {
  const auto columns = static_cast<double>(std::max<std::size_t>(flows.size(), 2));
  Page page(static_cast<int>(kLeft + columns * kAcross + 30), static_cast<int>(kTop + 2 * kDown - 40));
  for (std::size_t i = 0; i < flows.size(); ++i) {
    draw_flow(page, {kLeft + static_cast<double>(i) * kAcross, kTop, kSide, kSide}, flows[i]);
  }
  const double right = kLeft + static_cast<double>(flows.size() - 1) * kAcross + kSide;
  page.color_bar({right + 20, kTop, 20, kSide},
                 [](double share) {
                   return mix({1, 1, 1}, diverging(share), 0.75);
                 },
                 {"vorticity", -kVorticity, kVorticity});
  draw_lines(page, {kLeft, kTop + kDown, kSide, kSide}, flows, Line::U);
  draw_lines(page, {kLeft + kAcross, kTop + kDown, kSide, kSide}, flows, Line::V);
  page.save(path);
}

}  // namespace mica::examples
