// Weights of finite-difference formulas on arbitrary points.
#pragma once

#include <vector>

namespace mica {

/// Weights w with  f^(derivative)(at) ~ sum_i w[i] f(points[i]),  exact for polynomials up to degree
/// points.size() - 1. The recurrence of B. Fornberg, "Generation of finite difference formulas on
/// arbitrarily spaced grids", Mathematics of Computation 51 (1988) 699-706.
/// UserError if derivative < 0, points has fewer than derivative + 1 entries, two coincide, or one is
/// not finite.
std::vector<double> finite_difference_weights(int derivative, const std::vector<double>& points,
                                              double at = 0.0);

/// Central weights for unit spacing: offsets -order/2 ... order/2 (derivative 1 or 2: `order` + 1
/// weights, accurate to h^order). Exactly (anti)symmetric; for orders up to 8 each weight is the f64
/// nearest to the rational number it stands for. UserError if order is odd or outside 2..64, or
/// derivative not 1 or 2.
std::vector<double> central_difference_weights(int derivative, int order);

/// Staggered first-derivative weights for unit spacing at offsets -order/2+1/2 ... order/2-1/2;
/// accuracy and errors as above.
std::vector<double> staggered_difference_weights(int order);

}  // namespace mica
