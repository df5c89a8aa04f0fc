#include "dsl/func/finite_difference.h"

#include <cmath>

#include <gtest/gtest.h>

#include "dsl/expr/diagnostics.h"

namespace mica {
namespace {

using Weights = std::vector<double>;

TEST(FiniteDifference, CentralWeightsAreTheTextbookFractions) {
  EXPECT_EQ(central_difference_weights(1, 2), (Weights{-0.5, 0, 0.5}));
  EXPECT_EQ(central_difference_weights(2, 2), (Weights{1, -2, 1}));
  EXPECT_EQ(central_difference_weights(1, 4), (Weights{1.0 / 12, -2.0 / 3, 0, 2.0 / 3, -1.0 / 12}));
  EXPECT_EQ(central_difference_weights(2, 4),
            (Weights{-1.0 / 12, 4.0 / 3, -5.0 / 2, 4.0 / 3, -1.0 / 12}));
  EXPECT_EQ(central_difference_weights(1, 8), (Weights{1.0 / 280, -4.0 / 105, 1.0 / 5, -4.0 / 5, 0,
                                                       4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280}));
  EXPECT_EQ(central_difference_weights(2, 8),
            (Weights{-1.0 / 560, 8.0 / 315, -1.0 / 5, 8.0 / 5, -205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315,
                     -1.0 / 560}));
}

TEST(FiniteDifference, StaggeredWeightsAreTheTextbookFractions) {
  EXPECT_EQ(staggered_difference_weights(2), (Weights{-1, 1}));
  EXPECT_EQ(staggered_difference_weights(4), (Weights{1.0 / 24, -9.0 / 8, 9.0 / 8, -1.0 / 24}));
  EXPECT_EQ(staggered_difference_weights(8),
            (Weights{5.0 / 7168, -49.0 / 5120, 245.0 / 3072, -1225.0 / 1024, 1225.0 / 1024,
                     -245.0 / 3072, 49.0 / 5120, -5.0 / 7168}));
}

// sum_i w[i] (points[i])^power, which is the derivative at 0 that the weights give to x^power.
double moment(const Weights& weights, const Weights& points, int power) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) sum += weights[i] * std::pow(points[i], power);
  return sum;
}
double derivative_of_power(int derivative, int power) {
  if (power != derivative) return 0;
  return std::tgamma(derivative + 1);
}

TEST(FiniteDifference, ArbitraryPointsAreExactForPolynomials) {
  const Weights points = {-1.3, -0.2, 0.5, 1.1, 2.0};
  for (int derivative = 0; derivative <= 4; ++derivative) {
    const Weights weights = finite_difference_weights(derivative, points);
    for (int power = 0; power < 5; ++power) {
      EXPECT_NEAR(moment(weights, points, power), derivative_of_power(derivative, power), 1e-12)
          << "derivative " << derivative << " of x^" << power;
    }
  }
}

TEST(FiniteDifference, ThePlaceOfTheDerivativeShiftsThePoints) {
  const Weights shifted = finite_difference_weights(2, {2.5, 3.0, 4.0, 6.0}, 3.0);
  const Weights plain = finite_difference_weights(2, {-0.5, 0.0, 1.0, 3.0}, 0.0);
  EXPECT_EQ(shifted, plain);
}

TEST(FiniteDifference, ArbitraryPointsAgreeWithTheCentralAndStaggeredFormulas) {
  for (const int order : {2, 4, 6, 8, 12}) {
    Weights whole, half;
    for (int i = -order / 2; i <= order / 2; ++i) whole.push_back(i);
    for (int i = 0; i < order; ++i) half.push_back(i + 0.5 - 0.5 * order);
    for (const int derivative : {1, 2}) {
      const Weights general = finite_difference_weights(derivative, whole);
      const Weights central = central_difference_weights(derivative, order);
      for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(general[i], central[i], 1e-12);
    }
    const Weights general = finite_difference_weights(1, half);
    const Weights staggered = staggered_difference_weights(order);
    for (std::size_t i = 0; i < half.size(); ++i) EXPECT_NEAR(general[i], staggered[i], 1e-12);
  }
}

TEST(FiniteDifference, HighestOrdersAreFiniteAndAntisymmetric) {
  for (const Weights& w : {central_difference_weights(1, 64), staggered_difference_weights(64)}) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      EXPECT_TRUE(std::isfinite(w[i]));
      EXPECT_EQ(w[i], -w[w.size() - 1 - i]);
    }
  }
}

TEST(FiniteDifference, MisuseNamesTheNumbersAndTheLegalChoices) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message([] { central_difference_weights(2, 5); }),
            "central difference weights of order 5; the order must be even, from 2 to 64");
  EXPECT_EQ(message([] { central_difference_weights(3, 4); }),
            "central difference weights of derivative 3; it must be 1 or 2 "
            "(finite_difference_weights gives others)");
  EXPECT_EQ(message([] {
              finite_difference_weights(2, {0.0, 1.0});
            }),
            "derivative 2 from 2 points; it needs at least 3");
  EXPECT_THROW(staggered_difference_weights(0), UserError);
  EXPECT_THROW(finite_difference_weights(-1, {0.0}), UserError);
  EXPECT_THROW(finite_difference_weights(1, {0.0, 1.0, 0.0}), UserError);
  EXPECT_THROW(finite_difference_weights(1, {0.0, INFINITY}), UserError);
}

}  // namespace
}  // namespace mica
