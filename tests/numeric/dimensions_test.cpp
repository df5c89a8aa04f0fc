// Arrays of five and six dimensions, on every target.
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/limits.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z"), w("w"), v("v"), t("t");
const Box kSix{{-1, 7}, {2, 5}, {0, 3}, {-4, 3}, {1, 2}, {0, 3}};
const Box kAround{{-2, 9}, {2, 5}, {0, 3}, {-4, 3}, {1, 2}, {-1, 5}};

TEST(Dimensions, AStencilOfSixDimensions) {
  const ImageParam u(Float(32), 6, "u");
  const auto memory = bind_random(u, kAround, 1);
  Func f("f"), g("g");
  f(x, y, z, w, v, t) = u(x - 1, y, z, w, v, t) + 0.5F * u(x + 1, y, z, w, v, t);
  g(x, y, z, w, v, t) = f(x, y, z, w, v, t - 1) * cast<float>(v) + f(x, y, z, w, v, t + 1);
  EXPECT_TRUE(check_all_targets(g, kSix));
  g.clear_schedule();
  f.compute_root();
  EXPECT_TRUE(matches_oracle({g}, kSix, Target::host()));
  g.reorder(y, x, t).vectorize(x, 4).parallel(t);
  f.compute_at(g, t).reorder_storage(y, x);
  EXPECT_TRUE(matches_oracle({g}, kSix, Target::host()));
}

TEST(Dimensions, ATileOfAKernelOfFiveDimensions) {
  const ImageParam u(Int(32), 5, "u");
  const Box box(kSix.begin(), kSix.end() - 1);
  const auto memory = bind_random(u, Box(kAround.begin(), kAround.end() - 1), 2);
  Func f("f");
  f(x, y, z, w, v) = u(x - 1, y, z, w, v) + 3 * u(x + 1, y, z, w, v);
  f.fuse(z, w, "zw").fuse("zw", v, "zwv").gpu_tile(x, y, "zwv", 4, 2, 1);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, box, target));
}

TEST(Dimensions, DomainsAndReductionsOfSixDimensions) {
  const ImageParam u(Int(32), 6, "u");
  const auto memory = bind_random(u, kSix, 3);
  const RDom all(u), r({{0, 2}, {0, 2}, {0, 2}, {0, 2}, {0, 2}, {0, 3}}, "s");
  Func total("total"), rows("rows");
  total() = sum(all, u(all[0], all[1], all[2], all[3], all[4], all[5]));
  EXPECT_TRUE(check_all_targets(total, {{0, 1}}));
  rows(x) = 0;
  rows(x) += x * r[5] + r[4] * r.x;
  EXPECT_TRUE(check_all_targets(rows, {{0, 9}}));
}

TEST(Dimensions, BoundaryConditionsOfSixDimensions) {
  const ImageParam u(Float(32), 6, "u");
  const auto memory = bind_random(u, kSix, 4);
  Func edge = BoundaryConditions::repeat_edge(u), f("f");
  f(x, y, z, w, v, t) = edge(x - 1, y, z, w, v, t) + edge(x, y + 1, z, w, v - 1, t + 2);
  EXPECT_TRUE(check_all_targets(f, kSix));
}

TEST(Dimensions, ElementsOfSixDimensionsAreVisitedOnceInOrder) {
  Buffer<int> b({2, 1, 3, 2, 1, 2});
  int visits = 0;
  b.for_each([&](int& e, const Coordinates&) { e = visits++; });
  EXPECT_EQ(visits, 24);
  EXPECT_EQ(b(1, 0, 0, 0, 0, 0), 1);
  EXPECT_EQ(b(0, 0, 1, 0, 0, 0), 2);
  EXPECT_EQ(b(1, 0, 2, 1, 0, 1), 23);
  static_assert(kMaxDimensions == 6);
  Buffer<int> empty({2, 0, 3});
  empty.for_each([&](int&, const Coordinates&) { ++visits; });
  EXPECT_EQ(visits, 24);
}

}  // namespace
}  // namespace mica::test
