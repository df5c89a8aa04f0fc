// A schedule's exact figures: those that can be worked out by hand, and those that the documents give.
#include "codegen/analysis/traffic/traffic.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "codegen/lower.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/pipeline.h"
#include "schedules/registry.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

using bench::Algorithm;
using bench::make_algorithm;

Traffic figures(const Func& f, std::int64_t n, std::int64_t sector = 32) {
  TrafficOptions options;
  options.extents.assign(static_cast<std::size_t>(f.dimensions()), n);
  options.device.sector_bytes = sector;
  return traffic_of(f, options);
}
KernelTraffic one_kernel(const Func& f, std::int64_t n, std::int64_t sector = 32) {
  Traffic t = figures(f, n, sector);
  EXPECT_EQ(t.kernels.size(), 1u);
  return t.kernels.at(0);
}
// In arrays of the size of the output.
double cubes(std::int64_t bytes, const KernelTraffic& k) {
  return static_cast<double>(bytes) / static_cast<double>(k.points * k.element_bytes);
}
double two_digits(double x) { return std::round(x * 100) / 100; }

// ---- what is counted at all ------------------------------------------------------------------------

TEST(Traffic, OfGridsBeyondTheLargestIsRefused) {
  Algorithm a = make_algorithm("stencil7");
  a.output.gpu_tile("x", "y", "z", 32, 8, 1);
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 30,
                               std::int64_t{99999999999}, INT64_MAX}) {
    EXPECT_TRUE(fails_with([&] { (void)figures(a.output, n); },
                           {std::to_string(n) + " points", "1 to 1073741823"}));
    Algorithm march = make_algorithm("star25");
    bench::apply_named(march, "march/plane", {});
    EXPECT_TRUE(fails_with([&] { (void)figures(march.output, n); },
                           {std::to_string(n) + " points", "1 to 1073741823"}));
  }
  EXPECT_TRUE(
      fails_with([&] { (void)figures(a.output, 1000000); }, {"1000000 x 1000000 x 1000000", "2^44"}));
}

TEST(Traffic, OfTheLargestGridsHasNoNegativeBytes) {
  for (const auto& recipe : schedules::registry()) {
    if (!recipe.on_gpu) continue;
    for (const std::string name : {"stencil7", "blur-f32", "jacobi2d"}) {
      Algorithm a, small;
      try {
        a = make_algorithm(name);
        schedules::apply(a.output, recipe.name);
        (void)figures(a.output, 64);
      } catch (const UserError&) {
        continue;  // a schedule for others
      }
      const std::int64_t n = a.output.dimensions() == 3 ? 26000 : 4194304;
      const Traffic large = figures(a.output, n),
                    usual = figures(a.output, 8192 / (a.output.dimensions() == 3 ? 16 : 1));
      for (std::size_t k = 0; k < large.kernels.size(); ++k) {
        for (const auto level : {&KernelTraffic::l1, &KernelTraffic::shared, &KernelTraffic::l2,
                                 &KernelTraffic::dram, &KernelTraffic::once}) {
          const Moved moved = large.kernels[k].*level;
          EXPECT_GE(moved.read, 0) << recipe.name;
          EXPECT_GE(moved.written, 0) << recipe.name;
          const double a_point = cubes(moved.sum(), large.kernels[k]);
          const double as_usual = cubes((usual.kernels[k].*level).sum(), usual.kernels[k]);
          EXPECT_LE(a_point, 4 * as_usual + 1) << recipe.name;
          EXPECT_GE(4 * a_point + 1, as_usual) << recipe.name;
        }
        EXPECT_GE(large.kernels[k].operations, 0) << recipe.name;
      }
    }
  }
}

// ---- what can be worked out by hand ----------------------------------------------------------------

TEST(Traffic, OfANaiveSevenPointKernelIsSevenReadsAndOneWriteAPoint) {
  Algorithm a = make_algorithm("stencil7");
  a.output.gpu_tile("x", "y", "z", 32, 8, 1);
  const KernelTraffic k = one_kernel(a.output, 512);
  const std::int64_t n = 512 * 512 * 512;
  EXPECT_EQ(k.grid[0], 16);
  EXPECT_EQ(k.grid[1], 64);
  EXPECT_EQ(k.grid[2], 512);
  EXPECT_EQ(k.threads[0] * k.threads[1] * k.threads[2], 256);
  EXPECT_EQ(k.block_points, (std::vector<std::int64_t>{32, 8, 1}));
  EXPECT_EQ(k.points, n);
  EXPECT_EQ(k.l1.read, 7 * 4 * n);
  EXPECT_EQ(k.l1.written, 4 * n);
  EXPECT_EQ(k.shared.sum(), 0);
  EXPECT_EQ(k.operations, 13 * n);
  // A row of 32 points is 4 sectors, and one more on each side in the block's own 8 rows.
  EXPECT_EQ(k.l2.read, 32 * (3 * 8 * 4 + 2 * 8 + 2 * 4) * (n / 256));
  EXPECT_EQ(k.l2.written, 4 * n);
  // The grid, its faces, and whole sectors for the two faces across x.
  EXPECT_EQ(k.once.read, 4 * (n + 4 * 512 * 512) + 32 * 2 * 512 * 512);
  EXPECT_DOUBLE_EQ(k.steady.redundancy(), 8);
  EXPECT_DOUBLE_EQ(k.steady.ops_per_byte(), 13.0 / 28);
}

TEST(Traffic, OfPartialBlocksAtTheEdgesIsCounted) {
  Algorithm a = make_algorithm("stencil7");
  a.output.gpu_tile("x", "y", "z", 32, 8, 1);
  const KernelTraffic k = one_kernel(a.output, 100);
  EXPECT_EQ(k.points, 1'000'000);
  EXPECT_EQ(k.l1.read, 28'000'000);
  EXPECT_EQ(k.grid[0], 4);
  EXPECT_EQ(k.grid[1], 13);
}

TEST(Traffic, OfABoxInSharedMemoryCountsItsHalo) {
  Algorithm a = make_algorithm("stencil7");
  schedules::apply(a.output, "pmpp/shared-tile");  // 8x8x8 points, one thread per input point
  const KernelTraffic k = one_kernel(a.output, 512);
  ASSERT_EQ(k.staged.size(), 1u);
  for (const auto& side : k.staged[0].sides) {
    EXPECT_EQ(side.extent, 10);
    EXPECT_EQ(side.low, 1);
    EXPECT_EQ(side.high, 1);
  }
  EXPECT_EQ(k.shared_bytes, 4000);
  EXPECT_EQ(k.threads[0], 10);
  const std::int64_t blocks = 64 * 64 * 64;
  EXPECT_EQ(k.l1.read, 4000 * blocks);
  EXPECT_EQ(k.shared.written, 4000 * blocks);
  EXPECT_EQ(k.shared.read, 7 * 4 * 512 * blocks);
  // Six faces of 64 are read; the edges and corners of the box are loaded for nothing.
  EXPECT_EQ(k.steady.used, 512 + 6 * 64);
  EXPECT_EQ(k.steady.loaded, 1000);
  EXPECT_DOUBLE_EQ(k.steady.redundancy(), 2.75);
}

Func marched(Algorithm& a, int threads_x, int threads_y, int chunk) {
  return Func(a.output.gpu_tile("x", "y", threads_x, threads_y).function()).march("z", chunk);
}

TEST(Traffic, OfAMarchWithAWindowAndAStageLoadsEachPlaneOnce) {
  Algorithm a = make_algorithm("stencil7");
  marched(a, 32, 8, 64).stage(a.inputs[0], MemoryType::Shared).register_window(a.inputs[0], "z");
  const KernelTraffic k = one_kernel(a.output, 512);
  EXPECT_EQ(k.block_points, (std::vector<std::int64_t>{32, 8, 64}));
  EXPECT_EQ(k.grid[2], 8);
  ASSERT_EQ(k.staged.size(), 1u);
  EXPECT_EQ(k.staged[0].sides[0].extent, 34);
  EXPECT_EQ(k.staged[0].sides[0].low, 1);
  EXPECT_EQ(k.staged[0].sides[1].extent, 10);
  EXPECT_EQ(k.staged[0].sides[1].high, 1);
  ASSERT_EQ(k.held.size(), 1u);
  EXPECT_EQ(k.held[0].planes, 3);
  EXPECT_EQ(k.held[0].points, 1);
  EXPECT_EQ(k.held_bytes, 12);
  // A step: the tile's own points once, and its halo without corners.
  EXPECT_EQ(k.steady.points, 256);
  EXPECT_EQ(k.steady.loaded, 256 + 2 * 32 + 2 * 8);
  EXPECT_EQ(k.steady.used, k.steady.loaded);
  // A chunk: 66 planes of the tile's points, 64 halos.
  EXPECT_EQ(k.l1.read, 4 * (66 * 256 + 64 * 80) * (16 * 64 * 8));
}

TEST(Traffic, OfAMarchThroughTheL1CountsAnElementOnceAVector) {
  Algorithm a = make_algorithm("stencil7");
  a.output.gpu_tile("x", "y", 32, 8).vectorize("x", 4);
  a.output.march("z", 64).register_window(a.inputs[0], "z");
  const KernelTraffic k = one_kernel(a.output, 512);
  EXPECT_EQ(k.block_points, (std::vector<std::int64_t>{128, 8, 64}));
  EXPECT_EQ(k.held_bytes, 3 * 4 * 4);
  // Of four points: the window's 4, 4 of each neighbouring row, 6 along x.
  EXPECT_EQ(k.steady.bytes_loaded, 256 * 4 * (4 + 4 + 4 + 6));
  EXPECT_EQ(k.l1.written, 4 * k.points);
  // Sectors of a step: the arriving plane's 16 x 8; of the centre plane 18 x 8 and 16 above and below.
  const std::int64_t blocks = 4 * 64 * 8;
  const std::int64_t warm_up = 2 * 16 * 8;  // a chunk's first two planes of the window
  EXPECT_EQ(k.l2.read, 32 * blocks * (64 * (16 * 8 + 18 * 8 + 2 * 16) + warm_up));
}

TEST(Traffic, OfRowsOfOneThreadCountsATapTheyShareOnce) {
  Algorithm a = make_algorithm("derivative-y");
  a.output.gpu_tile("x", "y", "z", 32, 4, 1).unroll("y", 4);
  const KernelTraffic k = one_kernel(a.output, 512);
  EXPECT_EQ(k.block_points, (std::vector<std::int64_t>{32, 16, 1}));
  EXPECT_DOUBLE_EQ(cubes(k.l1.read, k), (4 + 8) / 4.0);
  EXPECT_DOUBLE_EQ(cubes(k.l2.read, k), (16 + 8) / 16.0);
}

TEST(Traffic, OfPartialSumsHoldsOneValueAPlane) {
  Algorithm a = make_algorithm("stencil7");
  marched(a, 32, 8, 0).scatter("z").stage(a.inputs[0], MemoryType::Shared);
  const Traffic t = figures(a.output, 64);
  std::int64_t sums = 0;
  for (const auto& held : t.kernels.at(0).held) sums += held.planes * held.points;
  EXPECT_GE(sums, 2);
  for (const auto& func : t.computed) EXPECT_EQ(func.recomputed(), 0) << func.name;
}

TEST(Traffic, OfAnInlinedStageCountsItsRecomputedPoints) {
  Algorithm a = make_algorithm("blur-u16");
  schedules::apply(a.output, "blur/inline");
  Traffic t = figures(a.output, 256);
  ASSERT_EQ(t.computed.size(), 1u);
  EXPECT_EQ(t.computed[0].name, "blur_x");
  EXPECT_EQ(t.computed[0].computed, 3 * 256 * 256);
  EXPECT_EQ(t.computed[0].distinct, 256 * 258);

  schedules::apply(a.output, "blur/shared-tile");  // 32x8: every block computes 10 rows for 8
  t = figures(a.output, 256);
  ASSERT_EQ(t.computed.size(), 1u);
  EXPECT_EQ(t.computed[0].computed, 256 * 256 / 8 * 10);
  EXPECT_EQ(t.computed[0].distinct, 256 * 258);
  EXPECT_EQ(t.computed[0].recomputed(), 256 * (320 - 258));
}

TEST(Traffic, OfClampedTapsStaysInsideTheInput) {
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func edge = BoundaryConditions::repeat_edge(u), f("f");
  f(x, y) = edge(x - 1, y) + edge(x + 1, y) + edge(x, y - 1) + edge(x, y + 1);
  f.gpu_tile("x", "y", 32, 8);
  const KernelTraffic k = one_kernel(f, 256);
  EXPECT_EQ(k.once.read, 4 * 256 * 256);
  EXPECT_EQ(k.l1.read, 4 * (4 * 256 * 256 - 4));  // in each corner two taps become one
  EXPECT_FALSE(k.data_dependent);
}

TEST(Traffic, SaysWhenAnIndexDependsOnData) {
  Var x("x");
  ImageParam u(Float(32), 1, "u"), at(Int(32), 1, "at");
  Func f("f");
  f(x) = u(clamp(at(x), 0, 99));
  f.gpu_tile("x", 32);
  const KernelTraffic k = one_kernel(f, 256);
  EXPECT_TRUE(k.data_dependent);
  EXPECT_EQ(k.l1.read, 2 * 4 * 256);
}

TEST(Traffic, SaysWhichExtentIsMissing) {
  Algorithm a = make_algorithm("stencil7");
  a.output.gpu_tile("x", "y", "z", 32, 8, 1);
  EXPECT_TRUE(fails_with(
      [&] {
        traffic_of(a.output, {{64, 64}, {}, {}});
      },
      {"3 dimensions", "2 extents"}));
}

// ---- the L2 ----------------------------------------------------------------------------------------

TEST(Traffic, OfTheDeviceMemoryGrowsAsTheL2Shrinks) {
  Algorithm a = make_algorithm("stencil7");
  a.output.gpu_tile("x", "y", "z", 32, 8, 1);
  auto read_with = [&](std::int64_t l2) {
    TrafficOptions options{{512, 512, 512}, {}, {}};
    options.device.l2_bytes = l2;
    return traffic_of(a.output, options).kernels.at(0).dram.read;
  };
  const KernelTraffic k = one_kernel(a.output, 512);
  EXPECT_EQ(read_with(INT64_MAX), k.once.read);
  EXPECT_EQ(read_with(0), k.l2.read);
  // The blocks of a plane bring 4.2 MB: the next plane finds it in 50 MB, but not in 3 MB, which keep a
  // row of blocks.
  EXPECT_EQ(read_with(std::int64_t{50} << 20), k.once.read);
  const std::int64_t planes = read_with(std::int64_t{3} << 20);
  const std::int64_t plane = 512 * 66 * 32 + 2 * 512 * 4 + 2 * 512 * 512 * 4;
  EXPECT_EQ(planes, 512 * plane);
}

TEST(Traffic, OfChunksReadsTheirCommonPlanesTwice) {
  Algorithm a = make_algorithm("stencil7");
  a.output.gpu_tile("x", "y", 32, 8).vectorize("x", 4);
  a.output.march("z", 64).register_window(a.inputs[0], "z");
  const KernelTraffic k = one_kernel(a.output, 512);
  // 8 chunks of a grid that is far larger than the L2: 2 planes more in each of 7, but for the one whose
  // blocks start when those before end: 256 blocks a chunk, 1056 resident. The planes beyond the faces
  // are read without their halo.
  EXPECT_EQ(k.dram.read - k.once.read, 6 * 2 * 4 * 512 * 512);
  EXPECT_EQ(k.dram.written, 4 * k.points);
  // Whole columns, all resident: they go through their planes together.
  Algorithm whole = make_algorithm("stencil7");
  marched(whole, 32, 8, 0).register_window(whole.inputs[0], "z");
  const KernelTraffic columns = one_kernel(whole.output, 256);
  EXPECT_EQ(columns.dram.read, columns.once.read);
}

// ---- the documents' numbers ------------------------------------------------------------------------

// P. Micikevicius, 3D finite difference computation: "25 reads, 1 write (26x)".
TEST(DocumentedTraffic, OfTheNaive25PointKernelHasARedundancyOf26) {
  Algorithm a = make_algorithm("star25");
  schedules::apply(a.output, "pmpp/naive");
  EXPECT_DOUBLE_EQ(figures(a.output, 512).redundancy(), 26);
}

// The same: "16x16 subdomain tiles: 6.00 times, 32x32: 5.50, 56x56: 5.29". The plane pass reads the tile
// and four strips of 4 rows, the column pass the input and the plane pass's result; both write.
Traffic two_pass(int tile, bool marched_plane) {
  Algorithm a = make_algorithm("star25-two-pass");
  Func plane("plane");
  walk(a.output.function()->definitions[0].values[0], [&](const Expr& e) {
    const auto* access = e.as<Access>();
    if (access == nullptr || !access->function) return;
    plane = Func(std::const_pointer_cast<FunctionData>(access->function));
  });
  plane.compute_root();
  const int vec = tile == 56 ? 4 : 1;  // a block has at most 1,024 threads
  if (marched_plane) {
    plane.gpu_tile("x", "y", tile / vec, tile);
    if (vec > 1) plane.vectorize("x", vec);
    plane.march("z", 64).register_window(a.inputs[0], "z");
  } else {
    plane.gpu_tile("x", "y", "z", tile / vec, tile, 1);
    if (vec > 1) plane.vectorize("x", vec);
  }
  plane.stage(a.inputs[0], MemoryType::Shared);
  a.output.gpu_tile("x", "y", 32, 8);
  a.output.march("z", 64).register_window(a.inputs[0], "z");
  return figures(a.output, 448);
}

TEST(DocumentedTraffic, OfTwoPassesHasTheRedundancyOfTheirTile) {
  for (const bool marched_plane : {false, true}) {
    EXPECT_DOUBLE_EQ(two_pass(16, marched_plane).redundancy(), 6.00);
    EXPECT_DOUBLE_EQ(two_pass(32, marched_plane).redundancy(), 5.50);
    EXPECT_DOUBLE_EQ(two_digits(two_pass(56, marched_plane).redundancy()), 5.29);
  }
  // A box is loaded with its corners, which no tap reads; around a window only strips are loaded.
  EXPECT_DOUBLE_EQ(two_pass(16, false).redundancy_as_loaded(), 6.25);
  EXPECT_DOUBLE_EQ(two_pass(16, true).redundancy_as_loaded(), 6.00);
}

TEST(DocumentedTraffic, OfTheNamedTwoPassScheduleIsTheSame) {
  const std::pair<std::int64_t, double> documented[] = {{16, 6.00}, {32, 5.50}, {56, 5.29}};
  for (const auto& [tile, redundancy] : documented) {
    Algorithm a = make_algorithm("star25-two-pass");
    schedules::apply(a.output, "fd3d/two-pass", {{"tile_x", tile}, {"tile_y", tile}});
    EXPECT_DOUBLE_EQ(two_digits(figures(a.output, 448).redundancy()), redundancy);
  }
}

// Stencil notes: "closer to the optimal value of 3.25 operations per byte", 13 operations for 4 bytes.
TEST(DocumentedTraffic, OfTheMarchedSevenPointKernelTendsTo3_25OperationsPerByte) {
  Algorithm a = make_algorithm("stencil7");
  marched(a, 32, 32, 0).stage(a.inputs[0], MemoryType::Shared).register_window(a.inputs[0], "z");
  const SteadyStep s = one_kernel(a.output, 512).steady;
  EXPECT_DOUBLE_EQ(s.ops_per_byte_limit(), 3.25);
  EXPECT_DOUBLE_EQ(s.ops_per_byte(), 13.0 * 1024 / (4 * (1024 + 4 * 32)));
}

// Seismic stencil codes, part 3: traffic in cubes of 512^3 floats at each level, on a device whose L2
// moves 64 bytes at least. L1 counts reads and writes. Where the device loads more than is asked for
// (13 cubes for the x kernel's 10, 6 for the 4 of its vectors), instructions do not tell.
struct Seismic {
  const char* algorithm;
  int vec, threads_x, threads_y;
  bool shared;
  double l1, l2_read, dram;
};

TEST(DocumentedTraffic, OfTheSeismicKernelsHasTheirCubes) {
  const std::vector<Seismic> kernels = {
      {"derivative-x", 1, 256, 1, false, 10.0, 1.13, 2.06},
      {"derivative-x", 1, 64, 4, false, 10.0, 1.50, 2.06},
      {"derivative-x", 2, 64, 4, false, 6.0, 1.25, 2.06},
      {"derivative-x", 4, 64, 4, false, 4.0, 1.13, 2.06},
      {"derivative-y", 1, 256, 1, false, 10.0, 9.0, 2.02},
      {"derivative-y", 1, 64, 4, false, 10.0, 3.0, 2.02},
      {"derivative-y", 4, 64, 4, false, 10.0, 3.0, 2.02},
      {"derivative-y", 4, 64, 4, true, 4.0, 3.0, 2.02},
  };
  for (const Seismic& s : kernels) {
    SCOPED_TRACE(std::string(s.algorithm) + " " + std::to_string(s.vec) + " " +
                 std::to_string(s.shared));
    Algorithm a = make_algorithm(s.algorithm);
    a.output.gpu_tile("x", "y", "z", s.threads_x, s.threads_y, 1);
    if (s.vec > 1) a.output.vectorize("x", s.vec);
    if (s.shared) a.output.stage(a.inputs[0], MemoryType::Shared);
    const KernelTraffic k = one_kernel(a.output, 512, 64);
    EXPECT_DOUBLE_EQ(cubes(k.l1.sum(), k), s.l1);
    EXPECT_DOUBLE_EQ(two_digits(cubes(k.l2.read, k) + 0.001), s.l2_read);
    EXPECT_DOUBLE_EQ(cubes(k.l2.written, k), 1.0);
    EXPECT_DOUBLE_EQ(two_digits(cubes(k.dram.sum(), k)), s.dram);
  }
}

// Part 2: the sliding window along z reads every plane once, "2 cubes of movement at the HBM level".
TEST(DocumentedTraffic, OfTheSeismicSlidingWindowMovesTwoCubes) {
  Algorithm a = make_algorithm("derivative-z");
  marched(a, 256, 1, 0).register_window(a.inputs[0], "z");
  const KernelTraffic k = one_kernel(a.output, 512);
  EXPECT_DOUBLE_EQ(cubes(k.dram.read, k), 520.0 / 512);  // the grid and 8 planes
  EXPECT_DOUBLE_EQ(std::round(cubes(k.dram.sum(), k) * 10) / 10, 2.0);
  EXPECT_DOUBLE_EQ(k.steady.redundancy(), 2.0);
  EXPECT_DOUBLE_EQ(cubes(k.l1.read, k), 520.0 / 512);
}

// Of a grid whose blocks all lie inside, code for blocks at an edge is not even made: figures are those
// of the whole program.
TEST(Traffic, OfOneGridIsThatOfTheWholeProgram) {
  Algorithm a = make_algorithm("star25");
  bench::apply_named(
      a, "march/plane",
      {{"tile_x", 32}, {"tile_y", 8}, {"vec", 4}, {"rows", 2}, {"chunk", 64}, {"scatter", 1}});
  const Pipeline pipeline = make_pipeline(functions_of({a.output}));
  const Program whole =
      lower(pipeline, {Target{Backend::Cuda, 0}, Variant{}, {}, DeviceLimits{}}, "simplify_loops");
  const auto all = [](const KernelTraffic& k) {
    return std::vector<std::int64_t>{k.points,     k.shared_bytes,  k.held_bytes,        k.l1.read,
                                     k.l1.written, k.shared.read,   k.shared.written,    k.l2.read,
                                     k.l2.written, k.dram.read,     k.dram.written,      k.once.read,
                                     k.operations, k.steady.points, k.steady.operations, k.lanes,
                                     k.steps_early};
  };
  for (const std::vector<std::int64_t>& n : {std::vector<std::int64_t>{512, 512, 512},
                                             {512, 512, 500},
                                             {500, 512, 512},
                                             {512, 500, 64},
                                             {511, 511, 511},
                                             {513, 64, 64},
                                             {128, 16, 1},
                                             {127, 15, 3}}) {
    TrafficOptions options;
    options.extents = n;
    const std::vector<std::int64_t> one = all(traffic_of(a.output, options).kernels.at(0));
    EXPECT_EQ(one, all(analyse_traffic(whole, options).kernels.at(0)))
        << n[0] << " " << n[1] << " " << n[2];
  }
}

}  // namespace
}  // namespace mica::test
