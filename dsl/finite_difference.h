// Weights of finite-difference formulas on arbitrary points.
#pragma once

#include <vector>

namespace mica {

/// Weights w with  f^(derivative)(at) ~ sum_i w[i] f(points[i]),  exact for polynomials up to degree
/// points.size() - 1. The recurrence of B. Fornberg, "Generation of finite difference formulas on
/// arbitrarily spaced grids", Mathematics of Computation 51 (1988) 699-706.
/// UserError if derivative < 0, points has fewer than derivative + 1 entries, or two coincide.
std::vector<double> finite_difference_weights(int derivative, const std::vector<double>& points,
                                              double at = 0.0);

/// Central weights for unit spacing: offsets -order/2 ... order/2 (derivative 1 or 2: `order` + 1
/// weights, accurate to h^order). UserError if order is odd or below 2, or derivative not 1 or 2.
std::vector<double> central_difference_weights(int derivative, int order);

/// Staggered first-derivative weights for unit spacing at offsets -order/2+1/2 ... order/2-1/2.
std::vector<double> staggered_difference_weights(int order);

}  // namespace mica
