// Boxes and indices whose bounds are large expressions: what a launch evaluates of them are values of
// its plan.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/iterate/iteration.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

const Var x("x");

class LargeBounds : public ::testing::Test {
 protected:
  /// The last of a chain of `count` Funcs that read one another at clamped points, all but it at the
  /// root; the first reads u at its own points.
  Func chain(int count) {
    Func f("f");
    f(x) = u_(x);
    for (int i = 1; i < count; ++i) {
      f.compute_root();
      Func next("f");
      next(x) = 0.5F * f(clamp(x - 1, low_, width_ - 1)) - f(clamp(x + 1, 2, Expr(width_)));
      f = next;
    }
    return f;
  }

  /// One compiled program for all values of a Param.
  static void expect_bits_of_runs(const Func& f, Param<std::int32_t>& param,
                                  const std::vector<int>& values) {
    Executable run = compile(f, Target::host_checked());
    for (const int value : values) {
      param.set(value);
      Buffer<float> out(50);
      run.run(out);
      EXPECT_TRUE(same_bits(out, expected_values({f}, {{0, 50}}).front())) << value;
    }
  }

  ImageParam u_{Float(32), 1, "u"};
  Param<std::int32_t> width_{"width", 30}, low_{"low", 1};
};

constexpr int kMany = 60;  // Funcs whose boxes become large several times over

TEST_F(LargeBounds, OfAChainOfFuncsAreRightOnEveryTarget) {
  Func f = chain(kMany);
  const auto memory = bind_random(u_, {{0, 40}}, 1);
  EXPECT_TRUE(check_all_targets(f, {{-3, 37}}));
  EXPECT_TRUE(check_all_targets(f, {{5, 1}}));
}

TEST_F(LargeBounds, FollowTheParamsOfEachRun) {
  Func f = chain(kMany);
  const auto memory = bind_random(u_, {{0, 80}}, 2);
  expect_bits_of_runs(f, width_, {30, 70, 6});
}

TEST_F(LargeBounds, FollowTheParamOfAFuncsEnds) {
  Expr e = low_;
  for (int i = 0; i < 400; ++i) e = max(min(e + i % 3, 2 * low_ + i % 5), low_ - i % 2);
  Func held("held"), f("f");
  held(x) = u_(x) * 2.0F;
  held.compute_root();
  f(x) = held(clamp(x, e, e + 5));
  const auto memory = bind_random(u_, {{0, 80}}, 7);
  expect_bits_of_runs(f, low_, {1, 19, 4});
}

TEST_F(LargeBounds, HoldWhereAFuncIsComputedInsideAnother) {
  Func before = chain(kMany);
  const auto memory = bind_random(u_, {{0, 40}}, 3);
  Func inner("inner"), f("f");
  inner(x) = before(clamp(x, 0, width_ - 3)) * 2.0F;
  f(x) = inner(x) + inner(clamp(x + 1, 0, Expr(width_)));
  before.compute_root();
  Var xo("xo"), xi("xi");
  f.split(x, xo, xi, 8);
  inner.compute_at(f, xo);
  EXPECT_TRUE(matches_oracle({f}, {{0, 37}}, Target::host()));
}

TEST_F(LargeBounds, AreWhatAnInputMustHold) {
  Func f = chain(kMany);
  Buffer<float> in(30), out(37);
  in.fill(0.0F);
  u_.set(in);
  EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); },
                         {"reads u(x) as far as index 30", "input u ends at 29", "short by 1",
                          "Realize onto an interior crop"}));
}

// Every box of the field in turn decides what is read of it.
TEST_F(LargeBounds, OfAStepAreThoseOfPlainRuns) {
  Func f = chain(kMany);
  Buffer<float> a(31), b(31), in(31);
  const auto memory = bind_random(u_, {{0, 31}}, 4);
  for (int i = 0; i < 31; ++i) a(i) = in(i) = static_cast<float>(i % 7) - 3.0F;
  for (int step = 0; step < 3; ++step) {
    u_.set(in);
    f.realize(b);
    for (int i = 0; i < 31; ++i) in(i) = b(i);
  }
  Iteration steps({{u_, f}});
  steps.run({{u_, a}}, 3);
  EXPECT_TRUE(same_bits(a, in));
}

// What a value of the plan stands for does not wrap, and dividends do: too large a box of `held` asks
// for more of u than there is, too small a one is read beyond its end.
TEST_F(LargeBounds, LeaveTheDividendsOfRemaindersToWrap) {
  Expr e = low_ + 7;
  std::uint32_t number = 8;
  for (std::uint32_t i = 0; i < 400; ++i) {
    e = e * e + static_cast<std::int32_t>(i);
    number = number * number + i;
  }
  const int extent = (static_cast<std::int32_t>(number) % 5 + 5) % 5 + 2;
  const RDom r({{0, e % 5 + 2}});
  Func held("held"), f("f");
  held(x) = u_(x) * 2.0F;
  held.compute_root();
  f(x) = sum(r, held(x + r));
  const auto memory = bind_random(u_, {{0, 37 + extent - 1}}, 5);
  EXPECT_TRUE(matches_oracle({f}, {{0, 37}}, Target::host_checked()));
}

// An index that is a graph of intervals whose parts are used again and again.
TEST_F(LargeBounds, OfADeepIndexAreRightOnEveryTarget) {
  Expr e = x;
  for (int i = 0; i < 60; ++i) {
    e = max(min(e + low_, Expr(width_)), min(e - 1, low_ + i % 3));
  }
  for (int i = 0; i < 60; ++i) e = clamp(e / 2 + e % 3, i % 4 - 2, Expr(width_));
  Func f("f");
  f(x) = u_(e);
  const auto memory = bind_random(u_, {{-2, 50}}, 6);
  EXPECT_TRUE(check_all_targets(f, {{-4, 45}}));
}

}  // namespace
}  // namespace mica::test
