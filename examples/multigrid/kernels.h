// What multigrid does on one grid, or between two: each a compiled Func.
#pragma once

#include <cstdint>

#include "examples/multigrid/problem.h"

namespace mica::examples {

enum class Smoother : std::uint8_t { Chebyshev, RedBlack };

/// -div(beta grad u) on cells of side h: with the fluxes through its faces, the sum over a cell's six
/// faces of beta (u - neighbour) / h^2. Beyond a wall lies -u, so that u is 0 on it: the flux there is
/// 2 beta u / h. That is what fields that are 0 beyond the walls give with twice the beta on them.
class Kernels {
 public:
  Kernels(Coefficient coefficient, Smoother smoother, const Target& target);

  ImageParam u{Float(64), 3, "u"};  ///< a field, as all inputs are
  ImageParam f{Float(64), 3, "f"}, before{Float(64), 3, "before"}, coarse{Float(64), 3, "coarse"};
  ImageParam x{Float(64), 3, "x_faces"}, y{Float(64), 3, "y_faces"}, z{Float(64), 3, "z_faces"};
  Param<double> h2{"h2"}, per_h2{"per_h2"};  ///< h^2 and 1/h^2

  /// u + by_residual D^-1 (f - A u), with D the diagonal of A; and by_change (u - before) more, in the
  /// memory of `before`: the steps of a Chebyshev polynomial.
  Param<double> by_residual{"by_residual"}, by_change{"by_change"};
  Executable first_step, next_step;

  /// A sweep of Gauss-Seidel in the memory of u, cells of even x + y + z before the others, that goes
  /// `relaxation` of the way. Its output is the whole field.
  Param<double> relaxation{"relaxation"};
  Executable sweep;

  /// To the coarser grid: the mean of f - A u, or of f, over 8 cells; and 0 for its u.
  Executable restrict_residual, restrict_right_side;
  /// From the coarser grid: u plus what is linear in x, y and z between its cells, in the memory of u;
  /// or values that are quadratic.
  Executable correct, interpolate;

  /// The sum of (f - A u)^2.
  Executable squares;
};

}  // namespace mica::examples
