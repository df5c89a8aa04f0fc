// What is known of integers holds: random expressions of small numbers are simplified, and their ranges
// and intervals are found, for all values that their variables can take.
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/analysis/bounds.h"
#include "codegen/analysis/intervals.h"
#include "codegen/analysis/simplify.h"
#include "codegen/analysis/value_ranges.h"
#include "codegen/ir/stmt.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "runtime/run/evaluate.h"

namespace mica {
namespace {

using Symbols = std::map<std::string, std::int64_t>;

/// "a" and "b" have ranges that are known, "n" none.
constexpr std::int64_t kRange[2][2] = {{0, 7}, {-5, 3}};
constexpr std::int64_t kOfN[] = {-9, -1, 0, 6};

/// An expression drawn at random, of which nothing leaves 32 bits.
class Drawn {
 public:
  explicit Drawn(std::uint64_t seed) : random_(seed) {}

  Expr integer(int depth) {
    if (depth == 0) return leaf();
    const Expr a = integer(depth - 1);
    switch (below(11)) {
      case 0: return a + integer(depth - 1);
      case 1: return a - integer(depth - 1);
      case 2: return a * constant(-4, 4);
      case 3: return a / constant(-8, 8);
      case 4: return a % constant(-8, 8);
      case 5: return min(a, integer(depth - 1));
      case 6: return max(a, integer(depth - 1));
      case 7: return a & constant(-9, 9);
      case 8: return a ^ constant(0, 9);
      case 9: return (a * constant(1, 3) * 4 + integer(depth - 1)) / 4;
      default: return select(condition(depth - 1), a, integer(depth - 1));
    }
  }
  Expr condition(int depth) {
    const Expr a = integer(depth), b = integer(depth);
    switch (below(4)) {
      case 0: return a < b;
      case 1: return a <= b;
      case 2: return a == b;
      default: return a != b;
    }
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  Expr constant(int first, int last) { return {first + below(last - first + 1)}; }
  Expr leaf() {
    switch (below(4)) {
      case 0: return make_var("a");
      case 1: return make_var("b");
      case 2: return make_var("n");
      default: return constant(-6, 6);
    }
  }
  std::mt19937_64 random_;
};

template <typename Visit>
void for_all_values(const Visit& visit) {
  for (std::int64_t a = kRange[0][0]; a <= kRange[0][1]; ++a) {
    for (std::int64_t b = kRange[1][0]; b <= kRange[1][1]; ++b) {
      for (const std::int64_t n : kOfN) visit(Symbols{{"a", a}, {"b", b}, {"n", n}});
    }
  }
}

analysis::Ranges known_ranges() {
  analysis::Ranges ranges;
  ranges.push("a", {kRange[0][0], kRange[0][1]});
  ranges.push("b", {kRange[1][0], kRange[1][1]});
  return ranges;
}

template <typename Check>
void for_drawn(int count, const Check& check) {
  for (int seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    check(Drawn(static_cast<std::uint64_t>(seed)), seed % 3 + 1);
  }
}

// The box of what is read around a point between boundary conditions has two ends of two taps.
TEST(IntegerRules, TapsBetweenTheSameBoundsKeepTheirOrder) {
  const Expr a = make_var("a"), low = make_var("low"), high = make_var("high");
  const auto tap = [&](int offset) { return max(min(a + offset, high), low); };
  const auto simple = [](const Expr& e) { return to_string(passes::simplify(e)); };
  EXPECT_EQ(simple(min(tap(-1), tap(1))), simple(tap(-1)));
  EXPECT_EQ(simple(max(tap(1), tap(-1))), simple(tap(1)));
  EXPECT_EQ(simple(min(min(tap(0), a), tap(-2))), simple(min(a, tap(-2))));
  EXPECT_EQ(simple(min(max(a, low), max(a + 1, high))), to_string(min(max(a, low), max(a + 1, high))));
}

TEST(IntegerRules, WhatIsSimplifiedHasTheSameValues) {
  const analysis::Ranges ranges = known_ranges();
  for_drawn(700, [&](Drawn drawn, int depth) {
    for (const Expr& e : {drawn.integer(depth), drawn.condition(depth)}) {
      for (const Expr& simple : {passes::simplify(e, ranges), passes::simplify_value(e, ranges)}) {
        if (simple.same_as(e)) continue;
        for_all_values([&](const Symbols& at) {
          ASSERT_EQ(evaluate_int(simple, at), evaluate_int(e, at))
              << to_string(e) << " became " << to_string(simple) << " at a = " << at.at("a")
              << ", b = " << at.at("b") << ", n = " << at.at("n");
        });
      }
    }
  });
}

TEST(IntegerRules, EveryValueLiesInItsRange) {
  const analysis::Ranges ranges = known_ranges();
  for_drawn(700, [&](Drawn drawn, int depth) {
    const Expr e = drawn.integer(depth);
    for (const analysis::Ranges::Range& r :
         {analysis::range_of(e, ranges), analysis::range_of(e, ranges, Integers::Wrap),
          analysis::limits_of(e, ranges)}) {
      for_all_values([&](const Symbols& at) {
        const std::int64_t value = evaluate_int(e, at);
        ASSERT_TRUE((!r.min || *r.min <= value) && (!r.max || value <= *r.max))
            << to_string(e) << " is " << value << ", its range " << r.min.value_or(-999) << " to "
            << r.max.value_or(999) << " at a = " << at.at("a") << ", b = " << at.at("b")
            << ", n = " << at.at("n");
      });
    }
  });
}

TEST(IntegerRules, EveryValueLiesInItsInterval) {
  const analysis::Scope scope = {{"a", {Expr(kRange[0][0]), Expr(kRange[0][1])}},
                                 {"b", {Expr(kRange[1][0]), Expr(kRange[1][1])}}};
  for_drawn(700, [&](Drawn drawn, int depth) {
    const Expr e = drawn.integer(depth);
    const analysis::Interval interval = analysis::interval_of(e, scope);
    const auto extent = analysis::constant_extent(interval);
    for_all_values([&](const Symbols& at) {
      const std::int64_t value = evaluate_int(e, at);
      const bool above = !interval.min.defined() || evaluate_int(interval.min, at) <= value;
      const bool below = !interval.max.defined() || value <= evaluate_int(interval.max, at);
      ASSERT_TRUE(above && below) << to_string(e) << " is " << value << ", its interval "
                                  << (interval.min.defined() ? to_string(interval.min) : "open")
                                  << " to "
                                  << (interval.max.defined() ? to_string(interval.max) : "open")
                                  << " at a = " << at.at("a") << ", b = " << at.at("b")
                                  << ", n = " << at.at("n");
      if (!extent) return;
      ASSERT_LE(evaluate_int(interval.max, at) - evaluate_int(interval.min, at) + 1, *extent)
          << to_string(e);
    });
  });
}

TEST(IntegerRules, FlippedBitsTakeAwayAsWellAsAdd) {
  const Expr a = make_var("a"), b = make_var("b");
  const analysis::Interval interval =
      analysis::interval_of(a ^ b, {{"a", {Expr(5), Expr(7)}}, {"b", {Expr(0), Expr(3)}}});
  ASSERT_TRUE(interval.bounded());
  for (int i = 5; i <= 7; ++i) {
    for (int j = 0; j <= 3; ++j) {
      EXPECT_LE(evaluate_int(interval.min, {}), i ^ j);
      EXPECT_GE(evaluate_int(interval.max, {}), i ^ j);
    }
  }
}

TEST(IntegerRules, TheSmallerSideOfAMinimumBoundsAnExtent) {
  const Expr x = make_var("x");
  EXPECT_EQ(analysis::constant_extent({x, min(x + 3, x + 9)}), 4);
  EXPECT_EQ(analysis::constant_extent({x, min(x + 9, x + 3)}), 4);
  EXPECT_EQ(analysis::constant_extent({max(x - 9, x - 3), x}), 4);
}

}  // namespace
}  // namespace mica
