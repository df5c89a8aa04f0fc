// Vectors at the ends of rows: taps that stick out are chosen lane by lane, and the last vector of a row
// is moved to its end. Rows of every number of points beside a vector's, boxes that begin elsewhere than
// their images, and images that are not much longer than a vector.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dsl/func/rdom.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

std::vector<Func> all_conditions(const ImageParam& u) {
  using namespace BoundaryConditions;
  return {repeat_edge(u), repeat_image(u), mirror_image(u), mirror_interior(u),
          constant_exterior(u, make_const(u.type(), std::int64_t{3}))};
}

Func near_sum(const Func& b, int reach) {
  Func f("f");
  Expr e = b(x, y);
  for (int r = 1; r <= reach; ++r) e = e + b(x - r, y) + b(x + r, y);
  f(x, y) = e + b(x, y - 1) + b(x, y + 1);
  return f;
}

class EdgeLanes : public ::testing::TestWithParam<Type> {};

TEST_P(EdgeLanes, HaveTheOraclesBits) {
  for (const int width : {3, 16, 17, 33, 50}) {
    const ImageParam u(GetParam(), 2, "u");
    const auto memory = bind_random(u, {{-2, width}, {0, 3}}, 7);
    for (const Func& b : all_conditions(u)) {
      const Func f = near_sum(b, 2).vectorize(x, 16);
      EXPECT_TRUE(matches_oracle({f}, {{-2, width}, {0, 3}}, Target::host())) << b.name() << width;
      EXPECT_TRUE(matches_oracle({f}, {{-7, width + 12}, {-1, 5}}, Target::host())) << b.name() << width;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EdgeLanes,
                         ::testing::Values(UInt(8), Int(16), Float(16), Float(32), Float(64)),
                         type_name);

TEST(EdgeLanesChecked, LoadNothingOutsideTheirArrays) {
  for (const int width : {18, 33}) {
    const ImageParam u(Float(32), 2, "u");
    const auto memory = bind_random(u, {{0, width}, {0, 3}}, 7);
    for (const Func& b : all_conditions(u)) {
      const Func f = near_sum(b, 3);
      EXPECT_TRUE(matches_oracle({f}, {{0, width}, {0, 3}}, Target::host_checked())) << b.name();
    }
  }
}

// The vector at one end fits a short row, the one at the other sticks out at both.
TEST(EdgeLanesChecked, OfShortRowsThatReachFurtherToOneSide) {
  for (const int width : {17, 18, 20, 21}) {
    const ImageParam u(Float(32), 2, "u");
    const auto memory = bind_random(u, {{0, width}, {0, 3}}, 8);
    for (const Func& b : all_conditions(u)) {
      Func right("right"), left("left");
      right(x, y) = b(x - 1, y) + b(x + 5, y);
      left(x, y) = b(x - 5, y) + b(x + 1, y);
      for (const Func& f : {right, left}) {
        EXPECT_TRUE(matches_oracle({f}, {{0, width}, {0, 3}}, Target::host_checked()))
            << b.name() << ", " << f.name() << ", " << width;
      }
    }
  }
}

// Rows as of a Func that is read beside its own points: no vector at their ends can choose its taps.
TEST(EdgeLanesChecked, OfRowsThatBeginOutside) {
  constexpr int kWidth = 52;
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, kWidth}, {0, 3}}, 11);
  for (const Func& b : all_conditions(u)) {
    const Func f = near_sum(b, 1).vectorize(x, 16);
    for (const int before : {-3, 1, 17}) {
      for (const int behind : {-6, 0, 5}) {
        const Box box{{-before, kWidth + before + behind}, {-1, 5}};
        EXPECT_TRUE(matches_oracle({f}, box, Target::host_checked()))
            << b.name() << ", " << before << ", " << behind;
      }
    }
  }
}

// Rows of which neighbours lie apart: taken lane by lane, by gathers where there are some.
TEST(EdgeLanesChecked, OfRowsThatAreStrided) {
  for (const Type type : {UInt(8), Float(16), Float(32), Float(64)}) {
    for (const int apart : {2, 77}) {
      constexpr int kWidth = 33, kRows = 3;
      ImageParam u(type, 2, "u");
      AnyBuffer memory(type, {{0, kWidth, apart}, {0, kRows, apart * kWidth}});
      fill_random(memory, 7);
      u.set(memory);
      for (const Func& b : all_conditions(u)) {
        const Func f = near_sum(b, 1);
        const Box box{{0, kWidth}, {0, kRows}};
        EXPECT_TRUE(matches_oracle({f}, box, Target::host())) << b.name() << apart;
        if (type != Float(32)) continue;
        EXPECT_TRUE(matches_oracle({f}, box, Target::host_checked())) << b.name();
      }
    }
  }
}

// A row whose end is not its image's: the vectors there are moved, and nothing sticks out.
TEST(EdgeLanesChecked, OfRowsWithoutConditionsAreMovedToTheEnd) {
  for (const int width : {1, 15, 16, 17, 31, 40}) {
    const ImageParam u(Float(32), 2, "u");
    const auto memory = bind_random(u, {{-1, width + 2}, {0, 3}}, 9);
    Func f("f");
    f(x, y) = u(x - 1, y) + u(x + 1, y);
    EXPECT_TRUE(matches_oracle({f}, {{0, width}, {0, 3}}, Target::host())) << width;
    EXPECT_TRUE(matches_oracle({f}, {{0, width}, {0, 3}}, Target::host_checked())) << width;
  }
}

// An array whose condition does not concern it here: no element beyond its ends is there to be read.
TEST(EdgeLanesChecked, OfArraysThatNothingSticksOutOf) {
  const ImageParam u(Float(32), 1, "u"), v(Float(32), 1, "v");
  const auto u_memory = bind_random(u, {{4, 31}}, 1), v_memory = bind_random(v, {{5, 60}}, 2);
  Func f("f");
  f(x) = u(max(x - 1, 0)) + u(min(x + 1, 900)) + BoundaryConditions::repeat_image(v)(x - 1);
  EXPECT_TRUE(matches_oracle({f}, {{5, 29}}, Target::host()));
  EXPECT_TRUE(matches_oracle({f}, {{5, 29}}, Target::host_checked()));
}

// The taps of a sum over a box around the point, each of which sticks out as far as it lies.
TEST(EdgeLanesChecked, OfSumsOverABox) {
  for (const int width : {16, 35}) {
    const ImageParam u(Int(32), 2, "u");
    const auto memory = bind_random(u, {{0, width}, {0, 7}}, 5);
    for (const Func& b : all_conditions(u)) {
      const RDom r({{-2, 5}, {-1, 3}}), wide({{-5, 11}, {0, 7}});
      Func f("f");
      f(x, y) = 1;
      f(x, y) += b(x + r.x, y + r.y) * (r.x + 3);
      f(x, y) += b(x - wide.x, y + wide.y);
      EXPECT_TRUE(matches_oracle({f}, {{0, width}, {0, 7}}, Target::host())) << b.name() << width;
      if (width == 16) continue;
      EXPECT_TRUE(matches_oracle({f}, {{-3, width + 5}, {-1, 8}}, Target::host_checked())) << b.name();
    }
  }
}

// In place, colour by colour: the first point of a row follows it.
TEST(EdgeLanesChecked, OfColours) {
  const int width = 37, height = 9;
  const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
  const auto memory = bind_random(u, {{0, width}, {0, height}}, 5),
             start = bind_random(v, {{0, width}, {0, height}}, 6);
  for (const Func& b : all_conditions(u)) {
    const Func f = coloured_relaxation(b, v, width, height);
    EXPECT_TRUE(matches_oracle({f}, {{0, width}, {0, height}}, Target::host())) << b.name();
    EXPECT_TRUE(matches_oracle({f}, {{0, width}, {0, height}}, Target::host_checked())) << b.name();
  }
}

// Eight fields: too many for more than one copy of the code at the ends.
TEST(EdgeLanesChecked, OfManyFields) {
  for (int condition = 0; condition < 5; ++condition) {
    std::vector<ImageParam> u;
    std::vector<std::shared_ptr<void>> memory;
    std::vector<Expr> values;
    Expr sum = 0.0F;
    for (int i = 0; i < 8; ++i) {
      u.emplace_back(Float(32), 2, "u" + std::to_string(i));
      memory.push_back(bind_random(u.back(), {{i % 2, 37}, {0, 4}}, 3));
      const Func b = all_conditions(u.back())[static_cast<std::size_t>(condition)];
      sum = sum + static_cast<float>(i + 1) *
                      (b(x - 1, y) + b(x + 1, y) + b(x, y - 1) + b(x, y + 1) - 4.0F * b(x, y));
    }
    for (int i = 0; i < 8; ++i) values.push_back(sum + static_cast<float>(i) * u[i](x, y));
    Func f("f");
    f(x, y) = Tuple(values);
    EXPECT_TRUE(matches_oracle({f}, {{1, 36}, {0, 4}}, Target::host())) << condition;
    EXPECT_TRUE(matches_oracle({f}, {{2, 34}, {0, 4}}, Target::host_checked())) << condition;
  }
}

}  // namespace
}  // namespace mica::test
