// heat3d: the heat equation in three dimensions, and how fast its errors fall.
//
//   heat3d
//   heat3d --intervals 100 --mode 1 2 3 --picture heat3d.png
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "examples/common/pictures.h"
#include "examples/common/program.h"
#include "examples/heat3d/heat.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string picture = "heat3d.png", target;
  std::int64_t intervals = 64;
  std::vector<int> mode = {1, 2, 1};
  int tile = 3;
  double tolerance = 0.1;
};

constexpr std::int64_t kMostIntervals = 1024;

void check(const Options& o) {
  for (const int k : o.mode) {
    // The coarsest grid of the refinements, a quarter of the finest, has to resolve the mode.
    if (k >= 1 && k < o.intervals / 4) continue;
    throw UserError("--mode " + std::to_string(k) + " with --intervals " + std::to_string(o.intervals) +
                    ": half waves are 1 to " + std::to_string(o.intervals / 4 - 1) +
                    ", fewer than a quarter of the intervals");
  }
  if (!(o.tolerance > 0 && o.tolerance <= 1)) {
    throw UserError("--tolerance " + std::to_string(o.tolerance) +
                    ": it must be more than 0, at most 1");
  }
}

/// Errors of runs whose spacing or time step is halved from one to the next.
struct Refinement {
  std::vector<PlotPoint> errors;  ///< x: spacing or step, y: error
  /// log2 of how much the error falls over the last halving.
  [[nodiscard]] double order() const {
    const std::size_t n = errors.size();
    return std::log(errors[n - 2].y / errors[n - 1].y) / std::log(errors[n - 2].x / errors[n - 1].x);
  }
};

void print(const char* what, const Grid& grid, const Refinement& refinement) {
  std::printf("%-9s h = 1/%-5lld dt = %.3e  error %.8e\n", what, static_cast<long long>(grid.intervals),
              grid.dt, refinement.errors.back().y);
}

/// Steps of at most h^2/8 that end at `time`.
std::int64_t steps_for(double time, std::int64_t intervals) {
  return static_cast<std::int64_t>(std::ceil(8 * time * static_cast<double>(intervals * intervals)));
}

/// The largest difference from the mode times `amplitude`, after `steps` steps.
double error_after(Heat& heat, const Mode& mode, const Grid& grid, std::int64_t steps,
                   double amplitude) {
  Buffer<double> u = start(mode, grid);
  heat.run(u, grid, steps);
  return largest_difference(u, mode, grid, amplitude);
}

/// The spacing is halved twice at one time step. The reference is what these steps would make of the
/// mode without any error in space.
Refinement refine_space(Heat& heat, std::int64_t finest, const Mode& mode, double time) {
  Refinement space;
  const std::int64_t steps = steps_for(time, finest);
  const double dt = time / static_cast<double>(steps);
  const double exact = std::pow(1.0 - dt * mode.rate(), static_cast<double>(steps));
  for (const std::int64_t n : {finest / 4, finest / 2, finest}) {
    const Grid grid{n, dt};
    space.errors.push_back({grid.spacing(), error_after(heat, mode, grid, steps, exact)});
    print("space", grid, space);
  }
  return space;
}

/// The time step is halved on one grid, whose decay in continuous time is the reference.
Refinement refine_time(Heat& heat, std::int64_t n, const Mode& mode, double time) {
  Refinement result;
  const std::int64_t fewest = steps_for(time, n);
  for (const std::int64_t steps : {fewest, 2 * fewest, 4 * fewest}) {
    const Grid grid{n, time / static_cast<double>(steps)};
    const double exact = std::exp(-mode.rate_on(grid) * time);
    result.errors.push_back({grid.dt, error_after(heat, mode, grid, steps, exact)});
    print("time", grid, result);
  }
  return result;
}

/// One line of orders, and whether it is right.
bool report(const char* what, const Refinement& refinement, double expected, double tolerance) {
  const double order = refinement.order();
  const bool right = std::abs(order - expected) <= tolerance;
  std::printf("order     in %s %.3f, expected %.0f: %s\n", what, order, expected,
              right ? "right" : "WRONG");
  return right;
}

void draw(const std::string& path, const Refinement& space, const Refinement& time) {
  Page page(1060, 470);
  const auto panel = [&](double left, const Refinement& r, const char* axis, int order,
                         const char* title) {
    const PlotPoint first = r.errors.front(), last = r.errors.back();
    std::vector<PlotPoint> line = {first, last};  // the expected slope, through the finest run
    line[0].y = last.y * std::pow(first.x / last.x, order);
    Plot plot = page.plot({left, 50, 380, 330}, {axis, last.x / 1.25, first.x * 1.25, true},
                          {"largest error", last.y / 2, first.y * 2, true}, title);
    plot.curve(line, kGray, "order " + std::to_string(order), 2, true);
    plot.dots(r.errors, kBlue, "computed", 5, true);
    plot.legend(Corner::TopLeft);
  };
  panel(100, space, "spacing h", 2, "Error in space, one time step");
  panel(630, time, "time step dt", 1, "Error in time, one grid");
  page.save(path);
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  const Mode mode{{o.mode[0], o.mode[1], o.mode[2]}};
  const double time = 1.0 / mode.rate();  // the mode falls to 1/e
  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());

  // The mode is a vector of the scheme's own: every step multiplies it by one number.
  const std::int64_t steps = steps_for(time, o.intervals);
  const Grid grid{o.intervals, time / static_cast<double>(steps)};
  Heat heat(target, o.tile);
  Buffer<double> u = start(mode, grid);
  const auto begin = std::chrono::steady_clock::now();
  heat.run(u, grid, steps);
  const double left = amplitude(u, mode, grid);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double measured = -std::log(left) / time;
  const double of_scheme = -std::log(mode.factor_on(grid)) / grid.dt;
  std::printf("run       %lld^3 points, %lld steps in %.2f s, with compilation\n",
              static_cast<long long>(o.intervals - 1), static_cast<long long>(steps), seconds);
  std::printf("decay     rate %.10f, of the scheme %.10f, of the equation %.10f\n", measured, of_scheme,
              mode.rate());
  const bool decays = std::abs(measured / of_scheme - 1) < 1e-10;
  if (!decays) std::printf("decay     WRONG: it should be the scheme's to 1e-10\n");

  const Refinement space = refine_space(heat, o.intervals, mode, time);
  const Refinement in_time = refine_time(heat, o.intervals / 2, mode, time);
  const bool second = report("space", space, 2, o.tolerance);
  const bool first = report("time", in_time, 1, o.tolerance);
  draw(o.picture, space, in_time);
  std::printf("picture   %s: error against spacing and time step\n", o.picture.c_str());
  if (!decays || !second || !first) throw Error("the results are not those that the theory has");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Heat equation on a cube: decay of a Fourier mode, and orders of convergence", "heat3d");
  app.footer("Example: heat3d --intervals 100 --mode 1 2 3 --picture heat3d.png");
  app.add_option("--intervals", o.intervals, "intervals of the finest grid along an edge")
      ->check(CLI::Range(std::int64_t{8}, kMostIntervals))
      ->capture_default_str();
  app.add_option("--mode", o.mode, "half waves along x, y and z")->expected(3)->capture_default_str();
  app.add_option("--time-tile", o.tile, "time steps at once")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  app.add_option("--tolerance", o.tolerance, "how far an order may be off")->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
