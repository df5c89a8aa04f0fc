#include "examples/multigrid/equation.h"

namespace mica::examples {
namespace {

Place beside(const Place& at, std::size_t d, int step) {
  Place other = at;
  other[d] = at[d] + step;
  return other;
}

}  // namespace

Row row_of_ones(const Field& u, const Place& last, const Place& at) {
  Row row{0.0, 0.0};
  for (std::size_t d = 0; d < 3; ++d) {
    const Expr below = u(beside(at, d, -1)), above = u(beside(at, d, 1));
    row.diagonal = row.diagonal + select(at[d] == 0, 2.0, 1.0) + select(at[d] == last[d], 2.0, 1.0);
    row.neighbours = row.neighbours + below + above;
  }
  return row;
}

Row row_between(const Field& u, const std::array<Field, 3>& faces, const Place& at) {
  Row row{0.0, 0.0};
  for (std::size_t d = 0; d < 3; ++d) {
    const Expr below = u(beside(at, d, -1)), above = u(beside(at, d, 1));
    const Expr lower = faces[d](at), upper = faces[d](beside(at, d, 1));
    row.diagonal = row.diagonal + lower + upper;
    row.neighbours = row.neighbours + lower * below + upper * above;
  }
  return row;
}

Expr jacobi_of(const Row& row, const Expr& h2, const Expr& f) {
  return (h2 * f + row.neighbours) / row.diagonal;
}

Expr residual_of(const Row& row, const Expr& per_h2, const Expr& f, const Expr& u) {
  return f - per_h2 * (row.diagonal * u - row.neighbours);
}

Expr mean_of_cells(const Field& fine, const Place& at) {
  Expr total = 0.0;
  for (int k = 0; k < 8; ++k) {
    total = total + fine({2 * at[0] + k % 2, 2 * at[1] + k / 2 % 2, 2 * at[2] + k / 4});
  }
  return 0.125 * total;
}

std::vector<Share> linear(const Expr& i, const Expr& last) {
  const Expr near = i / 2;
  return {{near, select(i == 0 || i == last, 0.5, 0.75)}, {near + 2 * (i % 2) - 1, 0.25}};
}
std::vector<Share> quadratic(const Expr& i, const Expr& last) {
  const Expr near = i / 2, side = 2 * (i % 2) - 1;
  const Expr at_wall = i == 0 || i == last, next_to_it = i == 1 || i == last - 1;
  // Beyond a wall fields are 0, whatever their weight.
  return {{near, select(at_wall, 5.0 / 8, select(next_to_it, 9.0 / 8, 15.0 / 16))},
          {near + side, select(next_to_it, 1.0 / 8, 5.0 / 32)},
          {near - side, select(at_wall, -1.0 / 24, -3.0 / 32)}};
}

Expr between(const Field& coarse, const Place& last, const Place& at, const Shares& shares) {
  const std::vector<Share> x = shares(at[0], last[0]), y = shares(at[1], last[1]),
                           z = shares(at[2], last[2]);
  Expr value = 0.0;
  for (const Share& c : z) {
    Expr plane = 0.0;
    for (const Share& b : y) {
      Expr row = 0.0;
      for (const Share& a : x) row = row + a.weight * coarse({a.at, b.at, c.at});
      plane = plane + b.weight * row;
    }
    value = value + c.weight * plane;
  }
  return value;
}

std::vector<ChebyshevStep> chebyshev_steps(int degree, double least, double largest) {
  const double middle = (largest + least) / 2, half = (largest - least) / 2;
  double ratio = half / middle;
  std::vector<ChebyshevStep> steps = {{1 / middle, 0}};
  for (int k = 1; k < degree; ++k) {
    const double next = 1 / (2 * middle / half - ratio);
    steps.push_back({2 * next / half, next * ratio});
    ratio = next;
  }
  return steps;
}

}  // namespace mica::examples
