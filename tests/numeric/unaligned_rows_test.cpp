// Rows that begin anywhere: vectors stand across the aligned pieces of memory that a GPU accesses. Loads
// cut them out of those pieces, and the threads of a warp put whole pieces together to store them;
// nothing beside the rows is written.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

struct Shape {
  Type type;
  int lanes;
};

class UnalignedRows : public ::testing::TestWithParam<Shape> {};

/// Taps beside one another, some rows up, far along the row, backwards; a constant keeps types apart.
Expr taps(const ImageParam& u) {
  return u(x - 1, y) + u(x, y) * cast(u.type(), 3) + u(x + 2, y + 1) + u(x + 40, y) + u(x, y - 1);
}

TEST_P(UnalignedRows, OfThreadsOfOneWarpOrSeveral) {
  const auto [type, lanes] = GetParam();
  const ImageParam u(type, 2, "u");
  Func f("f");
  f(x, y) = taps(u);
  for (const int threads : {3, 32, 40}) {
    f.clear_schedule();
    f.gpu_tile(x, y, threads, 2).vectorize(x, lanes).unroll(y, 2);
    for (const std::int64_t extent : {1, 61, 333}) {
      EXPECT_TRUE(matches_oracle({f}, {{-3, extent}, {2, 5}}, {u}, gpu_targets()))
          << to_string(type) << " in " << lanes << " lanes, " << threads << " threads, " << extent;
    }
  }
}

// More of them than a thread has registers: it computes one point, and the tile has fewer.
TEST(UnalignedRowsOfManyTaps, HaveTheOraclesBits) {
  const ImageParam u(Float(32), 2, "u");
  Expr sum = u(x, y);
  for (int i = 1; i < 260; ++i) sum = sum + u(x + i % 16, y + i / 16) * static_cast<float>(i);
  Func f("f");
  f(x, y) = sum;
  f.gpu_tile(x, y, 32, 4).vectorize(x, 4);
  const Box box{{-1, 131}, {2, 9}};
  const auto memory = bind_demanded({f}, box, {u}, 5);
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  for (const Target& target : gpu_targets()) {
    EXPECT_TRUE(run_matches(expected, {f}, box, target, Layout::Dense));
  }
}

// Each row of the output begins at another place of its piece than the one before, and each of the
// input.
TEST_P(UnalignedRows, OfDenseArrays) {
  const auto [type, lanes] = GetParam();
  const ImageParam u(type, 2, "u");
  Func f("f");
  f(x, y) = taps(u);
  f.gpu_tile(x, y, 32, 4).vectorize(x, lanes);
  for (const std::int64_t extent : {63, 65, 66, 68}) {
    const Box box{{0, extent}, {0, 17}};
    const auto memory = bind_demanded({f}, box, {u}, 5);
    const std::vector<AnyBuffer> expected = expected_values({f}, box);
    for (const Target& target : gpu_targets()) {
      EXPECT_TRUE(run_matches(expected, {f}, box, target, Layout::Dense));
    }
  }
}

TEST_P(UnalignedRows, ThatAreStreamed) {
  const auto [type, lanes] = GetParam();
  const ImageParam u(type, 2, "u");
  Func f("f");
  f(x, y) = taps(u);
  f.gpu_tile(x, y, 32, 2).vectorize(x, lanes).stream_loads(u).stream_stores();
  EXPECT_TRUE(matches_oracle({f}, {{-3, 141}, {2, 5}}, {u}, gpu_targets()));
}

std::vector<Shape> shapes() {
  return {{UInt(8), 2},  {UInt(8), 4},   {UInt(8), 8},   {UInt(8), 16},  {Int(16), 2},
          {Int(16), 4},  {UInt(16), 8},  {UInt(16), 16}, {Float(16), 8}, {Int(32), 2},
          {UInt(32), 4}, {Float(32), 4}, {Float(32), 8}, {Float(64), 2}, {Int(64), 4}};
}
INSTANTIATE_TEST_SUITE_P(Types, UnalignedRows, ::testing::ValuesIn(shapes()),
                         [](const ::testing::TestParamInfo<Shape>& test) {
                           return to_string(test.param.type) + "x" + std::to_string(test.param.lanes);
                         });

// Booleans are bytes in memory.
TEST(UnalignedRow, OfBooleans) {
  const ImageParam u(Bool(), 2, "u");
  Func f("f");
  f(x, y) = u(x - 1, y) || (u(x + 1, y) && !u(x, y + 1));
  f.gpu_tile(x, y, 32, 2).vectorize(x, 8);
  EXPECT_TRUE(matches_oracle({f}, {{-3, 141}, {2, 5}}, {u}, gpu_targets()));
}

// Where a test lies around the store of each row, all threads of a warp take part, and those that store
// know of one another.
TEST(UnalignedRow, UnderAConditionInALoop) {
  const ImageParam u(UInt(16), 3, "u");
  Func f("f");
  f(x, y, z) = u(x, y, z) + u(x + 1, y, z + 1);
  f.gpu_tile(x, y, 32, 3).vectorize(x, 4).march(z, 4);
  EXPECT_TRUE(matches_oracle({f}, {{0, 203}, {0, 5}, {0, 10}}, {u}, gpu_targets()));
  f.clear_schedule();
  f.gpu_tile(x, y, 32, 3).vectorize(x, 4).march(z, 4).register_window(u, z);
  EXPECT_TRUE(matches_oracle({f}, {{0, 203}, {0, 5}, {0, 10}}, {u}, gpu_targets()));
}

// A Tuple's values stand in arrays of their own, an update's in the array that it reads.
TEST(UnalignedRow, OfTuplesAndUpdates) {
  const ImageParam u(Float(32), 2, "u"), v(UInt(8), 2, "v");
  Func f("f"), g("g");
  f(x, y) = Tuple(u(x, y) * 2.0F, v(x + 1, y));
  f.gpu_tile(x, y, 32, 2).vectorize(x, 4);
  EXPECT_TRUE(matches_oracle({f}, {{0, 139}, {0, 5}}, {u, v}, gpu_targets()));
  g(x, y) = u(x, y);
  g(x, y) += u(x + 1, y) * 0.5F;
  g.gpu_tile(x, y, 32, 2).vectorize(x, 4);
  g.update().gpu_tile(x, y, 32, 2).vectorize(x, 4);
  EXPECT_TRUE(matches_oracle({g}, {{0, 139}, {0, 5}}, {u}, gpu_targets()));
}

// With a stride that is compiled in, taps of two rows are a constant number of elements apart.
TEST(UnalignedRow, OfAStrideThatIsCompiledIn) {
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y + 1) + u(x + 1, y);
  f.gpu_tile(x, y, 4, 1).vectorize(x, 4);
  const Box box{{0, 4}, {0, 1}};
  Buffer<float> in(5, 2);
  in.fill(1.5F);
  u.set(in);
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  CompileOptions options;
  options.bake = {{"u.stride.1", 5}};
  for (const Target& target : gpu_targets()) {
    EXPECT_TRUE(run_matches(expected, {f}, box, target, Layout::Embedded, options));
  }
}

}  // namespace
}  // namespace mica::test
