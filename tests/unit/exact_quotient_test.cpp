// Quotients by constants from two multiplications, beside divisions.
#include "codegen/passes/math/exact_quotient.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/float_bits.h"

namespace mica::passes {
namespace {

using test::same_number;

template <typename Float>
Float quotient(Float x, const Reciprocal<Float>& by) {
  return std::fma(x, by.high, x * by.low);
}

// Every significand, in one binade: others differ by a power of two, down to `least`.
TEST(ExactQuotient, EveryFloatDividedByAConstantIsRoundedRightly) {
  for (const float c : {3.0F, 6.0F, -7.0F, 12.0F, 0.1F, 0.7F, 1.2F, 0.01F, 180.0F, 0x1.fffffep0F}) {
    const auto by = exact_reciprocal(c);
    ASSERT_TRUE(by) << c;
    for (std::uint32_t significand = 0; significand < 1U << 23; ++significand) {
      const float x = std::bit_cast<float>(0x3f800000U | significand);
      if (!same_number(quotient(x, *by), x / c))
        FAIL() << x << " / " << c << " became " << quotient(x, *by);
    }
  }
}

TEST(ExactQuotient, SpecialAndExtremeNumbersAreDividedRightly) {
  using Limits = std::numeric_limits<float>;
  for (const float c : {3.0F, -3.0F, 0.1F, -0.1F, 1e6F, 1e-6F, 1e-20F}) {
    const auto by = exact_reciprocal(c);
    ASSERT_TRUE(by) << c;
    for (const float x : {0.0F, -0.0F, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                          Limits::max(), -Limits::max(), by->least, -by->least}) {
      EXPECT_TRUE(same_number(quotient(x, *by), x / c))
          << x << " / " << c << " became " << quotient(x, *by);
    }
    // All sizes from `least` on, with overflow at the end.
    for (float x = by->least * 0x1.8p0F; std::isfinite(x); x *= 1.37F) {
      EXPECT_TRUE(same_number(quotient(x, *by), x / c))
          << x << " / " << c << " became " << quotient(x, *by);
    }
  }
}

TEST(ExactQuotient, DoublesAreDividedRightly) {
  std::mt19937_64 random(1);
  int divided = 0;
  for (int i = 0; i < 4000; ++i) {
    // Of few bits and of all.
    const double few = static_cast<double>(random() % 2000 + 1);
    const double c = std::ldexp(i % 2 == 0 ? few : 1.0 + static_cast<double>(random() >> 12) * 0x1p-52,
                                static_cast<int>(random() % 60) - 30);
    const auto by = exact_reciprocal(c);
    if (!by) continue;
    ++divided;
    for (int k = 0; k < 200; ++k) {
      // Half of them numerators whose quotients are nearly halfway between two numbers.
      double x = 1.0 + static_cast<double>(random() >> 12) * 0x1p-52;
      if (k % 2 == 0) x = std::fma(x, c, x * c * 0x1p-53);
      if (!same_number(quotient(x, *by), x / c))
        FAIL() << x << " / " << c << " became " << quotient(x, *by);
    }
  }
  EXPECT_GT(divided, 3000);
}

// Of 0.463 each of the three lows rounds some quotient wrongly. Powers of two are multiplied by, and
// what is too large has no reciprocal of all its bits.
TEST(ExactQuotient, SomeConstantsHaveNone) {
  for (const float c :
       {0.463F, 1.0F, 0.25F, -8.0F, 0.0F, 1e20F, 1e-40F, 3e38F, std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_FALSE(exact_reciprocal(c)) << c;
  }
  EXPECT_FALSE(exact_reciprocal(0.5));
  EXPECT_TRUE(exact_reciprocal(0.1));
}

}  // namespace
}  // namespace mica::passes
