// Geometric multigrid on cell-centred grids.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/multigrid/chain.h"
#include "examples/multigrid/kernels.h"
#include "examples/multigrid/problem.h"

namespace mica::examples {

/// How a V-cycle smooths, `sweeps` times before and after the correction from the coarser grid.
///
/// Chebyshev: the polynomial of `degree` that is least on a range of eigenvalues of D^-1 A, among those
/// that are 1 at 0 (M. Adams, M. Brezina, J. Hu, R. Tuminaro, Journal of Computational Physics 188
/// (2003) 593-610). No eigenvalue is above 2: a row of D^-1 A has 1 on its diagonal, and magnitudes of
/// at most 1 in all beside it (S. Gershgorin, Izvestiya Akademii Nauk SSSR 6 (1931) 749-754). RedBlack:
/// Gauss-Seidel with some over-relaxation, which helps in three dimensions (I. Yavneh, SIAM Journal on
/// Scientific Computing 17 (1996) 180-192).
struct Smoothing {
  static constexpr double kLeast = 0.2, kLargest = 2;  ///< the range of eigenvalues
  static constexpr double kRelaxation = 1.2;
  Smoother smoother = Smoother::Chebyshev;
  int degree = 4;
  int sweeps = 1;
};

/// One problem on a cube of n^3 cells and on its coarser grids, each of half as many cells along a side.
class Multigrid {
 public:
  /// n: a multiple of 2^(levels - 1), levels at least 2. u is 0.
  Multigrid(Kernels& kernels, Problem& problem, const Smoothing& smoothing, std::int64_t n, int levels,
            const Target& target);

  /// u becomes better.
  void v_cycle() { v_cycle_.run(); }
  /// u becomes what one V-cycle on each grid, from the coarsest on, makes of nothing but f (A. Brandt,
  /// Mathematics of Computation 31 (1977) 333-390: full multigrid).
  void f_cycle() { f_cycle_.run(); }

  /// The root of the mean of (f - A u)^2.
  [[nodiscard]] double residual();
  [[nodiscard]] double error() { return problem_.error(solution()); }
  [[nodiscard]] const Buffer<double>& solution() const { return grids_.front().u[0]; }
  [[nodiscard]] std::int64_t cells() const { return grids_.front().n; }
  /// What only rounding leaves of the residual, about.
  [[nodiscard]] double rounding() const;
  [[nodiscard]] const Chain& v_chain() const { return v_cycle_; }
  [[nodiscard]] const Chain& f_chain() const { return f_cycle_; }

 private:
  struct Grid {
    std::int64_t n = 0;
    /// Chebyshev's steps go from one to the other; `now` has the latest values. Where the cycles end it
    /// is again the first.
    Buffer<double> u[2];
    std::size_t now = 0;
    Buffer<double> f;
    Faces faces;
    [[nodiscard]] double cells() const { return static_cast<double>(n * n * n); }
  };

  Kernels& kernels_;
  Problem& problem_;
  Smoothing smoothing_;
  Target target_;
  std::vector<Grid> grids_;
  Chain v_cycle_, f_cycle_;

  /// Inputs and scalars of a kernel that has A u - f in it.
  [[nodiscard]] RunOptions equation_on(const Grid& grid, RunOptions more = {}) const;
  [[nodiscard]] double face_arrays() const;

  // Each adds its runs to a chain.
  void add_chebyshev(Chain& chain, Grid& grid, int degree, double least, double largest);
  void add_red_black(Chain& chain, Grid& grid, double relaxation);
  void add_smoothing(Chain& chain, Grid& grid);
  void add_coarsest(Chain& chain, Grid& grid);
  void add_v_cycle(Chain& chain, std::size_t level);
  void add_f_cycle(Chain& chain);
};

}  // namespace mica::examples
