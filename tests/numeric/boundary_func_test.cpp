// Boundary conditions on Funcs, by dimension, of given ranges and mixed, on every target.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

using namespace BoundaryConditions;

const Var x("x"), y("y"), i("i"), j("j");

Func star(const Func& b, const std::string& name = "f") {
  Func f(name);
  f(x, y) = b(x - 2, y) + b(x + 2, y) * 0.5F - b(x, y - 1) + b(x, y + 1) * b(x, y);
  return f;
}

std::vector<Func> of_func(const Func& source, const BoundaryRanges& ranges) {
  return {repeat_edge(source, ranges), constant_exterior(source, 3.0F, ranges),
          repeat_image(source, ranges), mirror_image(source, ranges), mirror_interior(source, ranges)};
}

TEST(BoundaryOfAFunc, KeepsToTheRanges) {
  const ImageParam u(Float(32), 2, "u");
  const Param<std::int32_t> n("n", 21);
  Func source("source");
  source(i, j) = u(i, j) * 2.0F + cast<float>(i);
  for (const Func& b : of_func(source, {{0, n}, {-2, 9}})) {
    const auto memory = bind_random(u, {{0, 21}, {-2, 9}}, 1);
    EXPECT_TRUE(check_all_targets(star(b), {{-5, 34}, {-7, 19}})) << b.name();
  }
}

TEST(BoundaryOfAFunc, ComputedAtRootIsReadInsideOnly) {
  const ImageParam u(Float(32), 2, "u");
  for (int kind = 0; kind < 5; ++kind) {
    Func source("source");
    source(i, j) = u(i, j) * 2.0F + 1.0F;
    source.compute_root();
    const auto memory = bind_random(u, {{0, 40}, {0, 9}}, 2);
    const Func b = of_func(source, {{0, 40}, {0, 9}})[static_cast<std::size_t>(kind)];
    EXPECT_TRUE(check_all_targets(star(b), {{0, 40}, {0, 9}})) << b.name();
  }
}

/// A boundary condition of another, whose blocks keep one point of the source; with `more`, an update
/// reads points of it that others keep.
void check_blocks_at_the_edge(bool more, const std::vector<std::int64_t>& sizes) {
  Func source("source"), f("f");
  source(i) = cast<float>(i) * 2.0F;
  const BoundaryRanges inner{{5, 12}}, outer{{0, 4}};
  Func edge = repeat_edge(source, inner);
  f(x) = constant_exterior(edge, 3.0F, outer)(x);
  if (more) f(x) = f(x) + edge(x + 7);
  edge.compute_at(f, "x.block").stage(source, MemoryType::Shared);
  f.gpu_tile(x, 4);
  if (more) f.update().gpu_tile(x, 4);
  for (const std::int64_t points : sizes) {
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(matches_oracle({f}, {{0, points}}, target)) << points << " on " << to_string(target);
    }
  }
}

// Of the last block most points lie outside, and it fills what the first condition gives as if all of it
// were read: past the only point of the source that it keeps.
TEST(BoundaryOfAFunc, UnderAnotherOneInABlockAtTheEdge) { check_blocks_at_the_edge(false, {49}); }

// All of it is needed, but by another definition than the one whose blocks keep a point of the source.
TEST(BoundaryOfAFunc, UnderAnotherOneOfWhichAnUpdateReadsMore) {
  check_blocks_at_the_edge(true, {49, 48, 1});
}

TEST(BoundaryOfAFunc, OfUpdatesAndTuples) {
  const ImageParam u(Float(32), 2, "u");
  Func pair("pair");
  pair(i, j) = Tuple(u(i, j), cast<float>(i - j));
  pair(i, j) = Tuple(pair(i, j)[0] * 2.0F, pair(i, j)[1] + 1.0F);
  const Func b = repeat_image(pair, {{0, 17}, {0, 6}});
  Func f("f");
  f(x, y) = b(x - 1, y)[0] + b(x, y + 1)[1];
  const auto memory = bind_random(u, {{0, 17}, {0, 6}}, 3);
  EXPECT_TRUE(check_all_targets(f, {{-3, 40}, {-9, 20}}));
}

TEST(BoundaryByDimension, LeavesOthersAlone) {
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, 30}, {-4, 20}}, 4);
  const std::vector<Func> along_x{repeat_edge(u, {{x}}), constant_exterior(u, 1.0F, {{x}}),
                                  repeat_image(u, {{x}}), mirror_image(u, {{0, 30}}),
                                  mirror_interior(u, {{0, 30}, {}})};
  for (const Func& b : along_x) {
    EXPECT_TRUE(check_all_targets(star(b), {{-5, 41}, {-3, 17}})) << b.name();
  }
  const Func along_y = repeat_image(u, {{}, {-4, 20}});
  EXPECT_TRUE(check_all_targets(star(along_y), {{2, 25}, {-10, 40}}));
}

TEST(BoundaryByDimension, MayBeMixed) {
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, 30}, {0, 20}}, 5);
  const Func b = constant_exterior(repeat_image(u, {{x}}), 0.0F, {{y}});
  EXPECT_TRUE(check_all_targets(star(b), {{-50, 120}, {-10, 40}}));
  const Func c = mirror_interior(repeat_edge(u, {{y}}), {{x, 0, 30}});
  EXPECT_TRUE(check_all_targets(star(c), {{-50, 120}, {-10, 40}}));
}

// Two levels of a multigrid: the coarse grid is half of the fine one, whatever that is.
TEST(BoundaryOfAFunc, OfACoarserGrid) {
  const ImageParam u(Float(32), 2, "u");
  const Func fine = repeat_image(u);
  Func coarse("coarse");
  coarse(x, y) = 0.25F * (fine(2 * x, 2 * y) + fine(2 * x + 1, 2 * y) + fine(2 * x, 2 * y + 1) +
                          fine(2 * x + 1, 2 * y + 1));
  coarse.compute_root();
  const Func around = repeat_image(coarse, {{0, u.width() / 2}, {0, u.height() / 2}});
  Func smooth("smooth");
  smooth(x, y) = around(x - 1, y) + around(x + 1, y) + around(x, y - 1) + around(x, y + 1);
  for (const std::int64_t n : {32, 6, 2}) {
    const auto memory = bind_random(u, {{0, n}, {0, n}}, 6);
    EXPECT_TRUE(check_all_targets(smooth, {{0, n / 2}, {0, n / 2}})) << n;
  }
}

TEST(BoundaryOfAFunc, HasAnEdgeWhereTheRangeIsEmpty) {
  const ImageParam u(Float(32), 1, "u");
  const Param<std::int32_t> n("n");
  Func source("source"), f("f");
  source(i) = u(i) + 1.0F;
  const Func b = repeat_edge(source, {{3, n}});
  f(x) = b(x - 1) + b(x + 1);
  const auto memory = bind_random(u, {{0, 9}}, 7);
  for (const int extent : {0, -4, 1, 2}) {
    n.set(extent);
    EXPECT_TRUE(check_all_targets(f, {{0, 20}})) << extent;
  }
}

TEST(BoundaryErrors, NameTheSourceAndWhatToWrite) {
  const ImageParam u(Float(32), 2, "u");
  Func source("source"), undefined("undefined");
  source(i, j) = u(i, j);
  const Var k("k");
  EXPECT_TRUE(fails_with(
      [&] {
        repeat_edge(u, {{0, 1}, {0, 1}, {0, 1}});
      },
      {"repeat_edge of u: 3 ranges for a source of 2 dimensions"}));
  EXPECT_TRUE(fails_with([&] { repeat_edge(u, {{k}}); },
                         {"repeat_edge of u: k is no dimension of u, whose dimensions are x, y"}));
  EXPECT_TRUE(fails_with(
      [&] { repeat_image(source, {{i}}); },
      {"repeat_image of source: source is a Func, which has no range of its own along i: write "
       "{i, min, extent}"}));
  EXPECT_TRUE(fails_with(
      [&] {
        repeat_image(source, {{0, 4}, {i, 0, 4}});
      },
      {"repeat_image of source: dimension 0 (i) has two ranges"}));
  EXPECT_TRUE(fails_with(
      [&] {
        mirror_image(source, {{0, cast<float>(u.width())}});
      },
      {"mirror_image of source: the extent of dimension 0 is f32; it must be an i32"}));
  EXPECT_TRUE(fails_with([&] { mirror_image(source, {{i, j}}); }, {"depends on j", "{x}"}));
  EXPECT_TRUE(fails_with(
      [&] {
        repeat_edge(undefined, {{0, 1}});
      },
      {"repeat_edge of undefined, which is not defined: write undefined(...) = ... first"}));
  EXPECT_TRUE(fails_with(
      [&] {
        constant_exterior(source, cast<double>(0.0), {{0, 1}});
      },
      {"constant_exterior of source: the value is f64, the source f32: cast the value"}));
}

}  // namespace
}  // namespace mica::test
