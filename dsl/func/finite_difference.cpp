#include "dsl/func/finite_difference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "dsl/expr/diagnostics.h"
#include "dsl/expr/float_mode.h"
#include "dsl/expr/names.h"

namespace mica {
namespace {

constexpr int kHighestOrder = 64;

void check_order(const char* what, int order) {
  if (order >= 2 && order <= kHighestOrder && order % 2 == 0) return;
  throw UserError(std::string(what) + " of order " + std::to_string(order) +
                  "; the order must be even, from 2 to " + std::to_string(kHighestOrder));
}

// (m!)^2 / ((m-k)! (m+k)!), numerator and denominator apart: both are exact integers for orders in
// use, so that one division rounds the weight once.
struct Fraction {
  double numerator = 1;
  double denominator = 1;
};
Fraction binomial_ratio(int m, int k) {
  Fraction r;
  for (int j = 1; j <= k; ++j) {
    r.numerator *= m - k + j;
    r.denominator *= m + j;
  }
  return r;
}

void check_points(int derivative, const std::vector<double>& points, double at) {
  if (derivative < 0) {
    throw UserError("derivative " + std::to_string(derivative) +
                    " of a finite-difference formula; it must be 0 or more");
  }
  if (points.size() < static_cast<std::size_t>(derivative) + 1) {
    throw UserError("derivative " + std::to_string(derivative) + " from " +
                    counted(points.size(), "point") + "; it needs at least " +
                    std::to_string(derivative + 1));
  }
  std::vector<double> sorted = points;
  std::sort(sorted.begin(), sorted.end());
  const bool finite =
      std::all_of(points.begin(), points.end(), [](double p) { return std::isfinite(p); });
  if (!finite || !std::isfinite(at)) {
    throw UserError("the points of a finite-difference formula must be finite numbers");
  }
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end());
  if (twin != sorted.end()) {
    throw UserError("two points of a finite-difference formula are at " + std::to_string(*twin) +
                    "; give each point once");
  }
}

}  // namespace

std::vector<double> finite_difference_weights(int derivative, const std::vector<double>& points,
                                              double at) {
  const DefaultFloatMode mode;
  check_points(derivative, points, at);
  const std::size_t count = points.size();
  const auto highest = static_cast<std::size_t>(derivative);
  // weight[d][j] is point j's weight in the formula for derivative d on the points taken so far.
  std::vector<std::vector<double>> weight(highest + 1, std::vector<double>(count, 0.0));
  weight[0][0] = 1.0;
  double previous_product = 1.0;
  for (std::size_t n = 1; n < count; ++n) {
    const double offset = points[n] - at;
    const double previous_offset = points[n - 1] - at;
    const std::size_t top = std::min(n, highest);
    double product = 1.0;
    for (std::size_t j = 0; j < n; ++j) {
      const double gap = points[n] - points[j];
      product *= gap;
      if (j + 1 == n) {
        // The new point's weights come from those of its predecessor, before they are updated.
        for (std::size_t d = top + 1; d-- > 0;) {
          const double lower = d > 0 ? static_cast<double>(d) * weight[d - 1][j] : 0.0;
          weight[d][n] = previous_product / product * (lower - previous_offset * weight[d][j]);
        }
      }
      for (std::size_t d = top + 1; d-- > 0;) {
        const double lower = d > 0 ? static_cast<double>(d) * weight[d - 1][j] : 0.0;
        weight[d][j] = (offset * weight[d][j] - lower) / gap;
      }
    }
    previous_product = product;
  }
  return weight[highest];
}

std::vector<double> central_difference_weights(int derivative, int order) {
  const DefaultFloatMode mode;
  check_order("central difference weights", order);
  if (derivative != 1 && derivative != 2) {
    throw UserError("central difference weights of derivative " + std::to_string(derivative) +
                    "; it must be 1 or 2 (finite_difference_weights gives others)");
  }
  // At distance k: -(-1)^k r/k for the first derivative, -(-1)^k 2r/k^2 for the second, where r is the
  // ratio above; the middle weight of the second is -2 (1 + 1/4 + ... + 1/m^2). Both follow from the
  // derivatives of the Lagrange polynomials of the points -m ... m at 0.
  const int m = order / 2;
  std::vector<double> weights(static_cast<std::size_t>(order) + 1, 0.0);
  double squares_numerator = 0;
  double squares_denominator = 1;
  for (int k = m; k >= 1; --k) {
    const Fraction r = binomial_ratio(m, k);
    const double sign = k % 2 == 1 ? 1.0 : -1.0;
    const double weight = derivative == 1 ? sign * r.numerator / (r.denominator * k)
                                          : sign * 2 * r.numerator / (r.denominator * k * k);
    weights[static_cast<std::size_t>(m + k)] = weight;
    weights[static_cast<std::size_t>(m - k)] = derivative == 1 ? -weight : weight;
    squares_numerator = squares_numerator * k * k + squares_denominator;
    squares_denominator *= static_cast<double>(k) * k;
  }
  if (derivative == 2) {
    weights[static_cast<std::size_t>(m)] = -2 * squares_numerator / squares_denominator;
  }
  return weights;
}

std::vector<double> staggered_difference_weights(int order) {
  const DefaultFloatMode mode;
  check_order("staggered difference weights", order);
  // At distance k - 1/2: -(-1)^k ((2m-1)!!)^2 / (2^(2m-2) (2k-1)^2 (m-k)! (m+k-1)!).
  const int m = order / 2;
  std::vector<double> weights(static_cast<std::size_t>(order), 0.0);
  for (int k = 1; k <= m; ++k) {
    // ((2m-1)!!)^2 = (2m-1) times (2i-1)(2i+1) for i = 1 ... m-1.
    double numerator = 2 * m - 1;
    double denominator = (2.0 * k - 1) * (2.0 * k - 1);
    for (int i = 1; i < m; ++i) {
      numerator *= (2.0 * i - 1) * (2.0 * i + 1);
      denominator *= 4;
    }
    for (int i = 2; i <= m - k; ++i) denominator *= i;
    for (int i = 2; i <= m + k - 1; ++i) denominator *= i;
    const double weight = (k % 2 == 1 ? 1.0 : -1.0) * numerator / denominator;
    weights[static_cast<std::size_t>(m + k - 1)] = weight;
    weights[static_cast<std::size_t>(m - k)] = -weight;
  }
  return weights;
}

}  // namespace mica
