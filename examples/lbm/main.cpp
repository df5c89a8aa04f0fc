// lbm: flow past a cylinder or a sphere by the lattice Boltzmann method, D3Q19.
//
//   lbm
//   lbm --obstacle sphere --cells 192 96 96 --reynolds 200 --picture sphere.png
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "examples/common/copy_speed.h"
#include "examples/common/program.h"
#include "examples/lbm/check.h"
#include "examples/lbm/picture.h"

namespace {

using namespace mica;
using namespace mica::examples;

constexpr std::int64_t kStepsBetweenLooks = 10;  // at the wake

struct Options {
  std::string obstacle = "cylinder", picture = "lbm.png", target;
  std::vector<std::int64_t> cells = {320, 160, 2};
  double diameter = 20, upstream = 3, reynolds = 120, speed = 0.1;
  std::int64_t steps = 6000;
  [[nodiscard]] bool sphere() const { return obstacle == "sphere"; }
};

constexpr std::int64_t kMostCells = 1 << 13;

void check(const Options& o) {
  const auto in_range = [](const char* name, double value, double least, double most, const char* why) {
    if (value >= least && value <= most) return;
    char words[160];
    std::snprintf(words, sizeof words, "%s %g: it must be %g to %g, %s", name, value, least, most, why);
    throw UserError(words);
  };
  in_range("--diameter", o.diameter, 4, 1000, "in cells");
  in_range("--upstream", o.upstream, 1, 100, "in diameters");
  in_range("--reynolds", o.reynolds, 0.1, 10000, "speed times diameter over viscosity");
  in_range("--speed", o.speed, 0.001, 0.2, "in cells a step, well below that of sound, 0.58");
  const double least[] = {(o.upstream + 4) * o.diameter, 2 * o.diameter,
                          o.sphere() ? 2 * o.diameter : 1};
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t n = o.cells[d];
    if (static_cast<double>(n) >= least[d] && n <= kMostCells) continue;
    char words[160];
    std::snprintf(words, sizeof words,
                  "--cells: %lld along %c, where the obstacle of %g asks for %g, and at most %lld",
                  static_cast<long long>(n), "xyz"[d], o.diameter, least[d],
                  static_cast<long long>(kMostCells));
    throw UserError(words);
  }
}

Setup setup_of(const Options& o) {
  const double radius = o.diameter / 2;
  const bool sphere = o.sphere();
  const std::array<double, 3> centre = {o.upstream * o.diameter - 0.5,
                                        static_cast<double>(o.cells[1] - 1) / 2,
                                        static_cast<double>(o.cells[2] - 1) / 2};
  Setup setup;
  setup.cells = {o.cells[0], o.cells[1], o.cells[2]};
  setup.viscosity = o.speed * o.diameter / o.reynolds;
  setup.inflow = o.speed;
  setup.fringe = static_cast<std::int64_t>(1.2 * o.diameter);
  setup.solid = [=](std::int64_t x, std::int64_t y, std::int64_t z) {
    const double dx = static_cast<double>(x) - centre[0], dy = static_cast<double>(y) - centre[1],
                 dz = sphere ? static_cast<double>(z) - centre[2] : 0;
    return dx * dx + dy * dy + dz * dz < radius * radius;
  };
  setup.start = [=](std::int64_t x, std::int64_t y, std::int64_t) {
    // A gust behind the obstacle: without it eddies would begin from rounding alone.
    const double dx = (static_cast<double>(x) - centre[0]) / o.diameter - 2,
                 dy = (static_cast<double>(y) - centre[1]) / o.diameter;
    return Vector{o.speed, 0.4 * o.speed * std::exp(-dx * dx - dy * dy), 0};
  };
  return setup;
}

/// Eddies of one side a unit of time of diameter over inflow, from where v rises through 0 in the second
/// half of a run; 0 where there are not three, or hardly any.
double strouhal(const std::vector<PlotPoint>& wake) {
  constexpr double kLeast = 0.02;  // less is no eddy
  std::vector<double> rises;
  double most = 0;
  for (std::size_t i = wake.size() / 2 + 1; i < wake.size(); ++i) {
    const PlotPoint &a = wake[i - 1], &b = wake[i];
    most = std::max(most, b.y);
    if (a.y <= 0 && b.y > 0) rises.push_back(a.x + (b.x - a.x) * a.y / (a.y - b.y));
  }
  return rises.size() < 3 || most < kLeast
             ? 0
             : static_cast<double>(rises.size() - 1) / (rises.back() - rises.front());
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());
  Lattice small(target);
  const Plates plates = between_plates(small);
  bool right = check_viscosity(plates);
  right = check_decay(small) && right;
  right = check_mass(small) && right;

  const Setup setup = setup_of(o);
  Lattice lattice(target);
  lattice.watch(
      {static_cast<std::int64_t>((o.upstream + 2) * o.diameter), o.cells[1] / 2, o.cells[2] / 2},
      kStepsBetweenLooks);
  std::printf("flow      %s of %g cells in %lld x %lld x %lld, Reynolds number %g, %lld steps\n",
              o.obstacle.c_str(), o.diameter, static_cast<long long>(o.cells[0]),
              static_cast<long long>(o.cells[1]), static_cast<long long>(o.cells[2]), o.reynolds,
              static_cast<long long>(o.steps));
  std::fflush(stdout);
  lattice.show_progress();
  lattice.begin(setup);
  const std::int64_t first = std::min<std::int64_t>(2, o.steps);
  lattice.run(first);  // compiles; not timed
  const auto start = std::chrono::steady_clock::now();
  lattice.run(o.steps - first);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!std::isfinite(lattice.largest())) {
    throw UserError(
        "the flow has grown beyond all numbers: give a lower --reynolds or --speed, or more "
        "cells to the --diameter");
  }
  const double cells = static_cast<double>(o.cells[0] * o.cells[1] * o.cells[2]);
  if (o.steps > first) {
    const double rate = cells * static_cast<double>(o.steps - first) / seconds;
    const double copy = copy_bandwidth(target, static_cast<std::size_t>(cells * Lattice::kBytes));
    std::printf(
        "speed     %.1f million cells a second in %.1f s: %.1f GB/s, %.0f %% of a copy of as many bytes "
        "(%.1f GB/s)\n",
        rate * 1e-6, seconds, rate * Lattice::kBytes * 1e-9, 100 * rate * Lattice::kBytes / copy,
        copy * 1e-9);
  }
  std::vector<PlotPoint> wake;
  for (const double v : lattice.watched()) {
    const double steps = static_cast<double>(wake.size() + 1) * kStepsBetweenLooks;
    wake.push_back({steps * o.speed / o.diameter, v / o.speed});
  }
  const double eddies = strouhal(wake);
  if (eddies > 0) {
    std::printf("eddies    Strouhal number %.3f", eddies);
    if (!o.sphere() && o.reynolds >= 50 && o.reynolds <= 180) {
      std::printf("; of a cylinder alone %.3f (Williamson 1989)",
                  0.1816 - 3.3265 / o.reynolds + 1.6e-4 * o.reynolds);
    }
    std::printf("\n");
  }
  char title[96];
  std::snprintf(title, sizeof title, "Velocity past a %s at Re = %g after %lld steps",
                o.obstacle.c_str(), o.reynolds, static_cast<long long>(o.steps));
  draw(o.picture, {lattice.fields(), setup, o.diameter, title, wake}, plates);
  std::printf("picture   %s: velocity, the wake, and the flow between plates\n", o.picture.c_str());
  if (!right) throw Error("the results are not those that are known");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Flow past an obstacle by the lattice Boltzmann method, D3Q19, two relaxation times",
               "lbm");
  app.footer("Example: lbm --obstacle sphere --cells 192 96 96 --reynolds 200 --picture sphere.png");
  app.add_option("--obstacle", o.obstacle, "a sphere, or a cylinder along z")
      ->check(CLI::IsMember({"cylinder", "sphere"}))
      ->capture_default_str();
  app.add_option("--cells", o.cells, "of the box, which is periodic in y and z")
      ->expected(3)
      ->capture_default_str();
  app.add_option("--diameter", o.diameter, "of the obstacle in cells")->capture_default_str();
  app.add_option("--upstream", o.upstream, "diameters in front of the obstacle's middle")
      ->capture_default_str();
  app.add_option("--reynolds", o.reynolds, "Reynolds number")->capture_default_str();
  app.add_option("--speed", o.speed, "of the inflow in cells a step")->capture_default_str();
  app.add_option("--steps", o.steps, "time steps")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24))
      ->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
