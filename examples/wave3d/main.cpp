// wave3d: a seismic shot in three dimensions, recorded between the grid points.
//
//   wave3d                                       built-in layered model
//   wave3d --check                               order of convergence and a point source's exact wave
//   wave3d --model marmousi.raw --shape 1601 41 401 --spacing 7.5 --every 4
#include <chrono>
#include <cmath>
#include <cstdio>

#include "dsl/expr/limits.h"
#include "examples/common/array_file.h"
#include "examples/common/program.h"
#include "examples/common/seismic.h"
#include "examples/wave3d/acoustic.h"
#include "examples/wave3d/check.h"
#include "examples/wave3d/picture.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string model, picture = "wave3d.png", gather, target;
  std::vector<std::int64_t> shape = {161, 81, 81};
  double spacing = 10, frequency = 0, receiver_depth = 15;
  std::vector<double> source;
  std::int64_t every = 1, receivers = 121, steps = 450, margin = 30;
  bool check = false;
};

constexpr std::int64_t kMostSteps = 1 << 24;

void check(const Options& o) {
  for (const std::int64_t n : o.shape) {
    if (n >= 1 && n <= 100000) continue;
    throw UserError("--shape: " + std::to_string(n) + " points; each must be 1 to 100000");
  }
  const auto positive = [](const char* name, double value, bool or_zero) {
    if (std::isfinite(value) && (value > 0 || (or_zero && value == 0))) return;
    throw UserError(std::string(name) + " " + std::to_string(value) + ": it must be more than 0");
  };
  positive("--spacing", o.spacing, false);
  positive("--frequency", o.frequency, true);
  for (const double at : o.source) positive("--source", at, true);
  positive("--receiver-depth", o.receiver_depth, true);
}

/// By default the source is in the middle of x and y, one and a half points deep; receivers stand along
/// x from end to end at the source's y.
Shot shot_of(const Options& o, const VelocityVolume& model) {
  const auto length = [&](int d) {
    return static_cast<double>(model.velocity.extent(d) - 1) * model.spacing;
  };
  Shot shot;
  shot.source = {std::min(1.5 * model.spacing, length(0)), 0.503 * length(1), 0.497 * length(2)};
  if (!o.source.empty()) shot.source = {o.source[2], o.source[0], o.source[1]};
  shot.frequency = o.frequency > 0 ? o.frequency : resolved_frequency(model.spacing, model.slowest());
  for (std::int64_t i = 0; i < o.receivers; ++i) {
    const double share =
        o.receivers > 1 ? static_cast<double>(i) / static_cast<double>(o.receivers - 1) : 0.5;
    shot.receivers.push_back({std::min(o.receiver_depth, length(0)), share * length(1), shot.source[2]});
  }
  return shot;
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());
  if (o.check) {
    const bool order = check_order(target), source = check_point_source(target);
    if (!order || !source) throw Error("the results are not those that are known");
    return;
  }
  const Shape shape{o.shape[0], o.shape[1], o.shape[2]};
  const VelocityVolume model = o.model.empty() ? layered_volume(shape, o.spacing)
                                               : load_volume(o.model, shape, o.spacing, o.every);
  const Shot shot = shot_of(o, model);
  Acoustic3d wave(model, shot, o.steps, o.margin, target);
  const Buffer<float>& v = model.velocity;
  std::printf("model     %s: %lld x %lld x %lld points, %.2f m apart, %.0f to %.0f m/s\n",
              model.name.c_str(), static_cast<long long>(v.extent(1)),
              static_cast<long long>(v.extent(2)), static_cast<long long>(v.extent(0)), model.spacing,
              model.slowest(), model.fastest());
  std::printf("source    Ricker %.1f Hz at x %.1f, y %.1f, depth %.1f m; dt %.3f ms; %zu receivers\n",
              shot.frequency, shot.source[1], shot.source[2], shot.source[0], wave.dt() * 1e3,
              shot.receivers.size());
  wave.show_progress();
  const auto start = std::chrono::steady_clock::now();
  wave.run();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("run       %lld steps of %lld points in %.1f s with compilation: %.3f billion updates/s\n",
              static_cast<long long>(o.steps), static_cast<long long>(wave.points()), seconds,
              static_cast<double>(o.steps) * static_cast<double>(wave.points()) / seconds * 1e-9);
  const auto y = static_cast<std::int64_t>(std::round(shot.source[2] / model.spacing));
  draw_shot(o.picture, model, shot, wave.section(y), y, wave.gather(), wave.dt());
  std::printf("picture   %s: section and shot gather after %.3f s\n", o.picture.c_str(),
              static_cast<double>(o.steps) * wave.dt());
  if (!o.gather.empty()) {
    write_npy(o.gather, wave.gather());
    std::printf("gather    %s: float32, %lld times x %zu receivers\n", o.gather.c_str(),
                static_cast<long long>(o.steps), shot.receivers.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Acoustic shot in three dimensions, 8th order in space, 2nd in time, absorbing edges",
               "wave3d");
  app.footer(
      "Example: wave3d --source 805 400 15 --receivers 161 --gather gather.npy --picture shot.png");
  app.add_option(
      "--model", o.model,
      "velocities: raw float32 or NPY, depth fastest, m/s or km/s; a section is repeated along y");
  app.add_option("--shape", o.shape, "points in x, y and depth")->expected(3)->capture_default_str();
  app.add_option("--spacing", o.spacing, "metres between points")->capture_default_str();
  app.add_option("--every", o.every, "keep every n-th point of the model's file")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000}))
      ->capture_default_str();
  app.add_option("--source", o.source, "x, y and depth in metres (default: the middle, 1.5 points deep)")
      ->expected(3);
  app.add_option("--frequency", o.frequency,
                 "peak frequency in Hz (default: five points a shortest wave)");
  app.add_option("--receivers", o.receivers, "receivers along x")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10000}))
      ->capture_default_str();
  app.add_option("--receiver-depth", o.receiver_depth, "metres")->capture_default_str();
  app.add_option("--steps", o.steps, "time steps")
      ->check(CLI::Range(std::int64_t{1}, kMostSteps))
      ->capture_default_str();
  app.add_option("--margin", o.margin, "points of the absorbing layers")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{500}))
      ->capture_default_str();
  app.add_flag("--check", o.check, "compare with what is known instead of running a shot");
  add_usual_options(app, o.target, o.picture);
  app.add_option("--gather", o.gather, "NPY file to write the receivers' traces to");
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
