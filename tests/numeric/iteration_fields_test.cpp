// What the fields of an Iteration and those who look at them hold: rows whose elements lie apart, runs
// that go on, fields that share memory.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/temporary_folder.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

TEST(Iteration, ACheckpointHoldsRowsWhoseElementsLieApart) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "run.mica").string();
  const ImageParam u(Float(32), 2, "u");
  Func next("next");
  next(x, y) = u(x, y) + 0.25F * u(x - 1, y);
  Iteration drift({{u, next}});
  drift.checkpoint(file, 5);
  const std::vector<BufferDim> dims{{0, 7, 3}, {0, 5, 24}};
  Buffer<float> a(dims), b(dims);
  fill_random(a, 1);
  drift.run({{u, a}}, 5, {.target = Target::host()});
  fill_random(b, 2);
  EXPECT_EQ(drift.resume(file, {{u, b}}), 5);
  EXPECT_TRUE(same_bits(a, b));
}

TEST(Iteration, CallbacksCountTheStepsBeforeAResumedRun) {
  const ImageParam u(Float(32), 1, "u");
  Func next("next");
  next(x) = u(x) + 0.25F * u(x - 1);
  Iteration drift({{u, next}});
  std::vector<std::int64_t> seen;
  drift.every(4, [&](const RunningIteration& now) { seen.push_back(now.steps_done()); });
  Buffer<float> a(9);
  fill_random(a, 1);
  drift.run({{u, a}}, 10, {.target = Target::host(), .first_step = 2});
  EXPECT_EQ(seen, (std::vector<std::int64_t>{4, 8, 12}));
}

// What u lacks beside its last point both of its readers must do without, and no one else.
TEST(Iteration, SeveralFuncsThatReadOneFieldBesideThePoint) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(64), 1, "u"), v(Float(64), 1, "v"), w(Float(64), 1, "w");
    Func a("a"), b("b"), c("c");
    a(x) = u(x) + u(x + 1);
    b(x) = v(x) + a(x - 1) + u(x + 1);
    c(x) = w(x) + 1.0;
    Buffer<double> of_u(9), of_v(9), of_w(9);
    for (Buffer<double>* field : {&of_u, &of_v, &of_w}) field->fill(1);
    Iteration({{u, a}, {v, b}, {w, c}}).run({{u, of_u}, {v, of_v}, {w, of_w}}, 1, {.target = target});
    for (int i = 0; i < 9; ++i) {
      EXPECT_EQ(of_u(i), i < 8 ? 2 : 1) << i << " on " << to_string(target);
      EXPECT_EQ(of_v(i), i > 0 && i < 8 ? 4 : 1) << i << " on " << to_string(target);
      EXPECT_EQ(of_w(i), 2) << i << " on " << to_string(target);
    }
  }
}
TEST(Iteration, SeveralFuncsThatReadOneFuncOfTheStepBesideThePoint) {
  const ImageParam u(Float(64), 2, "u"), v(Float(64), 2, "v"), w(Float(64), 2, "w");
  Func a("a"), b("b"), c("c");
  a(x, y) = u(x + 1, y);
  b(x, y) = v(x, y) + a(x - 1, y + 1);
  c(x, y) = w(x, y) + 2.0 * a(x - 1, y + 1);
  Buffer<double> of_u(9, 7), of_v(9, 7), of_w(9, 7);
  for (Buffer<double>* field : {&of_u, &of_v, &of_w}) field->fill(1);
  Iteration({{u, a}, {v, b}, {w, c}})
      .run({{u, of_u}, {v, of_v}, {w, of_w}}, 1, {.target = Target::host()});
  for (int j = 0; j < 7; ++j) {
    for (int i = 0; i < 9; ++i) {
      const bool inside = i > 0 && j < 6;
      EXPECT_EQ(of_v(i, j), inside ? 2 : 1) << i << ", " << j;
      EXPECT_EQ(of_w(i, j), inside ? 3 : 1) << i << ", " << j;
    }
  }
}

// The new values of u may take v's memory; but what v holds beside the stepped box is there alone.
TEST(Iteration, WhatLiesBesideTheBoxStaysWhereAnotherFieldCouldTakeThePlace) {
  const ImageParam u(Float(32), 1, "u"), v(Float(32), 1, "v");
  Func next("next");
  next(x) = Tuple(0.5F * v(x) + u(x + 1), u(x + 1) - u(x));
  Iteration steps({{u, next, 0}, {v, next, 1}});
  steps.over({{0, 3}});
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Buffer<float> a(5), b(5);
    std::vector<float> was_a, was_b;
    for (int i = 0; i < 5; ++i) {
      was_a.push_back(a(i) = static_cast<float>(i * i));
      was_b.push_back(b(i) = static_cast<float>(100 + i));
    }
    steps.run({{u, a}, {v, b}}, 3, {.target = target});
    for (int n = 0; n < 3; ++n) {
      for (std::size_t i = 0; i < 3; ++i) {
        const float b_now = was_b[i];
        was_b[i] = was_a[i + 1] - was_a[i];
        was_a[i] = 0.5F * b_now + was_a[i + 1];  // the next point is of the step before
      }
    }
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(a(i), was_a[static_cast<std::size_t>(i)]) << i;
      EXPECT_EQ(b(i), was_b[static_cast<std::size_t>(i)]) << i;
    }
  }
}

// A wave's two levels of time: what the older one holds beside the box is in nobody's way.
TEST(Iteration, TheNewLevelOfAWaveTakesTheOlderOnesPlace) {
  iterate::BoxCopier copier(Target::host());
  const std::vector<iterate::FieldRule> rules{{.field = 1},
                                              {.output = 0, .box = {{1, 3}}, .may_overwrite = {0}}};
  iterate::FieldBuffers fields({AnyBuffer(Float(32), {5}), AnyBuffer(Float(32), {5})}, rules, copier);
  fields.prepare(rules);
  EXPECT_EQ(fields.next_places(), (iterate::FieldBuffers::Places{1, 0}));
  const std::vector<iterate::FieldRule> coupled{{.output = 0, .box = {{1, 3}}, .may_overwrite = {1}},
                                                {.output = 1, .box = {{1, 3}}, .may_overwrite = {0}}};
  iterate::FieldBuffers both({AnyBuffer(Float(32), {5}), AnyBuffer(Float(32), {5})}, coupled, copier);
  both.prepare(coupled);
  EXPECT_EQ(both.next_places(), (iterate::FieldBuffers::Places{2, 3})) << "each has its own outside";
}

// Where every point of u is computed, u has no use for what v's memory holds beside v's box: v has.
TEST(Iteration, AFieldThatIsComputedWholeLeavesWhatLiesBesideAnothersBox) {
  const ImageParam u(Float(32), 1, "u"), v(Float(32), 1, "v");
  Func grown("grown"), shrunk("shrunk");
  grown(x) = v(x) * u(x);
  shrunk(x) = 0.5F;  // reads nothing: v's memory may be u's
  Iteration steps({{u, grown}, {v, shrunk}});
  steps.over(grown, {{0, 5}}).over(shrunk, {{4, 1}});
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Buffer<float> a(5), b(5);
    std::vector<float> was_a, was_b;
    for (int i = 0; i < 5; ++i) {
      was_a.push_back(a(i) = static_cast<float>(i + 1));
      was_b.push_back(b(i) = static_cast<float>(i + 2));
    }
    steps.run({{u, a}, {v, b}}, 6, {.target = target});
    for (int n = 0; n < 6; ++n) {
      for (std::size_t i = 0; i < 5; ++i) was_a[i] *= was_b[i];
      was_b[4] = 0.5F;
    }
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(a(i), was_a[static_cast<std::size_t>(i)]) << i;
      EXPECT_EQ(b(i), was_b[static_cast<std::size_t>(i)]) << i;
    }
  }
}

// Nor does it take v's memory in place, step by step, so that v's would have to be filled in each time.
TEST(Iteration, MemoryIsFilledInOnceBesideAFieldThatIsComputedWhole) {
  iterate::BoxCopier copier(Target::host());
  const std::vector<iterate::FieldRule> rules{{.output = 0, .box = {{0, 5}}, .may_overwrite = {1, 0}},
                                              {.output = 1, .box = {{4, 1}}}};
  iterate::FieldBuffers fields({AnyBuffer(Float(32), {5}), AnyBuffer(Float(32), {5})}, rules, copier);
  for (int n = 0; n < 6; ++n) {
    const bool filled = fields.prepare(rules);
    EXPECT_TRUE(n < 2 || !filled) << n;
    fields.advance();
  }
}

// Memory that v leaves may be u's; then v does not take it for one that holds v's points beside its box.
TEST(Iteration, MemoryThatAnotherFieldUsedIsFilledInAgain) {
  iterate::BoxCopier copier(Target::host());
  std::vector<iterate::FieldRule> rules{{.output = 0, .box = {{0, 5}}, .stays = true},
                                        {.output = 1, .box = {{4, 1}}}};
  Buffer<float> u(5), v(5);
  u.fill(3);
  v.fill(2);
  iterate::FieldBuffers fields({u, v}, rules, copier);
  for (int n = 0; n < 8; ++n) {
    fields.prepare(rules);
    Buffer<float>(fields.output(0)).fill(3);
    fields.advance();
    EXPECT_EQ(Buffer<float>(fields.current(1))(0), 2) << n;
    rules[0].stays = false;
  }
}

// After a step both hold the same memory: a step that may write over one of them reads the other beside
// its point.
TEST(Iteration, TwoFieldsThatTakeTheValuesOfOneAreNotWrittenOver) {
  const ImageParam a(Float(32), 1, "a"), b(Float(32), 1, "b"), c(Float(32), 1, "c");
  Func next("next");
  next(x) = 0.5F * a(x) + 0.25F * b(x - 1) + c(x);
  Iteration chain({{a, c}, {b, c}, {c, next}});
  constexpr int kPoints = 9, kSteps = 6;
  std::vector<float> was[3];
  Buffer<float> buffers[3] = {Buffer<float>(kPoints), Buffer<float>(kPoints), Buffer<float>(kPoints)};
  for (std::size_t f = 0; f < 3; ++f) {
    for (int i = 0; i < kPoints; ++i) {
      was[f].push_back(static_cast<float>(i * (static_cast<int>(f) + 1)));
      buffers[f](i) = was[f].back();
    }
  }
  for (int n = 0; n < kSteps; ++n) {
    std::vector<float> made = was[2];
    for (std::size_t i = 1; i < made.size(); ++i) {
      made[i] = 0.5F * was[0][i] + 0.25F * was[1][i - 1] + was[2][i];
    }
    was[0] = was[1] = was[2];
    was[2] = made;
  }
  chain.run({{a, buffers[0]}, {b, buffers[1]}, {c, buffers[2]}}, kSteps, {.target = Target::host()});
  for (std::size_t f = 0; f < 3; ++f) {
    for (int i = 0; i < kPoints; ++i) {
      EXPECT_FLOAT_EQ(buffers[f](i), was[f][static_cast<std::size_t>(i)]) << f << " " << i;
    }
  }
}

}  // namespace
}  // namespace mica::test
