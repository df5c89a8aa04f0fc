// Conditions of Iteration::run_until, and runs that share what an Iteration has compiled.
#include <cmath>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "dsl/func/boundary.h"
#include "dsl/func/rdom.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

const Var x("x");

// A condition's Func reads the step, which has no loops there: nothing can stand in them.
TEST(RunUntil, HelpersInTheLoopsOfAStepThatTheConditionReads) {
  const Var y("y");
  const auto steps_of = [&](const std::function<void(Func & edge, Func & inner, Func & next)>&
                                schedule) {
    const ImageParam p(Float(64), 2, "p");
    Func edge = BoundaryConditions::repeat_edge(p), inner("inner"), next("next"), norm("norm");
    inner(x, y) = edge(x - 1, y) + edge(x + 1, y) + edge(x, y - 1);
    next(x, y) = 0.25 * (inner(x, y) + p(x, y));
    const RDom r({{0, p.width()}, {0, p.height()}});
    norm() = maximum(r, abs(next(r.x, r.y) - p(r.x, r.y)));
    schedule(edge, inner, next);
    Buffer<double> a(16, 16);
    a.fill(0);
    a(3, 3) = 1;
    return Iteration({{p, next}}).run_until({{p, a}}, norm() < 1e-4, {.target = Target::host()}).steps;
  };
  const std::int64_t plain = steps_of([](Func&, Func&, Func&) {});
  EXPECT_GT(plain, 10);
  EXPECT_EQ(steps_of([&](Func& edge, Func&, Func& next) { edge.compute_at(next, y); }), plain);
  EXPECT_EQ(steps_of([&](Func& edge, Func& inner, Func& next) {
              inner.compute_at(next, y);
              edge.compute_at(inner, x).store_at(next, y);
              next.compute_root();
            }),
            plain);
}

TEST(RunUntil, ConditionsOfOneIterationAreToldApart) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 1, "u");
    Func next("next"), total("total"), largest("largest");
    next(x) = 0.5F * u(x);
    if (target.is_gpu()) next.gpu_tile(x, 32);
    const RDom r({{0, 8}});
    total() = sum(r, u(r));
    largest() = maximum(r, u(r));
    Iteration halve({{u, next}});
    const auto steps_until = [&](const Expr& condition) {
      Buffer<float> a(8);
      a.fill(1);
      return halve.run_until({{u, a}}, condition, {.check_every = 1, .target = target}).steps;
    };
    // A condition that is written again, one with another number, side or Func, and again the first,
    // with directives of its Func's that it did not have.
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(steps_until(largest() < 0.3F), 2) << to_string(target);
      EXPECT_EQ(steps_until(largest() < 0.1F), 4) << to_string(target);
      EXPECT_EQ(steps_until(total() < 0.3F), 5) << to_string(target);
      EXPECT_EQ(steps_until(0.3F > total()), 5) << to_string(target);
      EXPECT_EQ(steps_until(total() > 0.3F), 0) << to_string(target);
      total.compute_root();
    }
    for (int more = 0; more < 40; ++more) {
      const float limit = 1.5F * std::ldexp(1.0F, -more);
      EXPECT_EQ(steps_until(largest() < limit), more) << to_string(target);
    }
  }
}

TEST(RunUntil, ThreadsShareAnIterationAndItsCondition) {
  const ImageParam u(Float(32), 1, "u");
  Func next("next"), largest("largest");
  next(x) = 0.5F * u(x);
  const RDom r({{0, u.width()}});
  largest() = maximum(r, u(r));
  Iteration halve({{u, next}});
  std::vector<std::int64_t> steps(6);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    threads.emplace_back([&, i] {
      Buffer<float> a(static_cast<std::int64_t>(i) + 1);
      a.fill(std::ldexp(1.0F, static_cast<int>(i)));
      steps[i] =
          halve.run_until({{u, a}}, largest() < 0.75F, {.check_every = 1, .target = Target::host()})
              .steps;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], static_cast<std::int64_t>(i) + 1);
}

TEST(RunUntil, RunsOfOneStepAfterAnotherAreThoseOfOneRun) {
  for (const Target& target : all_targets()) {
    const ImageParam u(Float(32), 1, "u");
    Func next("next");
    next(x) = 0.5F * (u(x - 1) + u(x + 1));  // its result moves to memory of Mica's, and back
    if (target.is_gpu()) next.gpu_tile(x, 32);
    Iteration heat({{u, next}});
    Buffer<float> a(37);
    a.for_each([](float& value, const Coordinates& at) { value = static_cast<float>(at[0] * at[0]); });
    const Buffer<float> b = a.copy();
    for (int n = 0; n < 5; ++n) heat.run({{u, a}}, 1, {.target = target});
    heat.run({{u, b}}, 5, {.target = target});
    EXPECT_TRUE(same_bits(b, a)) << to_string(target);
  }
}

}  // namespace
}  // namespace mica::test
