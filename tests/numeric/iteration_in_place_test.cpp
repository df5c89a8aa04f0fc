// Iterations that keep one copy of their fields: the bits are those of steps with two, and the values
// are in the user's memory at the end.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"
#include "tests/support/same_steps.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");

Func around(const ImageParam& u) { return BoundaryConditions::repeat_image(u); }

std::vector<ImageParam> fields(int count, int dimensions, Type type = Float(32)) {
  std::vector<ImageParam> all;
  for (int i = 0; i < count; ++i) all.emplace_back(type, dimensions, "f" + std::to_string(i));
  return all;
}

Iteration steps_of(const std::vector<ImageParam>& u, const Func& next) {
  std::vector<Replacement> all;
  for (std::size_t i = 0; i < u.size(); ++i) all.emplace_back(u[i], next, static_cast<int>(i));
  return Iteration(all);
}

/// Five populations of a plane, that meet in a non-linear function, beside a coefficient of one
/// dimension and the number of the step.
Func plane(const std::vector<ImageParam>& u, const ImageParam& along) {
  const Expr f[] = {u[0](x, y), around(u[1])(x - 1, y), around(u[2])(x + 1, y), around(u[3])(x, y - 2),
                    around(u[4])(x, y + 2)};
  Func mean("mean"), next("next");
  mean(x, y) = (f[0] + f[1] + f[2] + f[3] + f[4]) * 0.2F * along(x) + 0.01F * cast<float>(step());
  std::vector<Expr> values;
  for (const Expr& one : f) values.push_back(one + 0.6F * (mean(x, y) - one) + 0.1F * max(f[1], f[3]));
  next(x, y) = Tuple(values);
  return next;
}

TEST(IterationInPlace, OfAPlane) {
  for (const Target& target : all_targets()) {
    for (const Box& box : {Box{{0, 64}, {0, 12}}, Box{{-3, 61}, {5, 7}}, Box{{2, 1}, {0, 3}}}) {
      for (int schedule = 0; schedule < 2; ++schedule) {
        const auto u = fields(5, 2);
        const ImageParam along(Float(32), 1, "along");
        Func next = plane(u, along);
        if (schedule == 1 && target.is_gpu()) next.gpu_tile(x, y, 8, 4).vectorize(x, 4);
        if (schedule == 1 && !target.is_gpu()) next.vectorize(x, 8).parallel(y);
        Iteration plain = steps_of(u, next), one = steps_of(u, next);
        one.in_place();
        expect_same(plain, one, u, {{along, random_over(Float(32), {box[0]}, 3)}}, box, 1, {1, 2, 5},
                    target);
      }
    }
  }
}

// What the step reads finds it by its name, in the step away and in the one back.
TEST(IterationInPlace, OfAWeightThatIsComputedAtALoopOfTheStep) {
  const auto u = fields(3, 2);
  const ImageParam along(Float(32), 1, "along");
  const Expr f[] = {u[0](x, y), around(u[1])(x, y - 1), around(u[2])(x, y + 1)};
  Func weight("weight"), next("next");
  weight(x, y) = along(x) * cast<float>(y + step());
  next(x, y) = Tuple(f[0] + weight(x, y) * f[1], f[1] - weight(x, y), 0.5F * (f[2] + weight(x, y)));
  weight.compute_at(next, y).vectorize(x, 8);
  Iteration plain = steps_of(u, next), one = steps_of(u, next);
  one.in_place();
  expect_same(plain, one, u, {{along, random_over(Float(32), {{0, 64}}, 3)}}, {{0, 64}, {0, 12}}, 1,
              {1, 2, 5}, Target::host());
}

// Along the dimensions that stream not at all nothing repeats.
TEST(IterationInPlace, OfColumnsInF64) {
  for (const Target& target : all_targets()) {
    const auto u = fields(3, 3, Float(64));
    const Expr f[] = {around(u[0])(x + 1, y, z - 1), around(u[1])(x - 1, y, z + 1), u[2](x, y, z)};
    Func next("next");
    next(x, y, z) = Tuple(f[1] * 0.5 + f[0] * f[2], f[0] - 0.25 * f[2], f[2] + 0.125 * (f[0] - f[1]));
    Iteration plain = steps_of(u, next), one = steps_of(u, next);
    one.in_place();
    expect_same(plain, one, u, {}, {{-1, 20}, {0, 5}, {3, 9}}, 1, {1, 4}, target);
  }
}

// The memory is the user's all along: callbacks see the fields in order, in it.
TEST(IterationInPlace, StaysInTheMemoryThatItIsGiven) {
  for (const Target& target : all_targets()) {
    const auto u = fields(5, 2);
    const ImageParam along(Float(32), 1, "along");
    const Func next = plane(u, along);
    const Box box{{0, 29}, {0, 9}};
    Iteration plain = steps_of(u, next), one = steps_of(u, next);
    one.in_place();
    std::vector<std::vector<AnyBuffer>> seen(2);
    std::vector<RunInput> inputs[2];
    for (int i = 0; i < 2; ++i) {
      inputs[i].emplace_back(along, random_over(Float(32), {box[0]}, 3));
      for (std::size_t f = 0; f < u.size(); ++f)
        inputs[i].emplace_back(u[f], random_over(Float(32), box, f));
      (i == 0 ? plain : one).every(3, [&, i](const RunningIteration& run) {
        for (std::size_t f = 0; f < u.size(); ++f) {
          const AnyBuffer now = run.field(u[f]);
          seen[static_cast<std::size_t>(i)].push_back(now.copy());
          EXPECT_TRUE(i == 0 || now.overlaps(inputs[1][1 + f].buffer)) << f;
        }
      });
    }
    plain.run(inputs[0], 7, {.target = target});
    one.run(inputs[1], 7, {.target = target});
    ASSERT_EQ(seen[0].size(), 10U);
    for (std::size_t k = 0; k < seen[0].size(); ++k) EXPECT_TRUE(same_bits(seen[0][k], seen[1][k])) << k;
    for (std::size_t f = 1; f < inputs[0].size(); ++f) {
      EXPECT_TRUE(same_bits(inputs[0][f].buffer, inputs[1][f].buffer)) << f;
    }
  }
}

TEST(IterationInPlace, SourcesReceiversAndChecks) {
  for (const Target& target : all_targets()) {
    const auto u = fields(5, 2);
    const ImageParam along(Float(32), 1, "along");
    const Func next = plane(u, along);
    const Box box{{0, 16}, {0, 8}};
    const AnyBuffer series = random_over(Float(32), {{0, 1}, {0, 5}}, 9);
    Buffer<float> values[2] = {Buffer<float>(1, 5), Buffer<float>(1, 5)};
    std::vector<RunInput> inputs[2];
    for (int i = 0; i < 2; ++i) {
      Iteration steps = steps_of(u, next);
      if (i == 1) steps.in_place();
      steps.add_at(u[1], {Place{{{4, 4}}}}, series).record(u[2], {Place{{{5, 4}}}}, values[i]);
      inputs[i].emplace_back(along, random_over(Float(32), {box[0]}, 3));
      for (std::size_t f = 0; f < u.size(); ++f)
        inputs[i].emplace_back(u[f], random_over(Float(32), box, f));
      const RDom all({{0, 16}, {0, 8}}, "all");
      const auto result = steps.run_until(inputs[i], sum(all, abs(u[3](all.x, all.y))) < 1e-9F,
                                          {.check_every = 3, .max_steps = 5, .target = target});
      EXPECT_EQ(result.steps, 5);
    }
    EXPECT_TRUE(same_bits(values[0], values[1]));
    for (std::size_t f = 1; f < inputs[0].size(); ++f) {
      EXPECT_TRUE(same_bits(inputs[0][f].buffer, inputs[1][f].buffer)) << f;
    }
  }
}

TEST(IterationInPlace, WhatCannotBe) {
  const auto u = fields(2, 2);
  const auto refused = [&](const Func& next, const std::vector<std::string>& parts, int line) {
    EXPECT_TRUE(fails_with([&] { steps_of(u, next).in_place(CallSite::current()); }, parts, line));
  };
  Func twice("twice"), ends("ends"), alone("alone"), updated("updated"), helper("helper"), fine("fine");
  twice(x, y) = Tuple(around(u[0])(x - 1, y) + u[0](x, y), around(u[1])(x + 1, y));
  ends(x, y) = Tuple(u[0](x - 1, y), around(u[1])(x + 1, y));
  alone(x, y) = Tuple(around(u[0])(x - 1, y), around(u[1])(x + 2, y));
  helper(x, y) = around(u[0])(x, y);
  helper(x, 0) += 1.0F;
  updated(x, y) = Tuple(helper(x - 1, y), around(u[1])(x + 1, y));
  const BoundaryRanges one_box{{u[0].dim(0).min(), u[0].dim(0).extent()}, {}};
  fine(x, y) = Tuple(around(u[0])(x - 1, y), BoundaryConditions::repeat_image(u[1], one_box)(x + 1, y));
  refused(twice, {"f0 is read at (x, y) and at (x - 1, y)", "leave in_place out"}, 0);
  refused(ends, {"f0 is read at (x - 1, y)", "repeat_image"}, 0);
  refused(alone, {"f0 is read at (x - 1, y)", "no field of f32", "(x + 1, y)"}, 0);
  refused(updated, {"helper has updates"}, 0);
  Iteration tiled = steps_of(u, fine), part = steps_of(u, fine), in_place = steps_of(u, fine);
  tiled.time_tile(2);
  EXPECT_TRUE(fails_with([&] { tiled.in_place(); }, {"time_tile", "in_place"}, __LINE__));
  in_place.in_place();
  EXPECT_TRUE(fails_with([&] { in_place.time_tile(2); }, {"one of the two"}, __LINE__));
  part.over({{1, 5}, {0, 4}}).in_place();
  const int line = __LINE__ - 1;
  const AnyBuffer a = random_over(Float(32), {{0, 8}, {0, 4}}, 1), b = a.copy();
  EXPECT_TRUE(fails_with(
      [&] {
        part.run({{u[0], a}, {u[1], b}}, 2, {.target = Target::host()});
      },
      {"in_place computes all points"}, line));
  EXPECT_TRUE(fails_with(
      [&] {
        (void)in_place.prepare({{u[0], a}, {u[1], b}}, {{u[0], a.copy()}, {u[1], b.copy()}});
      },
      {"prepare", "in_place", "use run"}));
}

}  // namespace
}  // namespace mica::test
