// Integers that leave 32 bits: values wrap under every schedule, and an index that would is refused
// before anything runs.
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/expr/traverse.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();

/// The values of `f` over `box` as the host computes them under the schedule that `f` has.
::testing::AssertionResult matches_everywhere(Func f, const Box& box) {
  const std::vector<Func> outputs{f};
  for (const Target& target : all_targets()) {
    const auto result = matches_oracle(outputs, box, target);
    if (!result) return ::testing::AssertionFailure() << to_string(target) << ": " << result.message();
  }
  return ::testing::AssertionSuccess();
}

using Schedule1d = std::function<void(Func&, const Var&)>;

std::vector<std::pair<std::string, Schedule1d>> schedules() {
  return {{"none", [](Func&, const Var&) {}},
          {"unroll", [](Func& f, const Var& x) { f.unroll(x, 4); }},
          {"bound and unroll", [](Func& f, const Var& x) { f.bound(x, 0, 64).unroll(x, 4); }},
          {"vectorize", [](Func& f, const Var& x) { f.vectorize(x, 8); }},
          {"split", [](Func& f, const Var& x) { f.split(x, Var("xo"), Var("xi"), 16); }},
          {"parallel", [](Func& f, const Var& x) { f.parallel(x, 16); }},
          {"gpu_tile", [](Func& f, const Var& x) { f.gpu_tile(x, 32); }},
          {"gpu_tile and unroll", [](Func& f, const Var& x) { f.gpu_tile(x, 8).unroll(x, 4); }},
          {"gpu_tile and vectorize", [](Func& f, const Var& x) { f.gpu_tile(x, 8).vectorize(x, 4); }}};
}

/// Every schedule of `value` gives the oracle's bits on every target.
void expect_same_under_schedules(const std::function<Expr(const Var&)>& value) {
  for (const auto& [name, apply] : schedules()) {
    const Var x("x");
    Func f("f");
    f(x) = value(x);
    apply(f, x);
    EXPECT_TRUE(matches_everywhere(f, {{0, 64}})) << name;
  }
}

TEST(Overflow, OfALinearCongruentialGeneratorIsTheSameUnderEverySchedule) {
  expect_same_under_schedules([](const Var& x) { return (x * 1103515245 + 12345) % 1000; });
  expect_same_under_schedules([](const Var& x) { return (x * 1103515245 + 12345) / 1000; });
  expect_same_under_schedules([](const Var& x) { return (x * -1103515245 - 12345) % 1024; });
}

TEST(Overflow, OfAParamAndAVarIsTheSameUnderEverySchedule) {
  for (const std::int32_t value : {kMost, kMost - 31, kLeast, kLeast + 5, 0, -1}) {
    Param<std::int32_t> p("p");
    p.set(value);
    expect_same_under_schedules([&](const Var& x) { return (x + p) / 2; });
    expect_same_under_schedules([&](const Var& x) { return (x - p) % 12; });
    expect_same_under_schedules([&](const Var& x) { return select(x + p > p, 1, 0); });
    expect_same_under_schedules([&](const Var& x) { return min(x + p, p + 3) + max(p - x, p - 1); });
    expect_same_under_schedules([&](const Var& x) { return abs(p - x); });
  }
}

TEST(Overflow, OfAComparisonIsTheSameForAParamAndForData) {
  Param<std::int32_t> p("p");
  ImageParam u(Int(32), 1, "u");
  const Var x("x");
  Func of_param("of_param");
  Func of_data("of_data");
  of_param(x) = select(p + 1 > p, 1, 0);
  of_data(x) = select(u(x) + 1 > u(x), 1, 0);
  Buffer<std::int32_t> values(3);
  for (const std::int32_t value : {kMost, kLeast, 7}) {
    p.set(value);
    values.fill(value);
    u.set(values);
    const Buffer<std::int32_t> a = of_param.realize({3});
    const Buffer<std::int32_t> b = of_data.realize({3});
    EXPECT_EQ(a(1), value == kMost ? 0 : 1);
    EXPECT_EQ(b(1), a(1));
    EXPECT_TRUE(matches_everywhere(of_param, {{0, 3}}));
  }
}

TEST(Overflow, Of64BitsWrapsToo) {
  Param<std::int64_t> q("q");
  const Var x("x");
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min(), std::int64_t{5}}) {
    q.set(value);
    Func f("f");
    f(x) = select(q + 1 > q, 1, 0) + cast(Int(32), min(q + x, q) % 1000) +
           cast(Int(32), (q - 4 * x) / 4 % 77);
    f.unroll(x, 4);
    EXPECT_TRUE(matches_everywhere(f, {{0, 9}})) << value;
  }
}

TEST(Overflow, OfDifferencesOf64BitsDecidesNothing) {
  const ImageParam u(Int(64), 1, "u");
  const Var x("x");
  const auto memory = bind_random(u, {{0, 9}}, 5);
  Func f("f");
  f(x) = clamp(clamp(u(x), cast(Int(64), 1), cast(Int(64), 1)), cast(Int(64), -4),
               make_const(Int(64), std::numeric_limits<std::int64_t>::min()));
  EXPECT_TRUE(matches_everywhere(f, {{0, 9}}));
}

TEST(Overflow, OfWhatIsDividedInAnIndexWraps) {
  const ImageParam u(Int(32), 1, "u");
  const Var x("x");
  for (const auto& [name, apply] : schedules()) {
    Func f("f");
    f(x) = u((x * 1103515245 + 12345) % 100);
    apply(f, x);
    const auto memory = bind_random(u, {{0, 100}}, 3);
    EXPECT_TRUE(matches_everywhere(f, {{0, 64}})) << name;
  }
}

// ---- indices ---------------------------------------------------------------------------------------

class Index : public ::testing::Test {
 protected:
  Index() : memory_(bind_random(u_, {{0, 64}}, 1)) {}

  /// u(at(x)) over [0, n) is refused with a message that has `parts`, on every target.
  void expect_refused(const Expr& at, std::int64_t n, const std::vector<std::string>& parts) {
    for (const bool on_gpu : {false, true}) {
      Func f("f");
      f(x_) = u_(at);
      if (on_gpu) f.gpu_tile(x_, 32);
      for (const Target& target : all_targets()) {
        Buffer<std::int32_t> out(static_cast<int>(n));
        EXPECT_TRUE(fails_with([&] { f.realize(out, target); }, parts)) << to_string(at);
      }
    }
  }
  void expect_right(const Expr& at, std::int64_t n) {
    for (const auto& [name, apply] : schedules()) {
      if (name.rfind("bound", 0) == 0) continue;
      Func f("f");
      f(x_) = u_(at);
      apply(f, x_);
      EXPECT_TRUE(matches_everywhere(f, {{0, n}})) << name << ": " << to_string(at);
    }
  }

  ImageParam u_{Int(32), 1, "u"};
  Var x_{"x"};
  Param<std::int32_t> p_{"p"};
  std::shared_ptr<void> memory_;
};

TEST_F(Index, OfANegativeDivisorHasItsSign) {
  p_.set(-5);
  expect_refused(x_ % p_, 20, {"input u starts at 0", "-4"});
  expect_refused(x_ % -4, 20, {"input u starts at 0", "-3"});
  expect_right(x_ % p_ + 4, 20);
  expect_right(3 - x_ % -4, 20);
  p_.set(7);
  expect_right(x_ % p_, 20);
}

TEST_F(Index, OfADivisorOf0Is0) {
  p_.set(0);
  expect_right(x_ % p_, 20);
  expect_right(x_ % p_ + 5, 20);
  const Var y("y");
  Func g("g");
  Func f("f");
  g(y) = y * 2;
  f(x_) = g(x_ % p_) + u_(0);
  g.compute_root();
  EXPECT_TRUE(matches_everywhere(f, {{0, 20}}));
}

TEST_F(Index, ThatLeaves32BitsIsRefused) {
  expect_refused(x_ * 1048576, 4096, {"u ends at 63", "4293918720"});
  expect_refused(x_ + kMost, 64, {"u ends at 63", "2147483710"});
  expect_refused((x_ * 1048576) / 67108864, 4096, {"32 bits", "4293918720"});
  expect_refused(min(x_ * 1048576, 63), 4096, {"32 bits", "4293918720"});
  p_.set(kMost);
  expect_refused((p_ + 1) / 67108864, 4, {"32 bits", "2147483648"});
  expect_right(max(x_ + p_, 0) % 64, 4);
}

TEST_F(Index, ThatLeaves32BitsOnTheWayIsTheIndexItComesTo) {
  // x + (2^31 - 1) + 1 - 2^31 wraps twice.
  expect_right(x_ + kMost + 1 + kLeast, 64);
}

TEST_F(Index, OfAMagnitudeIsRefusedWhereTheLeastIntegerMayBe) {
  const ImageParam at(Int(32), 1, "at");
  const auto memory = bind_random(at, {{0, 64}}, 1);
  expect_refused(min(abs(at(x_)), 63), 8, {"nothing bounds it"});
  p_.set(kLeast);
  expect_refused(abs(p_), 8, {"u ends at 63", "2147483648"});
  expect_right(abs(x_ - 20), 64);
}

TEST_F(Index, OfAnUpdateThatLeavesItsBoxIsRefused) {
  const RDom r{{0, 4}};
  const Var y("y");
  Func f("f");
  f(y) = 0;
  f(r[0] * 1073741824) += 1;
  EXPECT_TRUE(fails_with([&] { f.realize({8}); }, {"f", "r"}));
  Func g("g");
  g(y) = 0;
  g(r[0] % p_) += 1;
  p_.set(-3);
  EXPECT_TRUE(fails_with([&] { g.realize({8}); },
                         {"writes g(r.x % p) at indices -2 to 0", "the output holds 0 to 7"}));
  p_.set(3);
  EXPECT_TRUE(matches_everywhere(g, {{0, 8}}));
  p_.set(0);
  EXPECT_TRUE(matches_everywhere(g, {{0, 8}}));
}

TEST_F(Index, OfAnEmptyPeriodicImageIsRefused) {
  u_.set(Buffer<std::int32_t>(0));
  Func f = BoundaryConditions::repeat_image(u_);
  EXPECT_TRUE(fails_with([&] { f.realize({8}); }, {"u"}));
}

TEST_F(Index, OfAFuncThatLeavesTheCoordinatesIsRefused) {
  const Var y("y");
  for (const bool at_root : {true, false}) {
    Func g("g");
    Func f("f");
    g(y) = y + 1;
    f(x_) = g(x_ * 1048576);
    if (at_root) {
      g.compute_root();
    } else {
      g.compute_at(f, x_);
    }
    EXPECT_TRUE(fails_with([&] { f.realize({4096}); }, {"g would be computed", "42939187"})) << at_root;
  }
}

// ---- loops -----------------------------------------------------------------------------------------

TEST(LoopExtents, BeyondTheLimitOfABufferAreRefused) {
  const Var x("x");
  Func f("f");
  f(x) = cast(UInt(8), x);
  for (const std::int64_t extent : {std::int64_t{kMost}, std::int64_t{1} << 30}) {
    EXPECT_TRUE(fails_with(
        [&] {
          Buffer<std::uint8_t> out(extent);
          f.realize(out);
        },
        {"extent " + std::to_string(extent), "1073741823"}));
  }
}

TEST(LoopExtents, OfAFusedLoopAreRefusedBeyondTheLimit) {
  const Var x("x");
  const Var y("y");
  const Var t("t");
  Func f("f");
  f(x, y) = cast(UInt(8), x + y);
  f.fuse(x, y, t).parallel(t, 65536);
  Buffer<std::uint8_t> out(50000, 50000);
  EXPECT_TRUE(fails_with([&] { f.realize(out); }, {"fused loop t of f", "2500000000", "1073741823"}));
  EXPECT_TRUE(matches_everywhere(f, {{0, 300}, {-4, 300}}));
}

TEST(LoopExtents, OfFactorsBeyondTheLimitAreRefused) {
  const Var x("x");
  const Var y("y");
  const auto refused = [&](const std::function<void(Func&)>& schedule) {
    Func f("f");
    f(x, y) = x + y;
    schedule(f);
    return fails_with([&] { f.realize({24, 24}); }, {"apart by", "268435456"});
  };
  EXPECT_TRUE(refused([&](Func& f) { f.parallel(x, kMost); }));
  EXPECT_TRUE(refused([&](Func& f) { f.split(x, Var("xo"), Var("xi"), kMost); }));
  EXPECT_TRUE(refused([&](Func& f) {
    f.split(x, Var("xo"), Var("xi"), 65536).split(Var("xo"), Var("a"), Var("b"), 65536);
  }));
  EXPECT_TRUE(refused([&](Func& f) { f.gpu_tile(x, 8).march(y, kMost); }));
}

TEST(LoopExtents, OfTheLargestFactorAreRight) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  f(x, y) = x + 3 * y;
  f.split(x, Var("xo"), Var("xi"), 1 << 28);
  EXPECT_TRUE(matches_everywhere(f, {{-3, 24}, {0, 5}}));
  Func g("g");
  g(x, y) = x + 3 * y;
  g.gpu_tile(x, 8).march(y, 1 << 28);
  EXPECT_TRUE(matches_everywhere(g, {{-3, 24}, {0, 5}}));
}

// Found by fuzzing: values that have names, as a recurrence's and a Tuple's do, are no coordinates.
TEST(LoopExtents, ValuesOfPointsAreNone) {
  const Var x("x");
  Func recurrence("recurrence"), pair("pair");
  const Expr wraps = max(x, x - kMost);
  recurrence(x) = select(x % 3 != 0, wraps, recurrence(x - 1));
  pair(x) = Tuple(wraps, min(x, x + kMost) + wraps);
  for (const Func& f : {recurrence, pair}) EXPECT_TRUE(matches_everywhere(f, {{-11, 23}})) << f.name();
}

TEST(LoopExtents, AtTheEndsOfTheCoordinatesAreRight) {
  const ImageParam u(Int(32), 1, "u");
  const Var x("x");
  for (const std::int64_t min : {-(std::int64_t{1} << 28), (std::int64_t{1} << 28) - 70}) {
    const auto memory = bind_random(u, {{min, 70}}, 1);
    for (const auto& [name, apply] : schedules()) {
      if (name.rfind("bound", 0) == 0) continue;
      Func f("f");
      f(x) = BoundaryConditions::mirror_image(u)(x - 9) + BoundaryConditions::repeat_image(u)(x + 5) +
             u(clamp(x * 3, u.dim(0).min(), u.dim(0).max())) + x / 7;
      apply(f, x);
      EXPECT_TRUE(matches_everywhere(f, {{min, 70}})) << name << " from " << min;
    }
  }
}

}  // namespace
}  // namespace mica::test
