// Formulas of multigrid on cells, of whatever fields hold them. `mica bench multigrid/` reads them, too.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "schedules/mica.h"

namespace mica::examples {

/// A cell.
using Place = std::array<Expr, 3>;
/// A value a cell.
using Field = std::function<Expr(const Place&)>;

/// h^2 A u of a cell = diagonal u - neighbours, for A as Kernels has it; fields are 0 beyond the walls.
struct Row {
  Expr diagonal, neighbours;
};
/// beta = 1; `last`: the last cell along each side.
Row row_of_ones(const Field& u, const Place& last, const Place& at);
/// beta on the lower faces along x, y and z.
Row row_between(const Field& u, const std::array<Field, 3>& faces, const Place& at);

/// The u that makes the residual of its cell 0: D^-1 (f - A u) + u.
Expr jacobi_of(const Row& row, const Expr& h2, const Expr& f);
/// f - A u.
Expr residual_of(const Row& row, const Expr& per_h2, const Expr& f, const Expr& u);

/// The mean of a field over the 8 cells that cell `at` of the coarser grid covers.
Expr mean_of_cells(const Field& fine, const Place& at);

/// A coarse cell along one dimension, and its weight.
struct Share {
  Expr at, weight;
};
/// Those between which fine cell i of 0 to `last` lies.
using Shares = std::function<std::vector<Share>(const Expr& i, const Expr& last)>;
/// A quarter of a coarse cell from its middle, towards the nearer neighbour. Beside a wall: through 0 on
/// the wall.
std::vector<Share> linear(const Expr& i, const Expr& last);
std::vector<Share> quadratic(const Expr& i, const Expr& last);
/// The coarse field at fine cell `at`: between its cells along x, then y, then z.
Expr between(const Field& coarse, const Place& last, const Place& at, const Shares& shares);

/// A step of a Chebyshev polynomial: u + by_residual D^-1 (f - A u) + by_change (u - before).
struct ChebyshevStep {
  double by_residual = 0, by_change = 0;
};
/// The steps of the polynomial of `degree` that is least on the eigenvalues from `least` to `largest`:
/// x_{k+1} = x_k + r_k r_{k-1} (x_k - x_{k-1}) + 2 r_k / d D^-1 (f - A x_k), where t and d are middle
/// and half of the range, r_0 = d / t and r_k = 1 / (2 t / d - r_{k-1}) (Y. Saad, Iterative Methods for
/// Sparse Linear Systems, 2nd edition (2003), algorithm 12.1).
std::vector<ChebyshevStep> chebyshev_steps(int degree, double least, double largest);

}  // namespace mica::examples
