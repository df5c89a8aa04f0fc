// Updates that read their Func at neighbours, one color after the other, on every target.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_schedules.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");
const Var z("z");

Expr relaxed(const Func& p, const ImageParam& rhs) {
  return 0.25F * (p(x - 1, y) + p(x + 1, y) + p(x, y - 1) + p(x, y + 1) - rhs(x, y));
}

TEST(Color, RedBlackKeepsTheRimOfAnOutput) {
  const ImageParam u(Float(32), 2, "u"), rhs(Float(32), 2, "rhs");
  Func p("p");
  p(x, y) = u(x, y);
  p(x, y) = relaxed(p, rhs);
  p.update().color((x + y) % 2);
  const Box box{{-3, 41}, {2, 13}};
  const auto memory_u = bind_random(u, box, 1), memory_rhs = bind_random(rhs, box, 2);
  check_schedules(p, box,
                  {
                      [](Func&) {},
                      [](Func& f) { f.update().reorder(y, x); },
                      [](Func& f) { f.update().parallel(y).unroll(x, 2); },
                      [](Func& f) { f.update().vectorize(x, 4); },
                      [](Func& f) { f.update().split(x, "xo", "xi", 8).reorder("xi", y, "xo"); },
                      [](Func& f) {
                        f.gpu_tile(x, y, 16, 4);
                        f.update().gpu_tile(x, y, 8, 4);
                      },
                      [](Func& f) {
                        f.gpu_tile(x, y, 16, 4);
                        f.update().gpu_tile(x, y, 8, 4).vectorize(x, 2).unroll(y, 2);
                      },
                  });
}

// Also where two dimensions share an axis of the grid.
TEST(Color, AnOutputThatIsAllRimStays) {
  const Var w("w");
  for (const std::int64_t n : {1, 2, 3, 4}) {
    Func p("p");
    p(x, y, z, w) = cast<float>(x + 10 * z);
    p(x, y, z, w) = p(x + 1, y, z + 2, w - 2);
    p.update().color((x * 3 - z + w * 3) % 4);
    for (const std::int64_t m : {1, 2, 4}) {
      EXPECT_TRUE(check_all_targets(p, {{0, 9}, {0, 1}, {0, n}, {0, m}})) << n << " " << m;
    }
  }
}

// The same with extents that bound() makes constant: two of them below 0 are a fused loop of none.
TEST(Color, AConstantBoxThatIsAllRimStays) {
  const Var w("w");
  for (const std::int64_t n : {1, 2, 3}) {
    Func p("p");
    p(x, y, z, w) = cast<float>(x + 10 * z + 100 * w);
    p(x, y, z, w) = p(x, y, z - 2, w - 1) + p(x, y, z, w + 1);
    p.update().color((x - y + z + w) % 2);
    p.bound(z, 0, n).bound(w, 0, 1);
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(matches_oracle({p}, {{0, 9}, {0, 2}, {0, n}, {0, 1}}, target)) << n;
    }
  }
}

TEST(Color, OfAFuncBehindOthersIsWhatALargerBoxWouldGive) {
  const ImageParam u(Float(64), 2, "u");
  Func p("p"), out("out");
  const auto inside = BoundaryConditions::repeat_edge(u);
  p(x, y) = inside(x, y);
  p(x, y) = 0.25 * (p(x - 1, y) + p(x + 1, y) + p(x, y - 1) + p(x, y + 1));
  p(x, y) = p(x, y) + 1.0;
  p(x, y) = 0.25 * (p(x - 1, y) + p(x + 1, y) + p(x, y - 1) + p(x, y + 1));
  p.update(0).color((x + y) % 2);
  p.update(2).color((x - y) % 2);
  out(x, y) = p(x, y) - p(x + 1, y);
  const auto memory = bind_random(u, {{-4, 60}, {-4, 40}}, 3);
  check_schedules(p, out, {{0, 37}, {0, 11}},
                  {
                      [](Func&) {},
                      [&](Func& f) { f.compute_at(out, y); },
                      [&](Func& f) {
                        out.split(x, "xo", "xi", 8).reorder("xi", y, "xo");
                        f.compute_at(out, "xo");
                      },
                  });
}

TEST(Color, AnotherColorAfterARunCountsInTheNext) {
  Func p("p");
  p(x) = x * x;
  p(x) = p(x) + p(x - 1);
  Buffer<int> first(9), second(9);
  for (auto& [buffer, color] : {std::pair(&first, x % 2), std::pair(&second, (x + 1) % 2)}) {
    p.update().color(color);
    AnyBuffer out = *buffer;
    p.realize(out, Target::host());
  }
  EXPECT_EQ(first(2), 4 + 1);
  EXPECT_EQ(second(2), 4 + 1 + 0);
  EXPECT_EQ(first(3), 9 + 4 + 1);
  EXPECT_EQ(second(3), 9 + 4);
}

TEST(Color, FourColorsOfANinePointStencil) {
  const ImageParam u(Int(32), 2, "u");
  Func p("p");
  p(x, y) = u(x, y);
  Expr all = p(x, y);
  for (int j = -1; j <= 1; ++j) {
    for (int i = -1; i <= 1; ++i) all = all + (i + 3 * j) * p(x + i, y + j);
  }
  p(x, y) = all;
  p.update().color((x + 2 * y) % 4);
  const Box box{{0, 29}, {0, 14}};
  const auto memory = bind_random(u, box, 4);
  EXPECT_TRUE(check_all_targets(p, box));
}

TEST(Color, ThreeDimensionsAndFactorsWithoutAnInverse) {
  const ImageParam u(Int(64), 3, "u");
  const Box box{{0, 13}, {-1, 7}, {2, 6}};
  const auto memory = bind_random(u, box, 5);
  for (const int form : {0, 1, 2}) {
    Func p("p");
    p(x, y, z) = u(x, y, z);
    p(x, y, z) = p(x - 1, y, z) - p(x, y + 1, z) * 3 + p(x, y, z - 1);
    const Expr color = form == 0   ? (x + y + z) % 2
                       : form == 1 ? (2 * (x + y + z)) % 4
                                   : (2 * x - y + 3 * z) % 6;
    p.update().color(color);
    EXPECT_TRUE(check_all_targets(p, box)) << form;
  }
}

}  // namespace
}  // namespace mica::test
