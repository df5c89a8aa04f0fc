// Every operator of the language, for every type, on every target.
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");
const Box kBox{{-3, 45}, {2, 7}};

/// Three inputs of one type over kBox and the values of them to check.
class Operators : public ::testing::TestWithParam<Type> {
 protected:
  void check(const std::vector<Expr>& values, Contents contents) {
    Func f("f");
    f(x, y) = Tuple(values);
    const auto memory_a = bind_random(a_, kBox, 1, contents);
    const auto memory_b = bind_random(b_, kBox, 2, contents);
    const auto memory_c = bind_random(c_, kBox, 3, contents);
    EXPECT_TRUE(check_all_targets(f, kBox));
  }

  Type type_ = GetParam();
  ImageParam a_{type_, 2, "a"};
  ImageParam b_{type_, 2, "b"};
  ImageParam c_{type_, 2, "c"};
  Expr a = a_(x, y);
  Expr b = b_(x, y);
  Expr c = c_(x, y);
};

class NumberOperators : public Operators {};
class IntegerOperators : public Operators {};
class FloatOperators : public Operators {};

TEST_P(NumberOperators, ArithmeticOfOrdinaryValues) {
  check({a + b, a - b, a * b, a / b, -a, abs(a), a + b * c, strict(a * b + c)}, Contents::Ordinary);
}

TEST_P(NumberOperators, ArithmeticOfSpecialValues) {
  check({a + b, a - b, a * b, a / b, -a, abs(a), a + b * c, strict(a * b + c)}, Contents::Special);
}

TEST_P(NumberOperators, MinimaMaximaAndChoices) {
  const std::vector<Expr> values{min(a, b), max(a, b), clamp(a, min(b, c), max(b, c)),
                                 select(a < b, a, c)};
  check(values, Contents::Ordinary);
  check(values, Contents::Special);
  check(values, Contents::Small);
}

TEST_P(NumberOperators, ComparisonsGiveBool) {
  const std::vector<Expr> values{a == b, a != b, a<b, a <= b, a> b, a >= b};
  check(values, Contents::Ordinary);
  check(values, Contents::Special);
  check(values, Contents::Small);
}

TEST_P(NumberOperators, LogicOfComparisons) {
  check({(a < b) && (b < c), (a < b) || (b < c), !(a < b), (a < b) == (b < c), (a < b) & (b < c),
         (a < b) | (b < c), (a < b) ^ (b < c)},
        Contents::Small);
}

TEST_P(NumberOperators, CastsToEveryOtherType) {
  std::vector<Expr> values;
  for (const Type to : number_types()) values.push_back(cast(to, a));
  values.push_back(cast(Bool(), a));
  check(values, Contents::Ordinary);
  check(values, Contents::Special);
  check(values, Contents::Small);
}

TEST_P(IntegerOperators, DivisionAndRemainder) {
  check({a / b, a % b, (a / b) * b + a % b}, Contents::Small);
  check({a / b, a % b, (a / b) * b + a % b}, Contents::Special);
}

TEST_P(IntegerOperators, DivisionByConstants) {
  std::vector<Expr> values;
  for (const int divisor : {1, 2, 3, 5, 7, 16, 100}) {
    values.push_back(a / divisor);
    values.push_back(a % divisor);
  }
  check(values, Contents::Ordinary);
}

TEST_P(IntegerOperators, Bits) { check({a & b, a | b, a ^ b, ~a, (a & b) ^ ~c}, Contents::Ordinary); }

TEST_P(IntegerOperators, Shifts) {
  const int top = type_.bits - 1;
  check({a << 1, a >> 1, a << top, a >> top, a << b, a >> b}, Contents::Ordinary);
  check({a << b, a >> b}, Contents::Small);
}

TEST_P(FloatOperators, RoundingFunctions) {
  const std::vector<Expr> values{floor(a), ceil(a), round(a), sqrt(abs(a)), sqrt(a)};
  check(values, Contents::Ordinary);
  check(values, Contents::Wide);
  check(values, Contents::Special);
}

TEST_P(FloatOperators, FusedMultiplyAddRoundsOnce) {
  check({fma(a, b, c), fma(-a, b, c), fma(a, b, -c), fma(a, b, -a * b)}, Contents::Wide);
  check({fma(a, b, c)}, Contents::Special);
}

TEST_P(FloatOperators, MathFunctions) {
  check({exp(a), log(abs(a)), sin(a), cos(a), tanh(a), pow(abs(a), b)}, Contents::Wide);
}

TEST_P(FloatOperators, SumsOfProductsInEveryArrangement) {
  check({a * b + b * c + c * a, a * b - b * c, -(a * b) - c, (a + b) * c, (a - b) * (b - c),
         a - (b - (c - a * b)), 2 * (a + 3 * (b - c))},
        Contents::Wide);
}

INSTANTIATE_TEST_SUITE_P(Types, NumberOperators, ::testing::ValuesIn(number_types()), type_name);
INSTANTIATE_TEST_SUITE_P(Types, IntegerOperators, ::testing::ValuesIn(integer_types()), type_name);
INSTANTIATE_TEST_SUITE_P(Types, FloatOperators, ::testing::ValuesIn(float_types()), type_name);

TEST(BoolOperators, OnInputsOfBool) {
  const ImageParam p(Bool(), 2, "p");
  const ImageParam q(Bool(), 2, "q");
  Func f("f");
  f(x, y) =
      Tuple(p(x, y) && q(x, y), p(x, y) || q(x, y), !p(x, y), p(x, y) == q(x, y), p(x, y) != q(x, y),
            select(p(x, y), 1.5F, -2.0F), cast<std::int32_t>(p(x, y)), cast<float>(q(x, y)));
  const auto memory_p = bind_random(p, kBox, 1);
  const auto memory_q = bind_random(q, kBox, 2);
  EXPECT_TRUE(check_all_targets(f, kBox));
}

TEST(Constants, AreTheValuesWritten) {
  Func f("f");
  f(x, y) = Tuple(Expr(1.0F) / 3, cast<double>(x) * 0.1, x + 1000 * y, cast<std::int64_t>(x) << 40,
                  cast<float16>(x) * cast<float16>(0.1F), cast<bfloat16>(y) / 3);
  EXPECT_TRUE(check_all_targets(f, kBox));
}

}  // namespace
}  // namespace mica::test
