// How the threads of a block fill rows of shared memory by asynchronous copies.
#include <gtest/gtest.h>

#include "tests/passes/lowered.h"

namespace mica {
namespace {

using test::code;
using test::count;
using test::inside;

/// Sums along x from -before to +after, blocks of 128 x 8 points in vectors of four, u staged.
struct Sum {
  Var x{"x"}, y{"y"};
  ImageParam u;
  Func f{"f"};

  Sum(Type type, int before, int after) : u(type, 2, "u") {
    Expr total = u(x - before, y);
    for (int i = 1 - before; i <= after; ++i) total = total + u(x + i, y);
    f(x, y) = total;
    f.gpu_tile(x, y, 32, 8).vectorize(x, 4);
  }
  [[nodiscard]] std::string loops(LoadPolicy policy) {
    f.stage(u, MemoryType::Shared, policy);
    return test::loops(f, Backend::Cuda);
  }
};

TEST(Filling, RowsOfAsynchronousCopiesStartAndEndAtWholeSectors) {
  const std::string text = Sum(Float(32), 4, 4).loops(LoadPolicy::AsyncCopy);
  EXPECT_GT(count(text, "Shared f32 u.staged[8][144]"), 0) << text;  // 8 + 128 + 8 for 4 + 128 + 4
}

TEST(Filling, OtherRowsStartAndEndAtWholeVectors) {
  const std::string text = Sum(Float(32), 4, 4).loops(LoadPolicy::TwoStep);
  EXPECT_GT(count(text, "Shared f32 u.staged[8][136]"), 0) << text;
}

TEST(Filling, WholeSectorsBesideTheTileNeedNoRoomMore) {
  const std::string text = Sum(Float(64), 4, 4).loops(LoadPolicy::AsyncCopy);
  EXPECT_GT(count(text, "Shared f64 u.staged[8][136]"), 0) << text;
}

// 256 threads take the tile's 256 pieces of 16 bytes without a condition, then 16 of them those beside
// it.
TEST(Filling, TheTilesOwnColumnsAreDealtBeforeThoseBesideIt) {
  const std::string text = inside(Sum(Float(32), 4, 4).loops(LoadPolicy::AsyncCopy));
  EXPECT_EQ(count(text, "copy u.staged[..] = u[..]"), 2) << text;
  EXPECT_EQ(count(text, "unrolled"), 0) << text;  // one step each
  EXPECT_EQ(count(text, "if u.staged.ty*32 + u.staged.tx < 16"), 1) << text;
}

TEST(Filling, UnequalColumnsBesideTheTileAreDealtWithIt) {
  const std::string text = inside(Sum(Float(32), 8, 4).loops(LoadPolicy::AsyncCopy));
  EXPECT_EQ(count(text, "copy u.staged[..] = u[..]"), 1) << text;
}

// 2 x 2 x 11 x 11 points of a thread: the loop over the last dimension stays one.
TEST(Filling, ABoxOfManyPointsIsNotWrittenOut) {
  const Var x("x"), y("y"), z("z");
  ImageParam u(Float(32), 4, "u");
  Func f("f");
  f(x, y, z) = u(x - 1, y - 1, z - 5, 0) + u(x + 1, y + 1, z + 5, 10);
  f.gpu_tile(x, y, 32, 8).gpu_blocks(z).stage(u, MemoryType::Shared, LoadPolicy::Strided);
  const std::string text = inside(test::loops(f, Backend::Cuda));
  EXPECT_EQ(count(text, "for u.staged."), 1) << text;
  EXPECT_EQ(count(text, "unrolled u.staged."), 3) << text;
  EXPECT_EQ(count(test::loops(f, Backend::Host), "unrolled"), 0) << "LLVM unrolls what gains by it";
}

// Radius 3 needs a piece of three elements on both sides, which no single copy moves.
TEST(Filling, ElementsBesideTheVectorsAreCopiedByThemselves) {
  const std::string text = inside(Sum(Float(32), 3, 3).loops(LoadPolicy::AsyncCopy));
  EXPECT_EQ(count(text, "copy u.staged[..] = u[..]"), 3) << text;
}

}  // namespace
}  // namespace mica
