#include "examples/shallow_water/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace mica::examples {
namespace {

constexpr double kLeft = 85, kTop = 45, kBelow = 65, kBars = 125, kLargest = 512;

Frame frame_of(const Plane& plane) {
  return proportional(plane.length, plane.width, kLargest, kLargest, kLeft, kTop);
}

/// In 40 steps, so that files stay small.
Color stepped(double share) { return diverging(std::round(40 * share) / 40); }

void draw_field(Page& page, const State& state, const Plane& plane, const Shown& shown, double days) {
  const Frame frame = frame_of(plane);
  char title[64];
  std::snprintf(title, sizeof title, "%s after %.2f days", shown.vorticity ? "Vorticity" : "Thickness",
                days);
  Plot plot =
      page.plot(frame, {"x (km)", 0, plane.length * 1e-3}, {"y (km)", 0, plane.width * 1e-3}, title);
  const Buffer<double> field = shown.vorticity ? vorticity(state, plane) : state.h;
  const double unit = shown.scale * (shown.vorticity ? plane.coriolis : 1);
  const double rest = shown.vorticity ? 0 : plane.depth;
  const double* values = field.data();
  plot.image(plane.nx, plane.ny, [&](std::int64_t i, std::int64_t j) {
    return stepped(0.5 + (values[i + j * field.stride(1)] - rest) / (2 * unit));
  });
  page.color_bar(
      {frame.left + frame.width + 20, frame.top, 20, frame.height}, stepped,
      {shown.vorticity ? "vorticity / f" : "thickness - depth (m)", -shown.scale, shown.scale});
}

}  // namespace

Page draw_flow(const State& state, const Plane& plane, const Shown& shown, double days) {
  const Frame frame = frame_of(plane);
  Page page(static_cast<int>(frame.left + frame.width + kBars),
            static_cast<int>(frame.top + frame.height + kBelow));
  draw_field(page, state, plane, shown, days);
  return page;
}

Page draw_result(const State& state, const Plane& plane, const Shown& shown,
                 const std::vector<DriftAt>& drifts, double bound) {
  const Frame frame = frame_of(plane);
  const double left = frame.left + frame.width + kBars + 90, wide = 400;
  const double high = std::max(frame.height, 300.0);
  Page page(static_cast<int>(left + wide + 30), static_cast<int>(frame.top + high + kBelow));
  const double days = drifts.back().days;
  draw_field(page, state, plane, shown, days);
  Plot plot = page.plot({left, frame.top, wide, high}, {"time (days)", 0, days},
                        {"share of the total", 1e-20, 10, true}, "What the totals have drifted by");
  const auto curve = [&](double Drift::*which, const Color& color, const char* name) {
    std::vector<PlotPoint> points;
    for (const DriftAt& drift : drifts) {
      points.push_back({drift.days, std::max(std::abs(drift.by.*which), 1e-20)});
    }
    plot.curve(points, color, name);
  };
  curve(&Drift::enstrophy, kOrange, "potential enstrophy");
  curve(&Drift::energy, kRed, "energy");
  std::vector<PlotPoint> bounds;
  for (const DriftAt& drift : drifts) bounds.push_back({drift.days, bound * drift.days / days});
  plot.curve(bounds, kGray, "mass, bound of rounding", 2, true);
  curve(&Drift::mass, kBlue, "mass");
  plot.legend(Corner::TopRight);
  return page;
}

}  // namespace mica::examples
