// shallow_water: a jet that breaks up into eddies, or a bump that collapses, on a turning plane.
//
//   shallow_water
//   shallow_water --case bump --cells 256 256 --frames 100 --out frames
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

#include "examples/common/frames.h"
#include "examples/common/program.h"
#include "examples/shallow_water/check.h"
#include "examples/shallow_water/picture.h"
#include "examples/shallow_water/starts.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string flow = "jet", conserve = "enstrophy", out = "frames", picture = "shallow_water.png",
              target;
  std::vector<std::int64_t> cells = {256, 256};
  std::vector<double> size = {2000, 2000};
  double depth = 200, coriolis = 1e-4, days = 0;
  std::int64_t frames = 0;
};

constexpr std::int64_t kMostCells = 1 << 14;
constexpr double kMostSteps = 1e8, kDay = 86400;

void check(const Options& o) {
  const auto positive = [](const char* name, double value, const char* unit) {
    if (std::isfinite(value) && value > 0) return;
    throw UserError(std::string(name) + " " + std::to_string(value) + ": it must be more than 0 " +
                    unit);
  };
  for (const double length : o.size) positive("--size", length, "km");
  positive("--depth", o.depth, "m");
  if (o.days != 0) positive("--days", o.days, "days");
  if (!std::isfinite(o.coriolis)) throw UserError("--coriolis is not a number");
}

/// A cell's h changes three times a step by two differences of flows. Each of these is rounded a dozen
/// times in all, by at most half a last digit of h: what the sum over cells may drift by, as a share, if
/// all roundings go one way.
double rounding_bound(std::int64_t steps) {
  return 3 * 12 * static_cast<double>(steps) * std::ldexp(1.0, -53);
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());
  std::optional<Frames> frames;  // made first: a folder that cannot be made is found before a long run
  if (o.frames > 0) frames.emplace(o.out);
  bool right = check_wave(target);
  right = check_conservation(target) && right;

  const Plane plane{o.cells[0], o.cells[1], o.size[0] * 1e3, o.size[1] * 1e3, o.depth, o.coriolis};
  const bool jet = o.flow == "jet";
  State state = jet ? jets(plane, 20, plane.width / 20) : bump(plane, plane.depth / 5, plane.width / 16);
  const double span = o.days > 0 ? o.days : jet ? 2.5 : 0.2;
  const double longest = time_step(plane, 1.2 * fastest(state, plane));  // flow may become faster
  if (!(span * kDay / longest < kMostSteps)) {
    throw UserError("--days " + std::to_string(span) + " in steps of " + std::to_string(longest) +
                    " s are more than " + std::to_string(kMostSteps) + " steps");
  }
  const auto steps = static_cast<std::int64_t>(std::ceil(span * kDay / longest));
  const double dt = span * kDay / static_cast<double>(steps);
  const auto days = [&](std::int64_t step) { return static_cast<double>(step) * dt / kDay; };
  const Shown shown = jet ? Shown{true, 1.6} : Shown{false, plane.depth / 40};

  ShallowWater flow(plane, o.conserve == "energy" ? Conserve::Energy : Conserve::Enstrophy, target);
  const Totals before = totals(state, plane);
  std::vector<DriftAt> drifts;
  const auto note = [&](const State& now, std::int64_t step) {
    drifts.push_back({days(step), drift(totals(now, plane), before)});
  };
  note(state, 0);
  flow.every(std::max<std::int64_t>(1, steps / 100), note);
  if (frames) {
    frames->add(draw_flow(state, plane, shown, 0));
    flow.every(std::max<std::int64_t>(1, steps / o.frames), [&](const State& now, std::int64_t step) {
      frames->add(draw_flow(now, plane, shown, days(step)));
    });
  }
  flow.show_progress();
  std::printf("run       %lld x %lld cells, %lld steps of %.1f s\n", static_cast<long long>(plane.nx),
              static_cast<long long>(plane.ny), static_cast<long long>(steps), dt);
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  flow.run(state, steps, dt);
  note(state, steps);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double updates = static_cast<double>(plane.nx * plane.ny) * static_cast<double>(steps) / seconds;
  std::printf("          %.1f s with compilation%s: %.1f million cells a second, three stages each\n",
              seconds, frames ? " and frames" : "", updates * 1e-6);

  const Drift& by = drifts.back().by;
  const double bound = rounding_bound(steps);
  const bool kept = std::abs(by.mass) <= bound;
  std::printf("mass      drift %+.2e, bound of rounding %.2e: %s\n", by.mass, bound,
              kept ? "right" : "WRONG");
  std::printf("energy    drift %+.2e\nenstrophy drift %+.2e\n", by.energy, by.enstrophy);
  if (frames) std::printf("frames    %d in %s\n", frames->count(), o.out.c_str());
  draw_result(state, plane, shown, drifts, bound).save(o.picture);
  std::printf("picture   %s: the flow after %.2f days, and what the totals drift by\n",
              o.picture.c_str(), days(steps));
  if (!right || !kept) throw Error("the results are not those that the theory has");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Rotating shallow water on a C grid, Sadourny's schemes, Runge-Kutta of third order",
               "shallow_water");
  app.footer("Example: shallow_water --case bump --frames 100 --out frames");
  app.add_option("--case", o.flow, "two jets in geostrophic balance, or a bump of water at rest")
      ->check(CLI::IsMember({"jet", "bump"}))
      ->capture_default_str();
  app.add_option("--conserve", o.conserve, "what the scheme conserves besides mass")
      ->check(CLI::IsMember({"energy", "enstrophy"}))
      ->capture_default_str();
  app.add_option("--cells", o.cells, "cells along x and y")
      ->expected(2)
      ->check(CLI::Range(std::int64_t{1}, kMostCells))
      ->capture_default_str();
  app.add_option("--size", o.size, "length and width in km")->expected(2)->capture_default_str();
  app.add_option("--depth", o.depth, "of the fluid at rest, m")->capture_default_str();
  app.add_option("--coriolis", o.coriolis, "f in 1/s")->capture_default_str();
  app.add_option("--days", o.days, "time (default: 2.5 for jets, 0.2 for a bump)");
  app.add_option("--frames", o.frames, "about how many pictures on the way")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{9999}))
      ->capture_default_str();
  app.add_option("--out", o.out, "folder for --frames, made if there is none")->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
