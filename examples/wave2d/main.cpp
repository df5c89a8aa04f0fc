// wave2d: an acoustic wave through a velocity model.
//
//   wave2d                                       built-in layered model
//   wave2d --model marmousi.raw --shape 1601 401 --spacing 7.5
#include <chrono>
#include <cmath>
#include <cstdio>

#include "dsl/expr/limits.h"
#include "examples/common/array_file.h"
#include "examples/common/copy_speed.h"
#include "examples/common/program.h"
#include "examples/common/seismic.h"
#include "examples/wave2d/acoustic.h"
#include "examples/wave2d/picture.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string model, picture = "wave2d.png", wavefield, target;
  std::vector<std::int64_t> shape = {1601, 401};
  double spacing = 7.5, frequency = 0, source_depth = 0.1, source_distance = 0.5;
  std::int64_t steps = 1000;
};

constexpr std::int64_t kMostSteps = (std::int64_t{1} << 31) - 1;

/// What the command line's own checks let pass: numbers that are none, and sizes of nothing.
void check(const Options& o) {
  for (const std::int64_t n : o.shape) {
    if (n >= 1 && n <= kLargestExtent) continue;
    throw UserError("--shape " + std::to_string(o.shape[0]) + " " + std::to_string(o.shape[1]) +
                    ": each must be 1 to " + std::to_string(kLargestExtent));
  }
  if (!std::isfinite(o.spacing) || o.spacing <= 0) {
    throw UserError("--spacing " + std::to_string(o.spacing) + ": it must be more than 0 metres");
  }
  if (!std::isfinite(o.frequency) || o.frequency < 0) {
    throw UserError("--frequency " + std::to_string(o.frequency) +
                    ": it must be more than 0 Hz, or 0 for the default");
  }
  if (!std::isfinite(o.source_depth) || !std::isfinite(o.source_distance)) {
    throw UserError("--source-depth and --source-distance are shares from 0 to 1");
  }
  if (o.steps > kMostSteps) {
    throw UserError("--steps is more than " + std::to_string(kMostSteps));
  }
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  const VelocityModel model = o.model.empty() ? layered_model(o.shape[0], o.shape[1], o.spacing)
                                              : load_model(o.model, o.shape[0], o.shape[1], o.spacing);
  auto place = [](double share, std::int64_t n) {
    return static_cast<std::int64_t>(share * static_cast<double>(n - 1));
  };
  const Source source{
      place(o.source_depth, model.depth()), place(o.source_distance, model.distance()),
      o.frequency > 0 ? o.frequency : resolved_frequency(model.spacing, model.slowest())};
  Acoustic wave(model, source, target);
  std::printf("model     %s: %lld x %lld points, %.2f m apart, %.0f to %.0f m/s\n", model.name.c_str(),
              static_cast<long long>(model.distance()), static_cast<long long>(model.depth()),
              model.spacing, model.slowest(), model.fastest());
  std::printf("source    Ricker %.1f Hz at depth %.0f m, distance %.0f m; dt %.3f ms\n",
              source.frequency, static_cast<double>(source.depth) * model.spacing,
              static_cast<double>(source.distance) * model.spacing, wave.dt() * 1e3);

  const std::int64_t warm = std::min<std::int64_t>(o.steps, 10);  // compiles; not timed
  wave.run(warm);
  wave.finish();
  const auto start = std::chrono::steady_clock::now();
  wave.show_progress();
  wave.run(o.steps - warm);
  wave.finish();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());
  if (o.steps > warm) {
    const double steps = static_cast<double>(o.steps - warm);
    const double rate = static_cast<double>(wave.points()) * steps / seconds;
    const double bandwidth = static_cast<double>(wave.bytes_per_step()) * steps / seconds;
    const double copy = copy_bandwidth(target, static_cast<std::size_t>(wave.bytes_per_step()));
    std::printf(
        "speed     %.2f billion point updates/s: %.1f GB/s, %.0f %% of a copy of as many bytes (%.1f "
        "GB/s)\n",
        rate * 1e-9, bandwidth * 1e-9, 100.0 * bandwidth / copy, copy * 1e-9);
  }
  const double after = static_cast<double>(wave.steps_done()) * wave.dt();
  char title[128];
  std::snprintf(title, sizeof title, "Pressure after %.3g s, Ricker wavelet of %.3g Hz", after,
                source.frequency);
  draw_wavefield(o.picture, model, wave.wavefield(), title);
  std::printf("picture   %s: pressure after %lld steps (%.3f s)\n", o.picture.c_str(),
              static_cast<long long>(wave.steps_done()),
              static_cast<double>(wave.steps_done()) * wave.dt());
  if (!o.wavefield.empty()) {
    write_float_array(o.wavefield, wave.wavefield());
    std::printf("wavefield %s: float32, depth fastest\n", o.wavefield.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Acoustic wave propagation, 8th order in space, 2nd in time, absorbing edges", "wave2d");
  app.footer("Example: wave2d --model marmousi.raw --shape 1601 401 --spacing 7.5 --steps 1600");
  app.add_option("--model", o.model, "velocity file: raw float32 or NPY, depth fastest, m/s or km/s");
  app.add_option("--shape", o.shape, "points in distance and depth")->expected(2)->capture_default_str();
  app.add_option("--spacing", o.spacing, "metres between points")->capture_default_str();
  app.add_option("--frequency", o.frequency,
                 "peak frequency in Hz (default: five points a shortest wave)");
  app.add_option("--source-depth", o.source_depth, "share of the model's depth")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--source-distance", o.source_distance, "share of the model's width")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--steps", o.steps, "time steps")->check(CLI::PositiveNumber)->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  app.add_option("--wavefield", o.wavefield, "raw float32 file to write the final pressure to");
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
