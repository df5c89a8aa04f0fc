// overlap: time steps on a grid larger than the device memory that it may use, with copies in both
// directions beside the kernels.
//
//   overlap
//   overlap --points 32768 --memory 2G --steps 512 --steps-at-once 128 --picture overlap.png
#include <cmath>
#include <cstdio>

#include "examples/common/program.h"
#include "examples/overlap/picture.h"
#include "examples/overlap/streamed.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string picture = "overlap.png", target;
  std::int64_t points = 4096, steps = 64, memory = std::int64_t{64} << 20;
  Steps at_once;
};

constexpr std::int64_t kMostPoints = 131072, kMostSteps = 1000000;
// Up to this many points a plain Iteration's bits are compared: it has the whole grid on the device.
constexpr std::int64_t kMostCompared = std::int64_t{1} << 28;

long long number(std::int64_t value) { return static_cast<long long>(value); }

void check(const Options& o) {
  if (o.at_once.a_pass % o.at_once.a_kernel != 0) {
    throw UserError("--steps-at-once " + std::to_string(o.at_once.a_pass) + " with --time-tile " +
                    std::to_string(o.at_once.a_kernel) + ": a pass has whole kernels: give a multiple");
  }
  if (o.steps % o.at_once.a_pass != 0) {
    throw UserError("--steps " + std::to_string(o.steps) + " with --steps-at-once " +
                    std::to_string(o.at_once.a_pass) + ": a run has whole passes: give a multiple");
  }
}

/// The host's array with its rim, in memory that the GPU copies by itself.
Buffer<double> array_of(std::int64_t points, const Target& target) {
  return Buffer<double>::pinned(Buffer<double>::with_halo({points, points}, {1, 1}).dims(), target);
}

void print(const PipelineTimes& times, const Options& o, const Slabs& slabs) {
  const auto points = static_cast<double>(o.points * o.points);
  const auto passes = static_cast<double>(o.steps / o.at_once.a_pass);
  const double row = static_cast<double>(o.points + 2) * sizeof(double);
  double rows_in = 0;
  for (std::int64_t k = 0; k < slabs.count; ++k) {
    rows_in += static_cast<double>(std::min(o.points + 1, slabs.end(k) + slabs.halo) -
                                   std::max<std::int64_t>(-1, slabs.begin(k) - slabs.halo));
  }
  const auto line = [&](const char* what, double seconds, double amount, const char* unit) {
    std::printf("%-15s %9.4f s %5.1f %%  %9.2f %s\n", what, seconds, 100 * seconds / times.sum(),
                amount / seconds * 1e-9, unit);
  };
  const double updates = points * static_cast<double>(o.steps);
  line("kernels", times.work, updates * slabs.redundancy(o.at_once), "10^9 point updates a second");
  line("host to device", times.in, passes * rows_in * row, "GB/s");
  line("device to host", times.out, passes * points * sizeof(double), "GB/s");
  std::printf("%-15s %9.4f s\n", "sum", times.sum());
  std::printf("%-15s %9.4f s           %9.2f 10^9 point updates a second\n", "wall", times.wall,
              updates / times.wall * 1e-9);
  std::printf("overlap   %.2f of 3: sum over wall\n", times.overlap());
}

/// Do the bits agree with those of a plain Iteration on the whole grid?
bool agrees(const Buffer<double>& result, const Mode& mode, const Options& o, const Target& target) {
  auto u = Buffer<double>::with_halo({o.points, o.points}, {1, 1});
  mode.put_into(u);
  Jacobi plain(target, 1);
  plain.steps.run({{plain.u, u}}, o.steps, {.target = target});
  const bool same = same_bits(result, u);
  std::printf("bits      of %lld single steps on the whole grid: %s\n", number(o.steps),
              same ? "the same" : "WRONG");
  return same;
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  const Slabs slabs = cut(o.points, o.at_once.a_pass, o.memory);
  std::printf(
      "target    %s (%s)%s\n", to_string(target).c_str(), device_for(target)->name().c_str(),
      target.backend == Backend::Cuda
          ? ""
          : "\n          has no memory of its own: copies are within the host's, and take turns");
  const auto grid_bytes = static_cast<double>(o.points * o.points) * sizeof(double);
  std::printf("grid      %lld^2 points, %.1f MiB; %lld of device memory may be used, %lld are\n",
              number(o.points), grid_bytes / (1 << 20), number(o.memory), number(slabs.memory()));
  std::printf("slabs     %lld of %lld rows and twice %lld of halo; points computed over wanted %.3f\n",
              number(slabs.count), number(slabs.rows), number(slabs.halo), slabs.redundancy(o.at_once));
  std::printf("steps     %lld, %d at once for each way to the device and back, %d in a kernel\n",
              number(o.steps), o.at_once.a_pass, o.at_once.a_kernel);

  const Mode mode(o.points, o.steps);
  Buffer<double> a = array_of(o.points, target), b = array_of(o.points, target);
  mode.put_into(a);
  b.fill(0);
  Jacobi jacobi(target, o.at_once.a_kernel);
  Streamed streamed(jacobi, target, slabs, o.at_once);
  const std::int64_t passes = o.steps / o.at_once.a_pass;
  streamed.run(a, b, passes);
  const Buffer<double>& result = passes % 2 == 0 ? a : b;
  const auto spans = streamed.spans();
  print(times_of(spans), o, slabs);

  const double left = mode.amplitude(o.steps), off = mode.difference(result, left);
  const bool decays = off < 1e-11;  // not so if it is no number
  std::printf("decay     mode of %d half waves, %.10f of it left; off by %.1e of that: %s\n",
              mode.half_waves(), left, off, decays ? "right" : "WRONG");
  const bool fits = o.points * o.points <= kMostCompared;
  const bool same = !fits || agrees(result, mode, o, target);
  draw_timeline(spans, slabs.count, o.picture);
  std::printf("picture   %s: what was under way when\n", o.picture.c_str());
  if (!decays || !same) throw Error("the results are not those that are known");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Time steps on a grid larger than device memory, copies beside kernels", "overlap");
  app.footer("Example: overlap --points 32768 --memory 2G --steps 512 --steps-at-once 128");
  app.add_option("--points", o.points, "points along an edge of the grid")
      ->check(CLI::Range(std::int64_t{1}, kMostPoints))
      ->capture_default_str();
  app.add_option("--memory", o.memory, "bytes of device memory it may use; 64K, 64M, 2G")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 50))
      ->capture_default_str();
  app.add_option("--steps", o.steps, "time steps in all")
      ->check(CLI::Range(std::int64_t{1}, kMostSteps))
      ->capture_default_str();
  app.add_option("--steps-at-once", o.at_once.a_pass, "steps of a slab while it is on the device")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--time-tile", o.at_once.a_kernel, "steps of one kernel")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
