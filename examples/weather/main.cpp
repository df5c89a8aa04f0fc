// weather: horizontal diffusion with a flux limiter and implicit vertical advection, timed and checked.
//
//   weather
//   weather --grid 256 256 80 --steps 200 --picture weather.png
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>

#include "examples/common/copy_speed.h"
#include "examples/common/program.h"
#include "examples/weather/check.h"
#include "examples/weather/steps.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string picture = "weather.png", target;
  std::vector<std::int64_t> grid = {128, 128, 80};
  std::int64_t steps = 100;
};

constexpr std::int64_t kMostPoints = 1 << 14;

void check(const Options& o) {
  if (o.grid[0] >= 5 && o.grid[1] >= 5 && o.grid[2] >= 1 &&
      *std::max_element(o.grid.begin(), o.grid.end()) <= kMostPoints) {
    return;
  }
  throw UserError("--grid " + std::to_string(o.grid[0]) + " " + std::to_string(o.grid[1]) + " " +
                  std::to_string(o.grid[2]) + ": give 5 to " + std::to_string(kMostPoints) +
                  " points along x and y, of which diffusion keeps two at each edge, and 1 to " +
                  std::to_string(kMostPoints) + " levels");
}

/// Says what `run(steps)` takes, beside a copy of the bytes of a step: u, one coefficient, the new u.
void time(const char* what, const Options& o, const Target& target,
          const std::function<void(std::int64_t)>& run) {
  run(1);  // compiles; not timed
  device_for(target)->synchronize(Stream{});
  const auto start = std::chrono::steady_clock::now();
  run(o.steps);
  device_for(target)->synchronize(Stream{});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double points = static_cast<double>(o.grid[0] * o.grid[1] * o.grid[2]);
  const double bytes = points * 3 * sizeof(double);
  const double bandwidth = bytes * static_cast<double>(o.steps) / seconds;
  const double copy = copy_bandwidth(target, static_cast<std::size_t>(bytes));
  std::printf("%-9s %.3f billion points/s: %.1f GB/s, %.0f %% of a copy of as many bytes (%.1f GB/s)\n",
              what, points * static_cast<double>(o.steps) / seconds * 1e-9, bandwidth * 1e-9,
              100 * bandwidth / copy, copy * 1e-9);
}

void draw(const std::string& path, const Target& target) {
  constexpr std::int64_t kSteps = 20;
  Page page(1090, 470);
  Plot across = page.plot({85, 50, 400, 330}, {"x", 0, 64}, {"u", -0.2, 1.7},
                          "Diffusion of a block, " + std::to_string(kSteps) + " steps");
  across.curve(step_after(0, true, target), kGray, "start", 2, true);
  across.curve(step_after(kSteps, false, target), kBlue, "not limited");
  across.curve(step_after(kSteps, true, target), kRed, "limited");
  across.legend(Corner::TopLeft);
  const Rise risen = rise(120, target);
  Plot up = page.plot({620, 50, 400, 330}, {"u", -0.2, 1.2}, {"height", 0, 1},
                      "A layer that rises, 120 levels");
  up.curve(risen.start, kGray, "start", 2, true);
  up.curve(risen.exact, kBlack, "exact", 1);
  up.dots(risen.computed, kRed, "computed", 2.5, true);
  up.legend(Corner::BottomRight);
  page.save(path);
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  std::printf("target    %s (%s), %lld x %lld x %lld points\n", to_string(target).c_str(),
              device_for(target)->name().c_str(), static_cast<long long>(o.grid[0]),
              static_cast<long long>(o.grid[1]), static_cast<long long>(o.grid[2]));
  bool right = check_bits({o.grid[0], o.grid[1], o.grid[2]}, target);
  right = check_damping(target) && right;

  Buffer<double> u(o.grid[0], o.grid[1], o.grid[2]), coefficient(o.grid[0], o.grid[1], o.grid[2]),
      w(o.grid[0], o.grid[1], o.grid[2] + 1);
  const auto wave = [](const Coordinates& at, double phase) {
    return std::sin(0.3 * static_cast<double>(at[0]) + phase) *
               std::cos(0.2 * static_cast<double>(at[1])) +
           0.1 * std::sin(0.5 * static_cast<double>(at[2]));
  };
  u.for_each([&](double& value, const Coordinates& at) { value = 10 + wave(at, 0); });
  w.for_each([&](double& value, const Coordinates& at) { value = wave(at, 1); });
  coefficient.fill(1.0 / 40);

  Advection advection(target);
  constexpr double kStep = 1.5;  // the fastest flow crosses more than a level a step
  const Buffer<double> before = u.copy();
  advection.run(u, w, kStep, 1);
  const double off = residual(before, u, w, kStep);
  const bool solved = off < 8 * 0x1p-53;
  std::printf("advection solved to %.1e of an equation's terms, allowed %.1e: %s\n", off, 8 * 0x1p-53,
              solved ? "right" : "WRONG");
  right = check_order(target) && solved && right;

  Diffusion diffusion(true, target);
  time("diffusion", o, target, [&](std::int64_t steps) { diffusion.run(u, coefficient, steps); });
  time("advection", o, target, [&](std::int64_t steps) { advection.run(u, w, kStep, steps); });
  draw(o.picture, target);
  std::printf("picture   %s: what the limiter does, and a layer that rises\n", o.picture.c_str());
  if (!right) throw Error("the results are not those that are known");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Two steps of a weather model: limited horizontal diffusion, implicit vertical advection",
               "weather");
  app.footer("Example: weather --grid 256 256 80 --steps 200 --picture weather.png");
  app.add_option("--grid", o.grid, "points along x and y, levels")->expected(3)->capture_default_str();
  app.add_option("--steps", o.steps, "steps to time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
