// Rows that are not aligned: a thread's points stand above one another, with the same bits.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

/// next reads u at radius 2 in three dimensions.
class TurnedTiles : public ::testing::Test {
 protected:
  TurnedTiles() {
    smooth(x, y, z) = u(x - 1, y, z) + u(x + 1, y, z) * 0.5F;
    next(x, y, z) = u(x, y, z) + u(x - 2, y, z) * 0.25F + u(x + 2, y, z) + u(x, y - 2, z) +
                    u(x, y + 2, z) * 0.125F + u(x, y, z - 2) + u(x, y, z + 2) * 3.0F;
  }
  /// On every GPU target, with outputs whose rows are 37 elements of a larger array.
  void expect_oracles_bits(const Func& f) {
    for (const Box& box : {Box{{-3, 37}, {2, 19}, {0, 9}}, Box{{0, 151}, {1, 8}, {5, 3}}}) {
      Box around = box;
      for (auto& [min, extent] : around) min -= 3, extent += 6;
      const auto memory = bind_random(u, around, 3);
      const std::vector<AnyBuffer> expected = expected_values({f}, box);
      for (const Target& target : gpu_targets()) EXPECT_TRUE(run_matches(expected, {f}, box, target));
    }
  }
  /// Threads in x and y of a block of f's last kernel, or of the one counted from 0, that runs over
  /// `extent` dense points a row.
  std::vector<unsigned> block(const Func& f, std::int64_t extent, int kernel = -1) {
    AnyBuffer in = AnyBuffer::with_halo(Float(32), {extent, 16, 8}, {2, 2, 2});
    fill_random(in, 1);
    u.set(in);
    Buffer<float> out(extent, 16, 8);
    Executable run = compile(f, Target::gpu_emulator());
    run.run(out);
    const auto kernels = run.kernels();
    const auto shape =
        (kernel < 0 ? kernels.back() : kernels.at(static_cast<std::size_t>(kernel))).shape;
    return {shape.block[0], shape.block[1]};
  }
  ImageParam u{Float(32), 3, "u"};
  Func smooth{"smooth"}, next{"next"};
};

TEST_F(TurnedTiles, HaveRowsInPlaceOfVectors) {
  next.gpu_tile(x, y, z, 32, 8, 1).vectorize(x, 4).unroll(z, 4);
  EXPECT_EQ(block(next, 63), (std::vector<unsigned>{128, 2}));
  EXPECT_EQ(block(next, 64), (std::vector<unsigned>{32, 8}));
  expect_oracles_bits(next);
}

// The rows, as loops of the tile, would stand between z.thread and x.thread.
TEST_F(TurnedTiles, AreLeftWhereRowsWouldStandBetweenThreads) {
  next.gpu_tile(x, y, z, 8, 1, 4).vectorize(x, 2).unroll(y, 2);
  next.reorder("z.thread", "y.thread", "y.unroll", "z.block");
  EXPECT_EQ(block(next, 63), block(next, 64));
  expect_oracles_bits(next);
}

// A block has 64 threads at most along its third axis.
TEST_F(TurnedTiles, AreLeftWhereTheRowIsTheBlocksThirdAxis) {
  next.gpu_tile(y, z, x, 4, 4, 32).vectorize(x, 4);
  EXPECT_EQ(block(next, 63), block(next, 64));
  expect_oracles_bits(next);
}

// What one definition cannot have, another can.
TEST_F(TurnedTiles, AreTurnedDefinitionByDefinition) {
  next(x, y, z) += u(x, y - 1, z);
  next.gpu_tile(x, y, z, 32, 8, 1).vectorize(x, 4);
  next.update().gpu_tile(y, z, x, 4, 4, 32).vectorize(x, 4);
  EXPECT_EQ(block(next, 63), (std::vector<unsigned>{4, 4})) << "of the update";
  EXPECT_EQ(block(next, 63, 0), (std::vector<unsigned>{128, 2}));
  expect_oracles_bits(next);
}

TEST_F(TurnedTiles, MultiplyRowsThatTheScheduleHas) {
  next.gpu_tile(x, y, z, 16, 4, 2).vectorize(x, 4).unroll(y, 2);
  EXPECT_EQ(block(next, 63), (std::vector<unsigned>{64, 1}));
  expect_oracles_bits(next);
}

TEST_F(TurnedTiles, TakeThreadsFromTheNextDimensionThatHasThem) {
  next.gpu_tile(x, y, z, 16, 3, 4).vectorize(x, 4);
  EXPECT_EQ(block(next, 63), (std::vector<unsigned>{64, 3}));
  expect_oracles_bits(next);
}

TEST_F(TurnedTiles, KeepWindowsPlanesAndPartialSums) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy, LoadPolicy::Strided}) {
    next.clear_schedule();
    next.gpu_tile(x, y, 8, 8).vectorize(x, 4).march(z, 4);
    next.stage(u, MemoryType::Shared, load).register_window(u, z);
    EXPECT_EQ(block(next, 63), (std::vector<unsigned>{32, 2}));
    expect_oracles_bits(next);
    next.clear_schedule();
    next.gpu_tile(x, y, 8, 8).vectorize(x, 4).march(z, 4).scatter(z);
    next.stage(u, MemoryType::Shared, load);
    expect_oracles_bits(next);
  }
}

TEST_F(TurnedTiles, LeaveTilesThatCannotBeTurned) {
  Func named("named"), flat("flat"), apart("apart");
  named(x, y, z) = smooth(x, y, z) + smooth(x, y - 1, z);
  named.gpu_tile(x, y, z, 8, 4, 1).vectorize(x, 4);
  smooth.compute_at(named, "x.thread");
  flat(x, y, z) = u(x, y, z) * 2.0F;
  flat.gpu_tile(x, y, z, 16, 1, 1).vectorize(x, 4);
  apart(x, y, z) = u(x, y, z) * 2.0F;
  apart.gpu_tile(x, y, z, 16, 3, 1).vectorize(x, 4);
  EXPECT_EQ(block(flat, 63), (std::vector<unsigned>{16, 1}));
  EXPECT_EQ(block(apart, 63), (std::vector<unsigned>{16, 3}));
  for (const Func* f : {&named, &flat, &apart}) expect_oracles_bits(*f);
}

TEST_F(TurnedTiles, ComputePointsOutsideAndDropThem) {
  // Taps from global memory beside staged ones: mirrored, by a table, at half the rate, of a Tuple.
  ImageParam table(Float(32), 1, "table"), marks(UInt(8), 3, "marks"), line(Float(32), 1, "line");
  Func pair("pair");
  const Expr tap = table(cast<int>(marks(x, y, z))) + line(40 - x) + line(x / 2);
  pair(x, y, z) = Tuple(next(x, y, z) * tap, smooth(x, y, z) + u(x, y - 1, z - 1));
  const Box box{{-3, 37}, {2, 19}, {0, 9}};
  Box around = box;
  for (auto& [min, extent] : around) min -= 3, extent += 6;
  const auto memory = bind_random(u, around, 3);
  const auto values = bind_random(table, {{0, 256}}, 4);
  const auto marked = bind_random(marks, box, 5);
  const auto lined = bind_random(line, {{-3, 50}}, 6);
  const std::vector<AnyBuffer> expected = expected_values({pair}, box);
  pair.gpu_tile(x, y, 8, 8).vectorize(x, 4).unroll(y, 2).march(z, 4).stage(u, MemoryType::Shared);
  smooth.compute_at(pair, "z.march");
  for (const Target& target : gpu_targets()) EXPECT_TRUE(run_matches(expected, {pair}, box, target));
}

TEST_F(TurnedTiles, OfAFuncComputedForAllPlanesOfAChunkAtOnce) {
  Func both("both");
  both(x, y, z) = smooth(x, y, z - 1) + smooth(x, y + 1, z + 1);
  const Box box{{-3, 37}, {2, 19}, {0, 6}};
  const auto memory = bind_demanded({both}, box, {u}, 3);
  const std::vector<AnyBuffer> expected = expected_values({both}, box);
  both.gpu_tile(x, y, 8, 4).vectorize(x, 4).unroll(y, 2).march(z, 4);
  smooth.compute_at(both, "x.block");
  for (const Target& target : gpu_targets()) EXPECT_TRUE(run_matches(expected, {both}, box, target));
}

TEST_F(TurnedTiles, FillPlanesOfWhichThePipelineNeedsAPart) {
  ImageParam image(Float(32), 2, "image");
  Func edge =
      BoundaryConditions::repeat_edge(image, BoundaryRanges{BoundaryRange(-3, 11), BoundaryRange()});
  Func diagonal("diagonal");
  diagonal(x, y) = edge(x, x);
  edge.compute_root().gpu_tile(x, 4).vectorize(x, 2).march(y, 1).stage(image, MemoryType::Shared);
  diagonal.gpu_tile(x, 1).vectorize(x, 2).march(y, 1);
  const auto memory = bind_random(image, {{-3, 11}, {-19, 23}}, 1);
  for (const Box& box : {Box{{-19, 23}, {0, 2}}, Box{{-5, 3}, {2, 5}}}) {
    const std::vector<AnyBuffer> expected = expected_values({diagonal}, box);
    for (const Target& target : gpu_targets()) {
      EXPECT_TRUE(run_matches(expected, {diagonal}, box, target));
    }
  }
}

TEST_F(TurnedTiles, OfElementsOfTwoBytes) {
  ImageParam image(UInt(16), 2, "image");
  Func blur("blur");
  blur(x, y) =
      (image(x - 1, y) + image(x, y) + image(x + 1, y) + image(x, y + 1)) / cast<std::uint16_t>(4);
  blur.gpu_tile(x, y, 32, 8).vectorize(x, 8);
  const Box box{{0, 77}, {0, 21}};
  const auto memory = bind_random(image, {{-1, 79}, {0, 22}}, 3);
  const std::vector<AnyBuffer> expected = expected_values({blur}, box);
  for (const Target& target : gpu_targets()) EXPECT_TRUE(run_matches(expected, {blur}, box, target));
}

}  // namespace
}  // namespace mica::test
