// What is wrong with an Iteration or a run of it: said before the first step, at the user's line.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "dsl/func/rdom.h"
#include "fuzz/compare_memory.h"
#include "fuzz/random_data.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");

struct Heat {
  ImageParam u{Float(32), 1, "u"};
  Func next{"next"};
  Heat() { next(x) = 0.5F * (u(x - 1) + u(x + 1)); }
};

Buffer<float> ones(std::int64_t n) {
  Buffer<float> a(n);
  a.fill(1);
  return a;
}

TEST(IterationErrors, PairsThatDoNotFit) {
  const Heat h;
  const ImageParam v(Float(64), 1, "v"), w(Float(32), 2, "w"), other(Float(32), 1, "other");
  Func undefined("undefined"), two("two");
  two(x) = Tuple(h.u(x), h.u(x) + 1.0F);
  EXPECT_FAILS(Iteration(std::vector<Replacement>{}), "one field at least");
  EXPECT_FAILS(Iteration({{h.u, undefined}}), "u after a step holds undefined", "not defined");
  EXPECT_FAILS(Iteration({{v, h.next}}), "v has 1 dimension of f64", "next has 1 dimension of f32");
  EXPECT_FAILS(Iteration({{w, h.next}}), "w has 2 dimensions of f32", "next has 1 dimension");
  EXPECT_FAILS(Iteration({{h.u, h.next}, {h.u, h.next}}), "field u is replaced twice");
  EXPECT_FAILS(Iteration({{h.u, h.next}, {other, h.next}}), "next is to replace both u and other");
  EXPECT_FAILS(Iteration({{h.u, h.next, 1}}), "next has 1 value", "element 1");
  EXPECT_FAILS(Iteration({{h.u, two, 0}}), "element 1 of two replaces no field", "{field, two, 1}");
  EXPECT_FAILS(Iteration({{other, h.next}}), "nothing in the step reads other");
  EXPECT_FAILS(Iteration({{h.u, other}}), "no pair of this Iteration has a Func");
  EXPECT_FAILS(Iteration({{h.u, h.next}, {other, other}}), "other after a step holds what it held",
               "leave this pair out");
}

TEST(IterationErrors, BoxesThatDoNotFit) {
  const Heat h;
  Func stranger("stranger");
  stranger(x) = 1.0F;
  Iteration heat({{h.u, h.next}});
  EXPECT_FAILS(heat.over({{0, 4}, {0, 4}}), "2 ranges", "1 dimension");
  EXPECT_FAILS(heat.over({{0, 0}}), "extent of 0 in dimension 0", "1 or more");
  EXPECT_FAILS(heat.over(stranger, {{0, 4}}), "stranger replaces no field", "next");
  EXPECT_FAILS(heat.run({{h.u, ones(2)}}, 1, {.target = Target::host()}), "no point of the step",
               "dimension 0 of u", "give larger buffers");
  heat.over({{3, 9}});
  EXPECT_THROW(heat.run({{h.u, ones(10)}}, 1, {.target = Target::host()}), UserError);
}

TEST(IterationErrors, FieldsThatAreMissingOrShareMemory) {
  const Heat h;
  const ImageParam before(Float(32), 1, "before"), c(Float(32), 1, "c"), unused(Float(32), 1, "unused");
  const Param<float> p("p", 1.0F);
  Func leap("leap");
  leap(x) = 2.0F * h.u(x) - before(x) + c(x) * (h.u(x - 1) + h.u(x + 1));
  Iteration wave({{before, h.u}, {h.u, leap}});
  const Buffer<float> a = ones(20), b = ones(20), k = ones(20);
  const IterationOptions host{.target = Target::host()};
  EXPECT_FAILS(wave.run({{h.u, a}, {c, k}}, 1, host), "no buffer for field before");
  EXPECT_FAILS(wave.run({{h.u, a}, {before, b}}, 1, host), "input c is not set");
  EXPECT_FAILS(wave.run({{h.u, a}, {before, a}, {c, k}}, 1, host), "before and u share memory");
  EXPECT_FAILS(wave.run({{h.u, a}, {before, ones(21)}, {c, k}}, 1, host), "before holds what u held",
               "[0..19]", "[0..20]");
  EXPECT_FAILS(wave.run({{h.u, a}, {h.u, b}, {before, b}, {c, k}}, 1, host), "field u twice");
  EXPECT_FAILS(wave.run({{h.u, a}, {before, b}, {c, k}, {unused, k}}, 1, host), "input unused",
               "no step reads");
  EXPECT_FAILS(
      wave.run({{h.u, a}, {before, b}, {c, k}}, 1, {.target = Target::host(), .params = {{p, 2.0F}}}),
      "Param p", "no step uses");
}

TEST(IterationErrors, NumbersOfStepsThatMakeNoSense) {
  const Heat h;
  Iteration heat({{h.u, h.next}});
  const Buffer<float> a = ones(20);
  EXPECT_FAILS(heat.run({{h.u, a}}, -1), "-1 steps from step 0");
  EXPECT_FAILS(heat.run({{h.u, a}}, 5, {.target = Target::host(), .first_step = -2}), "from step -2");
  EXPECT_FAILS(heat.run({{h.u, a}}, std::int64_t{1} << 31, {.first_step = 1}), "2^31");
  EXPECT_FAILS(heat.every(0, [](const RunningIteration&) {}), "0 steps", "1 or more");
  EXPECT_FAILS(heat.checkpoint("file", 0), "0 steps");
}

TEST(IterationErrors, SourcesAndReceiversThatDoNotFit) {
  const Heat h;
  Iteration heat({{h.u, h.next}});
  const ImageParam other(Float(32), 1, "other");
  const Buffer<float> series(2, 10);
  EXPECT_FAILS(heat.add_at(other, {{{{3}}}}, series), "other is none of the fields");
  EXPECT_FAILS(heat.add_at(h.u, {}, series), "0 places");
  EXPECT_FAILS(heat.add_at(h.u, {{{{3}}}, {}}, series), "place 1 has no grid point");
  EXPECT_FAILS(heat.add_at(h.u, {{{{3}}}, {{{3, 4}}}}, series), "place 1 has 2 coordinates",
               "u has 1 dimension");
  EXPECT_FAILS(heat.add_at(h.u, {{{{3}}}}, series), "1 x steps", "[0..1] x [0..9]");
  EXPECT_FAILS(heat.record(h.u, {{{{3}}}, {{{4}}}}, Buffer<double>(2, 10)), "f32", "f64");

  Iteration outside = Iteration({{h.u, h.next}});
  outside.add_at(h.u, {{{{3}}}, {{{20}}}}, series);
  EXPECT_THROW(outside.run({{h.u, ones(20)}}, 1, {.target = Target::host()}), UserError);
  Iteration deaf = Iteration({{h.u, h.next}});
  deaf.record(h.u, {{{{3}}}, {{{20}}}}, Buffer<float>(2, 10)).time_tile(2);
  EXPECT_THROW(deaf.run({{h.u, ones(20)}}, 4, {.target = Target::host()}), UserError);
  Iteration beside = Iteration({{h.u, h.next}});
  beside.add_at(h.u, {{{{3}}}, {{{0}}}}, series);
  try {
    beside.run({{h.u, ones(20)}}, 1, {.target = Target::host()});
    FAIL() << "no step computes point 0";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("u at (0), where it keeps its values"), std::string::npos)
        << error.message();
    EXPECT_NE(error.message().find("a step computes [1..18]"), std::string::npos) << error.message();
  }
  Iteration long_run = Iteration({{h.u, h.next}});
  const Buffer<float> values(1, 10);
  long_run.record(h.u, {{{{3}}}}, values);
  try {
    long_run.run({{h.u, ones(20)}}, 11, {.target = Target::host()});
    FAIL() << "eleven steps do not fit ten columns";
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("steps 0 to 10"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("extent of 11"), std::string::npos) << error.message();
  }
}

TEST(IterationErrors, ResidualsThatGrowOrAreLost) {
  const ImageParam u(Float(32), 1, "u");
  Func next("next"), norm("norm");
  next(x) = 3.0F * u(x) + u(x - 1);
  const RDom r({{0, 10}});
  norm() = maximum(r, abs(u(r)));
  Iteration grow({{u, next}});
  const Buffer<float> a = ones(10);
  const UntilOptions options{.check_every = 2, .growth = 100, .target = Target::host()};
  EXPECT_FAILS(grow.run_until({{u, a}}, norm() < 1e-3F, options), "norm", "grows", "after 4 steps", "0");
  EXPECT_EQ(a(1), 121) << "the fields are as after that step";
  // It falls before it grows.
  Func turning("turning");
  turning(x) = select(step() < 4, 0.125F, 8.0F) * u(x) + 0.0F * u(x - 1);
  Iteration turn({{u, turning}});
  EXPECT_FAILS(
      turn.run_until({{u, ones(10)}}, sum(r, abs(u(r)) * select(Expr(r) > 0, 1.0F, 0.0F)) < 1e-9F,
                     {.check_every = 2, .max_steps = 12, .growth = 100, .target = Target::host()}),
      "grows", "at its least, after 4", "after 8 steps");
  Func nan_next("nan_next");
  nan_next(x) = select(step() >= 5, u(x) * NAN, u(x)) + 0.0F * u(x - 1);
  Iteration lose({{u, nan_next}});
  EXPECT_FAILS(lose.run_until({{u, ones(10)}}, norm() < 1e-3F, options), "NaN after 6 steps");
  EXPECT_FAILS(grow.run_until({{u, ones(10)}}, norm(), options), "a comparison of two numbers");
  EXPECT_FAILS(grow.run_until({{u, ones(10)}}, u(x) < 1.0F, options), "Var x");
  EXPECT_FAILS(grow.run_until({{u, ones(10)}}, norm() < 1e-3F, {.check_every = 0}), "check_every is 0");
}

TEST(IterationErrors, SingleStepsAreNoTile) {
  const Heat h;
  Iteration heat({{h.u, h.next}});
  EXPECT_FAILS((void)heat.steps_at_once(Target::host()), "steps_at_once", "time_tile(2)");
}

TEST(IterationErrors, ALimitOfStabilityThatDoesNotHoldIsSaidWithItsNumber) {
  const ImageParam u(Float(32), 1, "u");
  const Param<float> c("c", 0.75F);
  Func next("next");
  next(x) = u(x) + c * (u(x - 1) - 2.0F * u(x) + u(x + 1));
  Iteration heat({{u, next}});
  heat.stable_if(c <= 0.5F);
  testing::internal::CaptureStderr();
  heat.run({{u, ones(10)}}, 1, {.target = Target::host()});
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("iteration_errors_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text.find("0.75"), std::string::npos) << text;
  testing::internal::CaptureStderr();
  heat.run({{u, ones(10)}}, 1, {.target = Target::host(), .params = {{c, 0.25F}}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(IterationErrors, CheckpointsOfOtherProblems) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "run.mica").string();
  const Heat h;
  Iteration heat({{h.u, h.next}});
  heat.checkpoint(file, 1);
  heat.run({{h.u, ones(10)}}, 1, {.target = Target::host()});
  EXPECT_FAILS((void)heat.resume(file, {{h.u, ones(11)}}), "[[0,10]]", "[[0,11]]");
  EXPECT_FAILS((void)heat.resume(file + ".not", {{h.u, ones(10)}}), "cannot be read");
  EXPECT_FAILS((void)heat.resume(file, {}), "no buffer for field u");
  Func other("other");
  other(x) = 0.25F * (h.u(x - 1) + h.u(x + 1));
  EXPECT_FAILS((void)Iteration({{h.u, other}}).resume(file, {{h.u, ones(10)}}), "another algorithm");
  Iteration nowhere({{h.u, h.next}});
  nowhere.checkpoint((folder.path() / "no" / "such" / "folder").string(), 1);
  const Buffer<float> a = ones(10);
  EXPECT_THROW(nowhere.run({{h.u, a}}, 3, {.target = Target::host()}), DeviceError);
}

}  // namespace
}  // namespace mica::test
