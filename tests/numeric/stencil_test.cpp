// Star and box stencils of 1 to 4 dimensions and radius 0 to 4 on every target.
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

/// An odd-sized box with negative mins, smaller in more dimensions.
Box odd_box(int dimensions) {
  const Box boxes[] = {{{-7, 133}},
                       {{-7, 37}, {3, 13}},
                       {{-7, 37}, {3, 9}, {-2, 5}},
                       {{-7, 19}, {3, 5}, {-2, 3}, {1, 3}}};
  return boxes[dimensions - 1];
}

using StarCase = std::tuple<int, int>;  // dimensions, radius
std::string star_name(const ::testing::TestParamInfo<StarCase>& info) {
  return std::to_string(std::get<0>(info.param)) + "d_radius" + std::to_string(std::get<1>(info.param));
}
class Star : public ::testing::TestWithParam<StarCase> {};

TEST_P(Star, OfF32) {
  const auto [dimensions, radius] = GetParam();
  TestPipeline p = star(Float(32), dimensions, radius);
  const auto memory = p.bind(odd_box(dimensions), 7);
  EXPECT_TRUE(check_all_targets(p.output(), odd_box(dimensions)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Star,
                         ::testing::Combine(::testing::Range(1, 5), ::testing::Range(0, 5)), star_name);

class StencilOfType : public ::testing::TestWithParam<Type> {};

TEST_P(StencilOfType, StarOfRadiusTwoIn3d) {
  TestPipeline p = star(GetParam(), 3, 2);
  const auto memory = p.bind(odd_box(3), 11);
  EXPECT_TRUE(check_all_targets(p.output(), odd_box(3)));
}

TEST_P(StencilOfType, BoxOfNinePoints) {
  TestPipeline p = box(GetParam(), 2, 1);
  const auto memory = p.bind(odd_box(2), 13);
  EXPECT_TRUE(check_all_targets(p.output(), odd_box(2)));
}

INSTANTIATE_TEST_SUITE_P(Types, StencilOfType, ::testing::ValuesIn(number_types()), type_name);

TEST(Stencil, BoxOf27Points) {
  for (const Type type : {Float(32), Float(64)}) {
    TestPipeline p = box(type, 3, 1);
    const auto memory = p.bind(odd_box(3), 17);
    EXPECT_TRUE(check_all_targets(p.output(), odd_box(3)));
  }
}

TEST(Stencil, BoxOf81PointsIn4d) {
  TestPipeline p = box(Float(32), 4, 1);
  const auto memory = p.bind(odd_box(4), 19);
  EXPECT_TRUE(check_all_targets(p.output(), odd_box(4)));
}

TEST(Stencil, NanAndInfinitySpreadToTheirNeighboursOnly) {
  for (const Type type : float_types()) {
    TestPipeline p = star(type, 2, 1);
    const auto memory = p.bind(odd_box(2), 23, Contents::Special);
    EXPECT_TRUE(check_all_targets(p.output(), odd_box(2)));
  }
}

TEST(Stencil, TapsOnOneSideOnlyNeedNoHaloOnTheOther) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x + 3, y) - 2 * u(x + 1, y + 2) + u(x + 1, y + 5);
  const Box out{{0, 33}, {-9, 8}};
  const auto memory = bind_random(u, {{1, 35}, {-9, 13}}, 29);
  EXPECT_TRUE(check_all_targets(f, out));
}

TEST(Stencil, TransposedAndBroadcastAccesses) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  const ImageParam row(Float(32), 1, "row");
  Func f("f");
  f(x, y) = u(y, x) + u(y + 1, x - 1) + row(y) * row(x) + u(3, 4);
  const Box out{{2, 19}, {1, 11}};
  const auto memory_u = bind_random(u, {{1, 30}, {0, 30}}, 31);
  const auto memory_row = bind_random(row, {{0, 40}}, 37);
  EXPECT_TRUE(check_all_targets(f, out));
}

TEST(Stencil, ReflectedAccesses) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(10 - x) + u(-x);
  const auto memory = bind_random(u, {{-40, 60}}, 41);
  EXPECT_TRUE(check_all_targets(f, {{-5, 37}}));
}

}  // namespace
}  // namespace mica::test
