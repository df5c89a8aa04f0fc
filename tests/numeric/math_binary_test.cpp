// atan2 and fmod: the oracle's functions against the C library, the compiler's expansion against the
// oracle, bit for bit, and whole programs on every target.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/passes/math/expand_math.h"
#include "fuzz/random_data.h"
#include "fuzz/reference_math.h"
#include "tests/support/check_targets.h"
#include "tests/support/expr_value.h"
#include "tests/support/float_bits.h"

namespace mica::test {
namespace {

/// Pairs of special values, of any bits, and of like size.
template <typename F>
std::vector<std::pair<F, F>> pairs(int count) {
  using L = std::numeric_limits<F>;
  std::vector<F> special = {0,
                            1,
                            2,
                            3,
                            F(0.4375),
                            F(0.6875),
                            F(0.1),
                            10,
                            L::min(),
                            L::denorm_min(),
                            3 * L::denorm_min(),
                            L::max(),
                            L::max() / 2,
                            L::epsilon(),
                            L::infinity()};
  for (std::size_t i = 0, n = special.size(); i < n; ++i) special.push_back(-special[i]);
  special.push_back(L::quiet_NaN());
  std::vector<std::pair<F, F>> all;
  for (const F a : special) {
    for (const F b : special) all.emplace_back(a, b);
  }
  std::mt19937_64 random(7);
  const auto any = [&] { return std::bit_cast<F>(static_cast<BitsOf<F>>(random())); };
  const auto ordinary = [&] {
    return std::ldexp(static_cast<F>(static_cast<std::int64_t>(random())),
                      -66 + static_cast<int>(random() % 8));
  };
  for (int i = 0; i < count; ++i)
    all.emplace_back(any(), any()), all.emplace_back(ordinary(), ordinary());
  return all;
}

/// |got - want| in units of the last place of `want`.
template <typename F>
long double error_in_ulp(F got, long double want) {
  const F rounded = std::fabs(static_cast<F>(want));
  const F unit = std::nextafter(rounded, std::numeric_limits<F>::infinity()) - rounded;
  return std::fabs(static_cast<long double>(got) - want) / static_cast<long double>(unit);
}

template <typename F>
void expect_near_the_c_library() {
  for (const auto& [a, b] : pairs<F>(200000)) {
    const F angle = reference_atan2(a, b);
    const long double exact = std::atan2(static_cast<long double>(a), static_cast<long double>(b));
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(angle));
    } else {
      ASSERT_LE(error_in_ulp(angle, exact), 2) << std::hexfloat << a << ", " << b;
      ASSERT_EQ(std::signbit(angle), std::signbit(exact)) << a << ", " << b;
    }
    ASSERT_TRUE(same_number(reference_fmod(a, b), std::fmod(a, b))) << std::hexfloat << a << ", " << b;
  }
}

TEST(MathOfTwo, SinglePrecisionIsNearTheCLibrary) { expect_near_the_c_library<float>(); }
TEST(MathOfTwo, DoublePrecisionIsNearTheCLibrary) { expect_near_the_c_library<double>(); }

template <typename F>
void expect_expansion_equals_reference(int count) {
  const Expr x = make_var("x", type_of<F>()), y = make_var("y", type_of<F>());
  const Expr angle = passes::expand_math(make_expr(x.type(), Binary{BinaryOp::Atan2, x, y}));
  const Expr rest = passes::expand_math(make_expr(x.type(), Binary{BinaryOp::Fmod, x, y}));
  for (const auto& [a, b] : pairs<F>(count)) {
    ASSERT_EQ(evaluate(angle, {{"x", value_of(a)}, {"y", value_of(b)}}), value_of(reference_atan2(a, b)))
        << "atan2(" << std::hexfloat << a << ", " << b << ")";
    ASSERT_EQ(evaluate(rest, {{"x", value_of(a)}, {"y", value_of(b)}}), value_of(reference_fmod(a, b)))
        << "fmod(" << std::hexfloat << a << ", " << b << ")";
  }
}

TEST(MathOfTwo, ExpansionsReturnTheReferencesBits) {
  expect_expansion_equals_reference<float>(2000);
  expect_expansion_equals_reference<double>(1000);
}

class MathOfTwoOnTargets : public ::testing::TestWithParam<Type> {};

TEST_P(MathOfTwoOnTargets, GivesTheOraclesBits) {
  const Type type = GetParam();
  const Box box{{-3, 45}, {2, 7}};
  const Var x("x"), y("y");
  const ImageParam a(type, 2, "a"), b(type, 2, "b");
  Func f("f");
  f(x, y) = Tuple(atan2(a(x, y), b(x, y)), fmod(a(x, y), b(x, y)), atan2(a(x, y), 2),
                  fmod(a(x, y), 3) + fmod(fmod(a(x, y), 5), b(x, y)));
  for (const Contents contents : {Contents::Ordinary, Contents::Special, Contents::Small}) {
    const auto memory_a = bind_random(a, box, 1, contents);
    const auto memory_b = bind_random(b, box, 2, contents);
    EXPECT_TRUE(check_all_targets(f, box));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MathOfTwoOnTargets,
                         ::testing::Values(Float(16), BFloat(), Float(32), Float(64), Int(32)),
                         [](const auto& test) { return to_string(test.param); });

TEST(MathOfTwo, VectorsOnTheHostGiveTheSameBits) {
  const Box box{{0, 64}, {0, 4}};
  const Var x("x"), y("y");
  const ImageParam a(Float(32), 2, "a"), b(Float(32), 2, "b");
  Func f("f");
  f(x, y) = atan2(a(x, y), b(x, y)) + fmod(a(x, y), b(x, y));
  const auto memory_a = bind_random(a, box, 3);
  const auto memory_b = bind_random(b, box, 4);
  const auto expected = expected_values({f}, box);
  f.vectorize(x, 8);
  EXPECT_TRUE(run_matches(expected, {f}, box, Target::host()));
}

}  // namespace
}  // namespace mica::test
