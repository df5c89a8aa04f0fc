#include "examples/local_laplacian/schedule.h"

namespace mica::examples {
namespace {

const Var x("x"), y("y"), c("c"), k("k"), strip("strip");

void on_gpu(Filter& f) {
  for (std::size_t l = 0; l < f.levels.size(); ++l) {
    Filter::Level& level = f.levels[l];
    level.light.compute_root().gpu_tile(x, y, 32, 8);
    if (l > 0) level.remapped.compute_root().gpu_tile(x, y, k, 32, 8, 1);
    if (l > 0 && l + 1 < f.levels.size()) level.out.compute_root().gpu_tile(x, y, 32, 8);
  }
  // Kept with half its columns, what has an exponential is computed half as often.
  f.levels[1].half_remapped.compute_root().gpu_tile(x, y, k, 32, 8, 1);
  f.result.bound(c, 0, f.channels).reorder(c, x, y).unroll(c).gpu_tile(x, y, 32, 8);
}

void on_cpu(Filter& f) {
  constexpr int kLanes = 16;
  constexpr std::size_t kInStrips = 5;  // levels behind have too few rows for that
  const std::size_t last = f.levels.size() - 1;
  f.levels[0].light.compute_root().vectorize(x, kLanes).split(y, strip, y, 32).parallel(strip);
  for (std::size_t l = 1; l <= last; ++l) {
    Filter::Level& level = f.levels[l];
    level.light.compute_root().vectorize(x, kLanes);
    level.remapped.compute_root().reorder(x, k, y).vectorize(x, kLanes);
    if (l >= kInStrips) {
      level.remapped.parallel(y);
      continue;
    }
    // Each row needs two new ones of those with half the columns, and finds the others in the cache.
    level.light.split(y, strip, y, 32).parallel(strip);
    level.half_light.store_at(level.light, strip).compute_at(level.light, y).vectorize(x, kLanes);
    level.remapped.split(y, strip, y, 16).parallel(strip);
    level.half_remapped.store_at(level.remapped, strip)
        .compute_at(level.remapped, y)
        .reorder(x, k, y)
        .vectorize(x, kLanes);
  }
  Func half = f.levels[1].half_remapped;
  f.levels[0].remapped.in(half).compute_at(half, k).vectorize(x, kLanes);

  f.result.bound(c, 0, f.channels).reorder(c, x, y).unroll(c).vectorize(x, kLanes);
  f.result.split(y, strip, y, 64).parallel(strip);
  f.levels[0].out.compute_at(f.result, y).vectorize(x, kLanes);
  f.levels[0].tall_remapped.compute_at(f.result, y).vectorize(x, kLanes);
  for (std::size_t l = 1; l < last; ++l) {
    Func& out = f.levels[l].out;
    out.vectorize(x, kLanes);
    if (l < 3) {
      out.store_at(f.result, strip).compute_at(f.result, y);
    } else {
      out.compute_root();
      if (l < kInStrips) out.split(y, strip, y, 16).parallel(strip);
    }
  }
}

Executable compiled(Filter& filter, const Target& target) {
  schedule(filter, target);
  return compile(filter.result, target);
}

}  // namespace

void schedule(Filter& filter, const Target& target) {
  target.is_gpu() ? on_gpu(filter) : on_cpu(filter);
}

Program::Program(int channels, int levels, int samples, const Target& target)
    : filter_(channels, levels, samples), executable_(compiled(filter_, target)) {}

void Program::run(const Buffer<std::uint16_t>& photo, int white, const Strength& strength,
                  Buffer<std::uint16_t>& result) {
  const Filter& f = filter_;
  executable_.run(result, {.inputs = {{f.photo, photo}},
                           .params = {{f.white, white},
                                      {f.alpha, strength.alpha},
                                      {f.beta, strength.beta},
                                      {f.sigma, strength.sigma}}});
  executable_.synchronize();
}

}  // namespace mica::examples
