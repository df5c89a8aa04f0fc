// Time tiles of steps that repeat: the levels are computed beyond the fields' box, where they are what
// they are a period away. The bits are those of single steps.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "tests/support/check_targets.h"
#include "tests/support/same_steps.h"

namespace mica::test {
namespace {

using BoundaryConditions::repeat_image;

const Var x("x"), y("y"), z("z");

Expr star(const Func& u) {
  return u(x - 1, y, z) + 0.5F * u(x + 1, y, z) + 0.25F * u(x, y - 1, z) + 0.125F * u(x, y + 1, z) +
         0.75F * u(x, y, z - 1) + 0.375F * u(x, y, z + 1);
}

/// Expects equal bits, and that nothing is said: the levels are in one kernel.
void expect_one_kernel(Iteration& plain, Iteration& tiled, const std::vector<ImageParam>& fields,
                       const std::vector<RunInput>& others, const Box& box, int tile,
                       const std::vector<int>& numbers, const Target& target) {
  testing::internal::CaptureStderr();
  expect_same(plain, tiled, fields, others, box, tile, numbers, target);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "on " << to_string(target);
}

// Rows of whole lines, of whole vectors only, and of neither.
TEST(TimeTilePeriods, OfThreeDimensions) {
  for (const Target& target : all_targets()) {
    for (const Box& box : {Box{{2, 64}, {0, 9}, {0, 13}}, Box{{-3, 140}, {2, 11}, {5, 10}},
                           Box{{1, 37}, {-4, 10}, {0, 6}}}) {
      const ImageParam u(Float(32), 3, "u");
      const Func around = repeat_image(u);
      Func next("next");
      next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * star(around);
      if (target.is_gpu()) next.gpu_tile(x, y, 32, 2).vectorize(x, 4).unroll(y, 4).march(z, 5);
      Iteration plain({{u, next}}), tiled({{u, next}});
      const int tile = box[0].second == 64 ? 3 : 2;
      expect_one_kernel(plain, tiled, {u}, {}, box, tile, {tile, 2 * tile + 1}, target);
    }
  }
}

TEST(TimeTilePeriods, OfCoupledFieldsInFloat64) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(64), 3, "u"), v(Float(64), 3, "v");
    const Func bu = repeat_image(u), bv = repeat_image(v);
    Func both("both");
    both(x, y, z) = Tuple(u(x, y, z) + 0.1 * (star(bu) - u(x, y, z) * v(x, y, z)),
                          v(x, y, z) + 0.05 * (star(bv) + u(x, y, z) * v(x, y, z) * v(x, y, z)));
    if (target.is_gpu()) both.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 2).march(z, 6);
    Iteration plain({{u, both, 0}, {v, both, 1}}), tiled({{u, both, 0}, {v, both, 1}});
    expect_one_kernel(plain, tiled, {u, v}, {}, {{0, 96}, {1, 10}, {-2, 12}}, 2, {2, 5}, target);
  }
}

TEST(TimeTilePeriods, OfTwoDimensionsWithoutASchedule) {
  for (const Target& target : all_targets()) {
    for (const std::int64_t width : {128, 250}) {
      const ImageParam u(Float(32), 2, "u");
      const Func around = repeat_image(u);
      Func next("next");
      next(x, y) = max(u(x, y), 0.25F * (around(x - 2, y) + around(x + 1, y - 1)) +
                                    0.3F * around(x, y + 2) * around(x - 1, y));
      Iteration plain({{u, next}}), tiled({{u, next}});
      expect_one_kernel(plain, tiled, {u}, {}, {{-7, width}, {3, 21}}, 4, {4, 9}, target);
    }
  }
}

// A channel: it repeats along one dimension and has edges along the other, whichever is said first.
TEST(TimeTilePeriods, BesideOtherBoundaryConditions) {
  using namespace BoundaryConditions;
  const std::vector<std::function<Func(const ImageParam&)>> channels{
      [](const auto& u) { return repeat_edge(repeat_image(u, {{x}}), {{y}}); },
      [](const auto& u) { return repeat_image(mirror_image(u, {{y}}), {{x}}); },
      [](const auto& u) { return mirror_interior(repeat_image(u, {{y}}), {{x}}); },
      [](const auto& u) { return repeat_image(repeat_edge(u, {{x}}), {{y}}); }};
  for (const Target& target : all_targets()) {
    for (const auto& channel : channels) {
      const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
      const Func of_u = channel(u), of_v = channel(v);
      Func next("next"), other("other");
      next(x, y) = 0.4F * of_u(x, y) + 0.25F * of_u(x - 1, y) + 0.1F * of_u(x + 1, y) +
                   0.2F * of_u(x, y - 1) + 0.05F * of_u(x, y + 1) * of_v(x, y);
      other(x, y) = v(x, y) + 0.125F * (of_v(x - 1, y) - of_v(x, y + 1)) * u(x, y);
      Iteration plain({{u, next}, {v, other}}), tiled({{u, next}, {v, other}});
      for (const Box& box : {Box{{-7, 130}, {3, 21}}, Box{{0, 5}, {0, 4}}}) {
        expect_one_kernel(plain, tiled, {u, v}, {}, box, 3, {3, 7}, target);
      }
    }
  }
}
TEST(TimeTilePeriods, BesideOtherBoundaryConditionsInThreeDimensions) {
  using namespace BoundaryConditions;
  for (const Target& target : all_targets()) {
    for (const bool along_rows : {true, false}) {
      const ImageParam u(Float(32), 3, "u");
      const Func channel = along_rows ? repeat_edge(repeat_image(u, {{x}, {y}}), {{z}})
                                      : repeat_image(mirror_image(u, {{x}, {y}}), {{z}});
      Func next("next");
      next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * star(channel);
      // Of its own accord a device takes one step at a time of a field so small.
      if (target.backend == Backend::Cuda)
        next.gpu_tile(x, y, 32, 3).vectorize(x, 2).unroll(y, 2).march(z, 4);
      Iteration plain({{u, next}}), tiled({{u, next}});
      expect_one_kernel(plain, tiled, {u}, {}, {{2, 70}, {0, 9}, {0, 13}}, 2, {2, 5}, target);
    }
  }
}

// Along the others the step keeps a rim, whose points are chosen.
TEST(TimeTilePeriods, OfSomeDimensions) {
  for (const Target& target : all_targets()) {
    for (const auto& ranges : std::vector<BoundaryRanges>{{{x}}, {{y}, {z}}, {{x}, {z}}, {{z}}}) {
      const ImageParam u(Float(32), 3, "u");
      const Func around = repeat_image(u, ranges);
      Func next("next");
      next(x, y, z) = 0.4F * u(x, y, z) + 0.1F * star(around);
      if (target.is_gpu()) next.gpu_tile(x, y, 32, 3).vectorize(x, 2).unroll(y, 2).march(z, 4);
      Iteration plain({{u, next}}), tiled({{u, next}});
      expect_one_kernel(plain, tiled, {u}, {}, {{2, 64}, {0, 9}, {-1, 11}}, 2, {2, 5}, target);
    }
  }
}

TEST(TimeTilePeriods, OfALeapfrogWithACoefficientThatIsWider) {
  for (const Target& target : all_targets()) {
    const ImageParam before(Float(32), 3, "before"), now(Float(32), 3, "now"), c(Float(32), 3, "c");
    const Func around = repeat_image(now);
    Func next("next");
    next(x, y, z) = 2.0F * now(x, y, z) - before(x, y, z) + c(x, y, z) * star(around);
    if (target.is_gpu()) next.gpu_tile(x, y, 32, 4).vectorize(x, 2).unroll(y, 2).march(z, 8);
    const AnyBuffer speed = random_over(Float(32), {{-5, 80}, {-1, 14}, {0, 13}}, 5);
    Iteration plain({{before, now}, {now, next}}), tiled({{before, now}, {now, next}});
    testing::internal::CaptureStderr();
    expect_same(plain, tiled, {before, now}, {{c, speed}}, {{3, 67}, {0, 11}, {1, 12}}, 3, {3, 8},
                target);
    testing::internal::GetCapturedStderr();
  }
}

// What a step reads may come through Funcs of its own.
TEST(TimeTilePeriods, OfFluxes) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u");
    const Func around = repeat_image(u);
    Func flux_x("flux_x"), flux_y("flux_y"), next("next");
    flux_x(x, y) = around(x + 1, y) * abs(around(x, y)) - around(x, y);
    flux_y(x, y) = around(x, y + 1) - around(x, y);
    next(x, y) = u(x, y) + 0.1F * (flux_x(x, y) - flux_x(x - 1, y) + flux_y(x, y) - flux_y(x, y - 1));
    Iteration plain({{u, next}}), tiled({{u, next}});
    expect_one_kernel(plain, tiled, {u}, {}, {{0, 96}, {0, 31}}, 5, {5, 12}, target);
  }
}

// What looks like a period and is none: these have the bits of single steps in whatever way.
TEST(TimeTilePeriods, AreSeenOnlyWhereTheyAre) {
  using Step = std::function<Expr(const ImageParam& u, const ImageParam& c, const Func& around)>;
  const std::vector<Step> steps{
      // Other values at the far side of the box.
      [](const auto& u, const auto&, const Func& a) {
        return select(x > 20, u(x, y), 0.5F * (a(x - 1, y) + a(x, y + 1)));
      },
      // A coefficient beside the point, which goes on beyond the box.
      [](const auto&, const auto& c, const Func& a) { return c(x + 1, y) * a(x - 1, y) + a(x, y - 1); },
      // Another range than the field's.
      [](const ImageParam& u, const auto&, const Func&) {
        return 0.5F * (repeat_image(u, {{2, 30}, {0, 17}})(x - 1, y) + u(x, y));
      },
      // One side as it is, and clamped.
      [](const ImageParam& u, const auto&, const Func& a) {
        return 0.5F * (a(x + 1, y) + BoundaryConditions::repeat_edge(u)(x - 1, y));
      },
      // Turned.
      [](const ImageParam& u, const auto&, const Func& a) { return 0.5F * (a(y, x) + u(x, y)); },
  };
  for (const Target& target : all_targets()) {
    for (const Step& step : steps) {
      const ImageParam u(Float(32), 2, "u"), c(Float(32), 2, "c");
      Func next("next");
      next(x, y) = step(u, c, repeat_image(u));
      if (target.is_gpu()) next.gpu_tile(x, y, 16, 4);
      std::vector<RunInput> others;
      if (&step == &steps[1]) others.emplace_back(c, random_over(Float(32), {{-4, 50}, {-4, 40}}, 9));
      Iteration plain({{u, next}}), tiled({{u, next}});
      testing::internal::CaptureStderr();
      expect_same(plain, tiled, {u}, others, {{0, 33}, {0, 19}}, 3, {3, 4}, target);
      testing::internal::GetCapturedStderr();
    }
  }
}

TEST(TimeTilePeriods, OfAPartOfTheFieldAreComputedStepByStep) {
  const ImageParam u(Float(32), 1, "u");
  const Func around = repeat_image(u);
  Func next("next");
  next(x) = 0.5F * (around(x - 1) + around(x + 1));
  Iteration plain({{u, next}}), tiled({{u, next}});
  plain.over({{2, 30}});
  tiled.over({{2, 30}});
  testing::internal::CaptureStderr();
  expect_same(plain, tiled, {u}, {}, {{0, 40}}, 2, {4}, Target::host());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("dimension 0 the fields repeat"),
            std::string::npos);
}

// Tiles reach around them several times.
TEST(TimeTilePeriods, OfFewPoints) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 2, "u"), v(Float(32), 3, "v");
    const Func around = repeat_image(u), around_v = repeat_image(v);
    Func next("next"), cube("cube");
    next(x, y) = 0.5F * (around(x - 1, y) + around(x + 1, y)) - 0.1F * around(x, y - 2);
    cube(x, y, z) = 0.4F * v(x, y, z) + 0.1F * star(around_v);
    if (target.is_gpu()) cube.gpu_tile(x, y, 32, 3).vectorize(x, 2).unroll(y, 2).march(z, 4);
    Iteration plain({{u, next}}), tiled({{u, next}}), plain_cube({{v, cube}}), tiled_cube({{v, cube}});
    for (const Box& box : {Box{{0, 3}, {0, 6}}, Box{{2, 9}, {0, 5}}, Box{{0, 1}, {0, 1}}}) {
      expect_one_kernel(plain, tiled, {u}, {}, box, 3, {3, 4}, target);
    }
    for (const Box& box : {Box{{0, 1}, {0, 1}, {0, 1}}, Box{{-1, 32}, {0, 2}, {0, 3}}}) {
      expect_one_kernel(plain_cube, tiled_cube, {v}, {}, box, 2, {2}, target);
    }
  }
}

}  // namespace
}  // namespace mica::test
