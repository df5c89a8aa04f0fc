// Mica's CPU schedules against Halide 14's on this machine, interleaved in one process.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <Halide.h>

#include "runtime/cpu/cpu_device.h"
#include "schedules/mica.h"

namespace {

struct Contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> ms;
};

// One run of each in turn, so that drift of the machine meets all alike.
void race(const char* title, std::vector<Contender>& contenders, double bytes, int rounds) {
  for (int i = -3; i < rounds; ++i) {
    for (auto& c : contenders) {
      const auto start = std::chrono::steady_clock::now();
      c.run();
      const auto end = std::chrono::steady_clock::now();
      if (i >= 0) c.ms.push_back(std::chrono::duration<double, std::milli>(end - start).count());
    }
  }
  std::printf("%s\n", title);
  for (auto& c : contenders) {
    std::sort(c.ms.begin(), c.ms.end());
    const double median = c.ms[c.ms.size() / 2];
    std::printf("  %-34s min %8.3f  median %8.3f ms  %6.1f GB/s\n", c.name.c_str(), c.ms.front(), median,
                bytes / median * 1e-6);
  }
}

struct Copy {
  char* to;
  const char* from;
  std::size_t chunk;
};
void copy_chunk(std::int64_t i, void* closure) {
  const auto& job = *static_cast<const Copy*>(closure);
  std::memcpy(job.to + static_cast<std::size_t>(i) * job.chunk,
              job.from + static_cast<std::size_t>(i) * job.chunk, job.chunk);
}

void blur(int n, int rounds) {
  Halide::Buffer<std::uint16_t> in(n + 2, n + 2);
  in.set_min(-1, -1);
  std::uint32_t seed = 1;
  for (int i = 0; i < in.width() * in.height(); ++i)
    in.data()[i] = static_cast<std::uint16_t>((seed = seed * 1664525U + 1013904223U) >> 18);
  std::vector<Contender> contenders;

  std::vector<Halide::Buffer<std::uint16_t>> results;
  for (int vec : {8, 16, 32}) {
    for (int tile_y : {8, 32, 64}) {
      Halide::Var x("x"), y("y"), xi("xi"), yi("yi");
      Halide::Func blur_x("blur_x"), blur_y("blur_y");
      blur_x(x, y) = (in(x - 1, y) + in(x, y) + in(x + 1, y)) / 3;
      blur_y(x, y) = (blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1)) / 3;
      blur_y.tile(x, y, xi, yi, 256, tile_y).vectorize(xi, vec).parallel(y);
      blur_x.compute_at(blur_y, x).vectorize(x, vec);
      blur_y.compile_jit();
      results.emplace_back(n, n);
      Halide::Buffer<std::uint16_t> out = results.back();
      contenders.push_back({"Halide tile 256x" + std::to_string(tile_y) + " vec " + std::to_string(vec),
                            [blur_y, out]() mutable { blur_y.realize(out); },
                            {}});
    }
  }
  const mica::Buffer<std::uint16_t> mine(
      in.data(), std::vector<mica::BufferDim>{{-1, n + 2, 1}, {-1, n + 2, n + 2}});
  std::vector<mica::Buffer<std::uint16_t>> outs;
  for (int vec : {8, 16, 32}) {
    for (int tile_y : {8, 32, 64}) {
      mica::Var x("x"), y("y");
      mica::ImageParam input(mica::UInt(16), 2, "input");
      mica::Func blur_x("blur_x"), blur_y("blur_y");
      blur_x(x, y) = (input(x - 1, y) + input(x, y) + input(x + 1, y)) / 3;
      blur_y(x, y) = (blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1)) / 3;
      mica::schedules::apply(blur_y, "blur/cpu-tile", {{"vec", vec}, {"tile_y", tile_y}});
      input.set(mine);
      mica::Executable executable = mica::compile(blur_y, mica::Target::host());
      outs.emplace_back(n, n);
      mica::Buffer<std::uint16_t> out = outs.back();
      contenders.push_back(
          {"Mica blur/cpu-tile 256x" + std::to_string(tile_y) + " vec " + std::to_string(vec),
           [executable, out]() mutable { executable.run(out); },
           {}});
    }
  }
  const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * 2;
  std::vector<char> from(bytes, 1), to(bytes, 2);
  Copy job{to.data(), from.data(), bytes / 16};
  contenders.push_back({"copy", [&] { mica_parallel_for(copy_chunk, 0, 16, &job); }, {}});
  race("blur u16", contenders, 2.0 * static_cast<double>(bytes), rounds);
  const bool same = std::memcmp(results[0].data(), outs[0].data(), bytes) == 0;
  std::printf("  bits %s\n", same ? "equal" : "DIFFER");
}

void stencil7(int n, int rounds) {
  Halide::Buffer<float> in(n + 2, n + 2, n + 2);
  in.set_min(-1, -1, -1);
  std::uint32_t seed = 1;
  for (std::size_t i = 0; i < in.number_of_elements(); ++i) {
    in.data()[i] = static_cast<float>((seed = seed * 1664525U + 1013904223U) >> 8) * 0x1p-24F;
  }
  std::vector<Contender> contenders;
  std::vector<Halide::Buffer<float>> results;
  for (int tile_y : {0, 8, 16, 64}) {
    Halide::Var x("x"), y("y"), z("z"), yi("yi");
    Halide::Func f("f");
    f(x, y, z) = 0.4F * in(x, y, z) + 0.1F * (in(x - 1, y, z) + in(x + 1, y, z) + in(x, y - 1, z) +
                                              in(x, y + 1, z) + in(x, y, z - 1) + in(x, y, z + 1));
    f.vectorize(x, 16);
    if (tile_y > 0) f.split(y, y, yi, tile_y).reorder(x, yi, z, y);
    f.parallel(tile_y > 0 ? y : z);
    f.compile_jit();
    results.emplace_back(n, n, n);
    Halide::Buffer<float> out = results.back();
    contenders.push_back(
        {"Halide " + (tile_y ? "columns of " + std::to_string(tile_y) + " rows" : std::string("planes")),
         [f, out]() mutable { f.realize(out); },
         {}});
  }
  const std::int64_t pitch = n + 2, plane = pitch * pitch;
  const mica::Buffer<float> mine(
      in.data(), std::vector<mica::BufferDim>{{-1, n + 2, 1}, {-1, n + 2, pitch}, {-1, n + 2, plane}});
  std::vector<mica::Buffer<float>> outs;
  for (int tile_y : {0, 8, 16, 64}) {
    mica::Var x("x"), y("y"), z("z"), yi("yi");
    mica::ImageParam u(mica::Float(32), 3, "u");
    mica::Func f("f");
    f(x, y, z) = 0.4F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                             u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
    f.vectorize(x, 16);
    if (tile_y > 0) f.split(y, y, yi, tile_y).reorder(x, yi, z, y);
    f.parallel(tile_y > 0 ? y : z);
    u.set(mine);
    mica::Executable executable = mica::compile(f, mica::Target::host());
    outs.emplace_back(n, n, n);
    mica::Buffer<float> out = outs.back();
    contenders.push_back(
        {"Mica " + (tile_y ? "columns of " + std::to_string(tile_y) + " rows" : std::string("planes")),
         [executable, out]() mutable { executable.run(out); },
         {}});
  }
  const std::size_t bytes =
      static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * 4;
  std::vector<char> from(bytes, 1), to(bytes, 2);
  Copy job{to.data(), from.data(), bytes / 16};
  contenders.push_back({"copy", [&] { mica_parallel_for(copy_chunk, 0, 16, &job); }, {}});
  race("7-point f32", contenders, 2.0 * static_cast<double>(bytes), rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 25;
  if (rounds < 1) {
    std::fprintf(stderr, "%s: %s is no number of rounds from 1 on\n", argv[0], argv[1]);
    return 2;
  }
  blur(4096, rounds);
  stencil7(256, rounds);
  return 0;
}
