// Graphs of launches on the GPU of this machine: a prepared run in a graph of the user's, and Iterations
// whose steps are launched as graphs of Mica's.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/iterate/iteration.h"
#include "fuzz/random_data.h"
#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_device.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");
const Target kGpu{Backend::Cuda, 0};

class GpuGraphs : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_device_count(&why) == 0) GTEST_SKIP() << "no GPU: " << why;
  }
};

/// A driver function that only tests need.
template <typename... Parameters>
auto driver_function(const char* name) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return reinterpret_cast<int (*)(Parameters...)>(dlsym(library, name));
}

TEST_F(GpuGraphs, APreparedRunIsCapturedInAStreamOfTheUsers) {
  const ImageParam u(Float(32), 2, "u");
  Func mid("mid"), next("next");
  mid(x, y) = u(x, y) + u(x + 1, y);
  next(x, y) = mid(x, y) + mid(x, y + 1);
  mid.compute_root();
  Executable run = compile(next, kGpu);
  Buffer<float> in(130, 70), out(129, 69), expected(129, 69);
  fill_random(in, 5);

  const std::shared_ptr<CudaContext> context = cuda_context(0);
  const CudaContext::Scope scope(*context);
  const cuda::Driver& driver = context->driver();
  cuda::StreamHandle stream = nullptr;
  driver.call(driver.cuStreamCreate, &stream, 1U);  // CU_STREAM_NON_BLOCKING
  auto prepared =
      std::make_unique<PreparedRun>(run.prepare(out, {.inputs = {{u, in}}, .stream = {stream}}));
  const auto begin = driver_function<cuda::StreamHandle, int>("cuStreamBeginCapture_v2");
  const auto end = driver_function<cuda::StreamHandle, cuda::GraphHandle*>("cuStreamEndCapture");
  cuda::GraphHandle graph = nullptr;
  ASSERT_EQ(begin(stream, 0), 0);  // CU_STREAM_CAPTURE_MODE_GLOBAL: nothing unsafe may be called
  prepared->run();
  ASSERT_EQ(end(stream, &graph), 0);
  cuda::GraphExec exec = nullptr;
  driver.call(driver.cuGraphInstantiateWithFlags, &exec, graph, 0ULL);
  for (int n = 0; n < 3; ++n) driver.call(driver.cuGraphLaunch, exec, stream);
  driver.call(driver.cuStreamSynchronize, stream);
  run.run(expected, {.inputs = {{u, in}}});
  EXPECT_TRUE(same_bits(expected, out));
  driver.call(driver.cuGraphExecDestroy, exec);
  driver.call(driver.cuGraphDestroy, graph);
  prepared.reset();
  driver.call(driver.cuStreamDestroy_v2, stream);
}

/// What a damped wave leaves: its field and what a receiver heard.
struct Heard {
  Buffer<float> field, values;
};

/// `steps` leapfrog steps with a coefficient that changes with time, two sources and a receiver between
/// grid points; `callback_every` 0: none.
Heard wave(const Target& target, int steps, int callback_every, int width) {
  const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now");
  Func next("next");
  const Expr damping = 1.0F - 1e-4F * cast<float>(step());
  next(x, y) = damping * (2.0F * now(x, y) - before(x, y)) +
               0.2F * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1) - 4.0F * now(x, y));
  if (target.is_gpu()) next.gpu_tile(x, y, 32, 4);
  Iteration iteration({{before, now}, {now, next}});
  Buffer<float> series(2, 40), values(1, steps), a(width, 40), b(width, 40);
  fill_random(series, 1);
  fill_random(a, 2);
  fill_random(b, 3);
  values.fill(-1.0F);
  iteration.add_at(now, {{{{5, 6}, 0.5}, {{6, 6}, 0.5}}, {{{9, 9}, 1.0}}}, series);
  iteration.record(now, {{{{7, 8}, 0.25}, {{8, 8}, 0.75}}}, values);
  double seen = 0;
  if (callback_every > 0) {
    iteration.every(callback_every,
                    [&](const RunningIteration& run) { seen += Buffer<float>(run.field(now))(10, 10); });
  }
  iteration.run({{before, a}, {now, b}}, steps, {.target = target});
  return {b, values};
}

TEST_F(GpuGraphs, StepsAsGraphsHaveTheBitsOfTheHost) {
  for (const int steps : {1, 15, 40, 301}) {
    for (const int every : {0, 7, 64}) {
      for (const int width : {64, 51}) {
        const Heard host = wave(Target::host(), steps, every, width);
        const Heard gpu = wave(kGpu, steps, every, width);
        const std::string what = std::to_string(steps) + " steps, every " + std::to_string(every) +
                                 ", width " + std::to_string(width);
        EXPECT_TRUE(same_bits(host.field, gpu.field)) << what;
        EXPECT_TRUE(same_bits(host.values, gpu.values)) << what;
      }
    }
  }
}

/// As wave, in tiles of three steps beside which two patches are computed.
Heard tiled_wave(const Target& target, int steps, int tile) {
  constexpr int kWidth = 900, kHeight = 1300;
  const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now");
  Func next("next");
  next(x, y) = 1.999F * now(x, y) - 0.999F * before(x, y) +
               0.2F * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1) - 4.0F * now(x, y));
  if (target.is_gpu()) next.gpu_tile(x, y, 32, 4);
  Iteration iteration({{before, now}, {now, next}});
  Buffer<float> series(100, steps), values(2, steps), a(kWidth, kHeight), b(kWidth, kHeight);
  fill_random(series, 1);
  fill_random(a, 2);
  fill_random(b, 3);
  std::vector<Place> many;  // in more than a block
  for (int k = 0; k < 100; ++k) many.push_back({{{5 + 3 * (k % 10), 7 + 2 * (k / 10)}, 0.01}});
  iteration.add_at(now, many, series);
  iteration.record(now, {{{{890, 1290}, 0.25}, {{891, 1291}, 0.75}}, {{{893, 1280}}}}, values);
  iteration.time_tile(tile);
  iteration.run({{before, a}, {now, b}}, steps, {.target = target});
  return {b, values};
}

TEST_F(GpuGraphs, PatchesAroundSourcesAndReceiversRunBesideTiles) {
  const Heard host = tiled_wave(Target::host(), 100, 1);
  testing::internal::CaptureStderr();
  const Heard gpu = tiled_wave(kGpu, 100, 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(same_bits(host.field, gpu.field));
  EXPECT_TRUE(same_bits(host.values, gpu.values));
}

// The next kernel starts before this one has ended: what it reads must still be new, from any cache.
TEST_F(GpuGraphs, NothingOldIsReadWhereLaunchesOverlap) {
  for (const int size : {32, 96, 700}) {
    const auto heat = [&](const Target& target) {
      const ImageParam u(Float(32), 2, "u");
      Func next("next");
      next(x, y) = 0.2F * (u(x, y) + u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1));
      if (target.is_gpu()) next.gpu_tile(x, y, 32, 4);
      Buffer<float> a(size, size);
      fill_random(a, 9);
      Iteration({{u, next}}).run({{u, a}}, 2000, {.target = target});
      return a;
    };
    EXPECT_TRUE(same_bits(heat(Target::host()), heat(kGpu))) << size;
  }
}

// Populations that stream, in one copy of each: two kernels in turn, and a third where the number of
// steps is odd.
TEST_F(GpuGraphs, FieldsThatStreamInPlace) {
  const auto stream = [](const Target& target, bool in_place) {
    std::vector<ImageParam> u;
    for (int i = 0; i < 3; ++i) u.emplace_back(Float(32), 2, "u" + std::to_string(i));
    const Expr f[] = {u[0](x, y), BoundaryConditions::repeat_image(u[1])(x - 1, y + 1),
                      BoundaryConditions::repeat_image(u[2])(x + 1, y - 1)};
    Func next("next");
    next(x, y) = Tuple(f[0] * 0.5F + f[1] * f[2], f[2] + 0.25F * f[0], f[1] - 0.125F * f[0]);
    if (target.is_gpu()) next.gpu_tile(x, y, 32, 4).vectorize(x, 4);
    Iteration steps({{u[0], next, 0}, {u[1], next, 1}, {u[2], next, 2}});
    if (in_place) steps.in_place();
    std::vector<Buffer<float>> fields;
    std::vector<RunInput> inputs;
    for (std::size_t i = 0; i < 3; ++i) {
      fields.emplace_back(260, 131);
      fill_random(fields.back(), i);
      inputs.emplace_back(u[i], fields.back());
    }
    steps.run(inputs, 301, {.target = target});
    return fields;
  };
  const auto wanted = stream(Target::host(), false), one = stream(kGpu, true), two = stream(kGpu, false);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(same_bits(wanted[i], one[i])) << i;
    EXPECT_TRUE(same_bits(wanted[i], two[i])) << i;
  }
}

TEST_F(GpuGraphs, FieldsInPlaceStayWhereTheyAre) {
  const auto decay = [](const Target& target) {
    const ImageParam u(Float(64), 1, "u");
    Func next("next");
    next(x) = u(x) * 0.999 + cast<double>(step()) * 1e-3;
    if (target.is_gpu()) next.gpu_tile(x, 128);
    Buffer<double> a(1000);
    fill_random(a, 4);
    Iteration({{u, next}}).run({{u, a}}, 777, {.target = target});
    return a;
  };
  EXPECT_TRUE(same_bits(decay(Target::host()), decay(kGpu)));
}

TEST_F(GpuGraphs, TimeTilesAndCallbacksThatChangeTheirMinds) {
  const auto heat = [](const Target& target, int tile) {
    const ImageParam u(Float(32), 3, "u");
    const Var z("z");
    Func next("next");
    next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                                u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
    if (target.is_gpu()) next.gpu_tile(x, y, 32, 4).vectorize(x, 4).unroll(y, 2).march(z, 16).scatter(z);
    Buffer<float> a(100, 50, 40);
    fill_random(a, 8);
    Iteration iteration({{u, next}});
    iteration.time_tile(tile);
    int calls = 0;
    // Whoever asks for the host's copy makes the next step start from the device again.
    iteration.every(31, [&](const RunningIteration& run) {
      if (++calls % 2 == 0) (void)Buffer<float>(run.field(u))(3, 3, 3);
    });
    iteration.run({{u, a}}, 200, {.target = target});
    return a;
  };
  const Buffer<float> expected = heat(Target::host(), 1);
  for (const int tile : {1, 2, 3}) EXPECT_TRUE(same_bits(expected, heat(kGpu, tile))) << tile;
}

// Fields so large that a tile is four launches, each of which waits for three of the tile before.
TEST_F(GpuGraphs, TilesInPartsWaitForTheirNeighbours) {
  const auto wave = [](int tile) {
    const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now"),
        speed(Float(32), 2, "speed");
    Func next("next");
    next(x, y) = 0.5F * before(x, y) +
                 0.1F * speed(x, y) * (now(x - 1, y) + now(x + 1, y) + now(x, y - 1) + now(x, y + 1));
    next.gpu_tile(x, 32).vectorize(x, 4).march(y, 64);
    Buffer<float> a(8003, 4211), b(8003, 4211), c(8003, 4211);
    fill_random(a, 1);
    fill_random(b, 2);
    fill_random(c, 3);
    Iteration iteration({{before, now}, {now, next}});
    iteration.time_tile(tile);
    iteration.run({{before, a}, {now, b}, {speed, c}}, 150, {.target = kGpu});
    return b;
  };
  EXPECT_TRUE(same_bits(wave(1), wave(4)));
}

}  // namespace
}  // namespace mica::test
