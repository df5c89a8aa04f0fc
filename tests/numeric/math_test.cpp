// exp, log, sin, cos, tanh and pow: the oracle's functions against the C library's long double
// functions (64 bits of significand), and the compiler's expansion against the oracle, bit for bit.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/passes/math/expand_math.h"
#include "dsl/expr/traverse.h"
#include "fuzz/reference_math.h"
#include "tests/support/expr_value.h"
#include "tests/support/float_bits.h"

namespace mica::test {
namespace {

constexpr double kAllowed = 2.0;  // ulp
constexpr double kWrong = std::numeric_limits<double>::infinity();

template <typename F>
constexpr F kInf = std::numeric_limits<F>::infinity();
template <typename F>
const F kNan = std::numeric_limits<F>::quiet_NaN();

/// |got - want| in units of the last place that `want` has in F; infinite where one is a NaN, or an
/// infinity that the other is not.
template <typename F>
double error_in_ulp(F got, long double want) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : kWrong;
  if (std::isinf(want)) return static_cast<long double>(got) == want ? 0 : kWrong;
  if (static_cast<F>(want) == got) return 0;
  const long double beyond = std::ldexp(1.0L, std::numeric_limits<F>::max_exponent);
  const long double value = std::isinf(got) ? std::copysign(beyond, static_cast<long double>(got))
                                            : static_cast<long double>(got);
  int exponent = 0;
  std::frexp(std::fmin(std::fabs(want), static_cast<long double>(std::numeric_limits<F>::max())),
             &exponent);
  const int unit =
      std::max(exponent, std::numeric_limits<F>::min_exponent) - std::numeric_limits<F>::digits;
  return static_cast<double>(std::fabs(value - want) / std::ldexp(1.0L, unit));
}

template <typename F>
struct Function {
  const char* name;
  UnaryOp op;
  F (*reference)(F);
  long double (*exact)(long double);
};
template <typename F>
std::vector<Function<F>> functions() {
  return {{"exp", UnaryOp::Exp, reference_exp, std::exp},
          {"log", UnaryOp::Log, reference_log, std::log},
          {"sin", UnaryOp::Sin, reference_sin, std::sin},
          {"cos", UnaryOp::Cos, reference_cos, std::cos},
          {"tanh", UnaryOp::Tanh, reference_tanh, std::tanh}};
}

/// Numbers at which formulas change or rounding is hard, with 16 neighbours on each side.
template <typename F>
std::vector<F> special_values() {
  using L = std::numeric_limits<F>;
  std::vector<F> centres = {0,
                            1,
                            2,
                            F(0.5),
                            F(0.25),
                            F(0.5625),
                            10,
                            20,
                            88.722839F,
                            89,
                            -104,
                            -87.336F,
                            F(709.782712893384),
                            710,
                            -746,
                            F(-708.396418532264),
                            F(0.70710678118654752),
                            F(1.41421356237309505),
                            F(0.34657359027997264),
                            L::min(),
                            L::denorm_min(),
                            L::max(),
                            F(9.01),
                            F(19.06),
                            L::epsilon()};
  for (int k = 1; k <= 20; ++k) centres.push_back(F(k * 0.785398163397448309616L));
  for (int e = -126; e < 128; e += 3) centres.push_back(std::ldexp(F(1), e));
  centres.push_back(std::ldexp(F(1), L::max_exponent - 1));
  if constexpr (sizeof(F) == 8) {
    centres.push_back(std::ldexp(6381956970095103.0, 797));  // within 5e-19 of a multiple of pi/2
    for (int e = 130; e < 1024; e += 11) centres.push_back(std::ldexp(1.0, e));
  }
  std::vector<F> values = {kNan<F>, kInf<F>, -kInf<F>, F(0), -F(0)};
  for (const F centre : centres) {
    F up = centre, down = centre;
    for (int i = 0; i < 16; ++i) {
      for (const F v : {up, down}) values.insert(values.end(), {v, -v});
      up = std::nextafter(up, kInf<F>);
      down = std::nextafter(down, -kInf<F>);
    }
  }
  return values;
}

/// Calls `visit` on `count` numbers of both signs; half are spread over all bit patterns, half over
/// magnitudes from 2^-16 to 2^16.
template <typename F>
void for_each_sample(int count, const std::function<void(F)>& visit) {
  using U = BitsOf<F>;
  constexpr int kFraction = std::numeric_limits<F>::digits - 1;
  constexpr int kBias = std::numeric_limits<F>::max_exponent - 1;
  std::mt19937_64 random(20240817);
  for (int i = 0; i < count; ++i) {
    U bits = static_cast<U>(random());
    if (i % 2 != 0) {
      const auto exponent = static_cast<U>(kBias - 16 + static_cast<int>(random() % 32));
      const U keep = (U{1} << kFraction) - 1;
      bits = (bits & (keep | (U{1} << (sizeof(F) * 8 - 1)))) | (exponent << kFraction);
    }
    visit(std::bit_cast<F>(bits));
  }
}

template <typename F>
void expect_accurate(const Function<F>& f,
                     const std::function<void(const std::function<void(F)>&)>& inputs) {
  double worst = 0;
  F at = 0;
  inputs([&](F x) {
    const double error = error_in_ulp(f.reference(x), f.exact(static_cast<long double>(x)));
    if (error > worst) worst = error, at = x;
  });
  EXPECT_LE(worst, kAllowed) << f.name << "(" << std::hexfloat << at << ")";
}

template <typename F>
void expect_accurate_everywhere(int samples) {
  const std::vector<F> special = special_values<F>();
  for (const Function<F>& f : functions<F>()) {
    expect_accurate<F>(f, [&](const std::function<void(F)>& visit) {
      for (const F x : special) visit(x);
      for_each_sample<F>(samples, visit);
    });
  }
}

TEST(MathAccuracy, SinglePrecisionFunctionsAreWithinTwoUlp) {
  expect_accurate_everywhere<float>(1000000);
}
TEST(MathAccuracy, DoublePrecisionFunctionsAreWithinTwoUlp) {
  expect_accurate_everywhere<double>(1000000);
}

// All 2^32 floats; about 10 minutes of a core a function. Run with MICA_EXHAUSTIVE_MATH=1 in the
// environment.
TEST(MathAccuracy, EverySingleIsWithinTwoUlpWhenAskedFor) {
  if (std::getenv("MICA_EXHAUSTIVE_MATH") == nullptr) GTEST_SKIP() << "MICA_EXHAUSTIVE_MATH is not set";
  constexpr std::uint64_t kParts = 1024, kPart = (std::uint64_t{1} << 32) / kParts;
  for (const Function<float>& f : functions<float>()) {
    std::atomic<std::uint64_t> next = 0;
    std::vector<std::future<std::pair<double, float>>> workers;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
      workers.push_back(std::async(std::launch::async, [&] {
        std::pair<double, float> worst{0, 0};
        for (std::uint64_t part = next++; part < kParts; part = next++) {
          for (std::uint64_t bits = part * kPart; bits < (part + 1) * kPart; ++bits) {
            const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
            const double error = error_in_ulp(f.reference(x), f.exact(static_cast<long double>(x)));
            if (error > worst.first) worst = {error, x};
          }
        }
        return worst;
      }));
    }
    std::pair<double, float> worst{0, 0};
    for (auto& worker : workers) worst = std::max(worst, worker.get());
    EXPECT_LE(worst.first, kAllowed) << f.name << "(" << std::hexfloat << worst.second << ")";
    std::printf("%s: at most %.4f ulp, at %a\n", f.name, worst.first, static_cast<double>(worst.second));
  }
}

/// Bases near 1 with exponents that bring the power to every size, and arbitrary pairs.
template <typename F>
void for_each_pair(int count, const std::function<void(F, F)>& visit) {
  std::mt19937_64 random(7);
  const auto range = static_cast<long double>(std::numeric_limits<F>::max_exponent) * 1.1L;
  for (int i = 0; i < count; ++i) {
    const auto any_x = static_cast<BitsOf<F>>(random()), any_y = static_cast<BitsOf<F>>(random());
    F x = std::bit_cast<F>(any_x), y = std::bit_cast<F>(any_y);
    if (i % 4 == 1) y = static_cast<F>(static_cast<int>(random() % 41) - 20);
    if (i % 4 > 1) {
      const int spread = i % 4 == 2 ? 1 : 20;
      x = static_cast<F>(std::exp2((static_cast<double>(random() % 2000001) / 1e6 - 1) * spread));
      const long double log2 = std::log2(static_cast<long double>(x));
      const long double part = static_cast<long double>(random() % 2000001) / 1e6L - 1;
      y = log2 == 0 ? F(3) : static_cast<F>(part * range / log2);
    }
    visit(x, y);
  }
}

template <typename F>
void expect_accurate_pow(int samples) {
  double worst = 0;
  F worst_x = 0, worst_y = 0;
  for_each_pair<F>(samples, [&](F x, F y) {
    const long double exact = std::pow(static_cast<long double>(x), static_cast<long double>(y));
    const double error = error_in_ulp(reference_pow(x, y), exact);
    if (error > worst) worst = error, worst_x = x, worst_y = y;
  });
  EXPECT_LE(worst, kAllowed) << "pow(" << std::hexfloat << worst_x << ", " << worst_y << ")";
}

TEST(MathAccuracy, SinglePrecisionPowIsWithinTwoUlp) { expect_accurate_pow<float>(1000000); }
TEST(MathAccuracy, DoublePrecisionPowIsWithinTwoUlp) { expect_accurate_pow<double>(1000000); }

template <typename F>
void expect_special_powers() {
  const F zero = 0, tiny = std::numeric_limits<F>::denorm_min(), huge = std::numeric_limits<F>::max();
  const std::vector<F> values = {zero,   -zero,   1,       -1,       2,       -2,     3,      -3,
                                 F(0.5), F(-0.5), F(1.5),  F(-1.5),  4,       -4,     tiny,   -tiny,
                                 huge,   -huge,   kInf<F>, -kInf<F>, kNan<F>, F(1e7), F(-1e7)};
  for (const F x : values) {
    for (const F y : values) {
      const F got = reference_pow(x, y);
      const F want = static_cast<F>(std::pow(static_cast<long double>(x), static_cast<long double>(y)));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got)) << x << "^" << y;
      } else {
        EXPECT_LE(error_in_ulp(got, static_cast<long double>(want)), 1) << x << "^" << y;
        EXPECT_EQ(std::signbit(got), std::signbit(want)) << x << "^" << y;
      }
    }
  }
}

TEST(MathSpecialValues, PowersFollowAnnexF) {
  expect_special_powers<float>();
  expect_special_powers<double>();
}

template <typename F>
void expect_special_functions() {
  const F zero = 0;
  EXPECT_EQ(reference_exp(kInf<F>), kInf<F>);
  EXPECT_EQ(reference_exp(-kInf<F>), zero);
  EXPECT_EQ(reference_exp(-zero), F(1));
  EXPECT_EQ(reference_log(zero), -kInf<F>);
  EXPECT_EQ(reference_log(-zero), -kInf<F>);
  EXPECT_EQ(reference_log(kInf<F>), kInf<F>);
  EXPECT_TRUE(std::isnan(reference_log(F(-1))));
  EXPECT_FALSE(std::signbit(reference_log(F(1))));
  for (F (*odd)(F) : {static_cast<F (*)(F)>(reference_sin), static_cast<F (*)(F)>(reference_tanh)}) {
    EXPECT_TRUE(std::signbit(odd(-zero)));
    EXPECT_FALSE(std::signbit(odd(zero)));
    EXPECT_EQ(odd(std::numeric_limits<F>::denorm_min()), std::numeric_limits<F>::denorm_min());
  }
  EXPECT_TRUE(std::isnan(reference_sin(kInf<F>)));
  EXPECT_TRUE(std::isnan(reference_cos(-kInf<F>)));
  EXPECT_EQ(reference_cos(-zero), F(1));
  EXPECT_EQ(reference_tanh(-kInf<F>), F(-1));
}

TEST(MathSpecialValues, FunctionsFollowAnnexF) {
  expect_special_functions<float>();
  expect_special_functions<double>();
}

template <typename F>
BitsOf<F> bits_of(F x) {
  return std::bit_cast<BitsOf<F>>(x);
}

template <typename F>
void expect_expansion_equals_reference(int samples) {
  const Expr x = make_var("x", type_of<F>());
  std::vector<F> inputs = special_values<F>();
  for_each_sample<F>(samples, [&](F v) { inputs.push_back(v); });
  for (const Function<F>& f : functions<F>()) {
    const Expr e = passes::expand_math(make_expr(x.type(), Unary{f.op, x}));
    for (const F v : inputs) {
      const ExprValue got = evaluate(e, {{"x", value_of(v)}});
      ASSERT_EQ(got, value_of(f.reference(v))) << f.name << "(" << std::hexfloat << v << ")";
    }
  }
}

TEST(ExpandMath, SinglePrecisionExpansionsReturnTheReferencesBits) {
  expect_expansion_equals_reference<float>(10000);
}
TEST(ExpandMath, DoublePrecisionExpansionsReturnTheReferencesBits) {
  expect_expansion_equals_reference<double>(5000);
}

template <typename F>
void expect_pow_expansion_equals_reference() {
  const Expr x = make_var("x", type_of<F>()), y = make_var("y", type_of<F>());
  const Expr e = passes::expand_math(make_expr(x.type(), Binary{BinaryOp::Pow, x, y}));
  const auto check = [&](F a, F b) {
    ASSERT_EQ(evaluate(e, {{"x", value_of(a)}, {"y", value_of(b)}}), value_of(reference_pow(a, b)))
        << "pow(" << std::hexfloat << a << ", " << b << ")";
  };
  for_each_pair<F>(4000, check);
  const F tiny = std::numeric_limits<F>::denorm_min();
  const std::vector<F> special = {0,       -F(0), 1,     -1,      2,        -3,     F(0.5),
                                  F(-2.5), tiny,  -tiny, kInf<F>, -kInf<F>, kNan<F>};
  for (const F a : special) {
    for (const F b : special) check(a, b);
  }
}

TEST(ExpandMath, PowExpansionsReturnTheReferencesBits) {
  expect_pow_expansion_equals_reference<float>();
  expect_pow_expansion_equals_reference<double>();
}

TEST(ExpandMath, NestedFunctionsOfOneKindDoNotMixTheirNames) {
  const Expr x = make_var("x", Float(32));
  Expr e = x;
  for (int i = 0; i < 3; ++i) e = make_expr(e.type(), Unary{UnaryOp::Sin, e});
  const float v = 2.5F;
  EXPECT_EQ(evaluate(passes::expand_math(e), {{"x", value_of(v)}}),
            value_of(reference_sin(reference_sin(reference_sin(v)))));
}

TEST(ExpandMath, VectorsAreComputedLaneByLane) {
  const Type lanes = Float(32).with_lanes(4);
  // 0.5, 1.5, 2.5, 3.5
  const Expr ramp = make_expr(Int(32).with_lanes(4), Ramp{make_const(Int(32), std::int64_t{0}),
                                                          make_const(Int(32), std::int64_t{1})});
  const Expr x =
      make_expr(lanes, Binary{BinaryOp::Add, make_expr(lanes, Cast{ramp}), make_const(lanes, 0.5)});
  for (const Function<float>& f : functions<float>()) {
    const Expr e = passes::expand_math(make_expr(lanes, Unary{f.op, x}));
    ASSERT_EQ(e.type(), lanes);
    for (int lane = 0; lane < 4; ++lane) {
      EXPECT_EQ(evaluate(e, {}, lane), value_of(f.reference(static_cast<float>(lane) + 0.5F))) << f.name;
    }
  }
}

TEST(ExpandMath, OtherOperationsAreLeftAsTheyAre) {
  const Expr x = make_var("x", Float(32));
  const Expr e = make_expr(x.type(), Unary{UnaryOp::Sqrt, make_expr(x.type(), Fma{x, x, x})});
  EXPECT_TRUE(passes::expand_math(e).same_as(e));
}

}  // namespace
}  // namespace mica::test
