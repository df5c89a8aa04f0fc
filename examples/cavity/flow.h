// Flow in a square whose lid moves: vorticity and stream function.
#pragma once

#include <cstdint>

#include "schedules/mica.h"

namespace mica::examples {

/// How the stream function is relaxed.
enum class Method : std::uint8_t { Jacobi, RedBlack };

/// laplace(psi) = -w on (intervals + 1)^2 points of the unit square; the values of psi on the rim stay.
class Poisson {
 public:
  /// A sweep moves a point `relaxation` of the way to the mean of its neighbours plus h^2/4 w: of the
  /// old ones (Jacobi), or first the points of even x + y and then the others from their new neighbours
  /// (red-black Gauss-Seidel). With relaxation 1 a sweep reduces the error of the slowest mode by
  /// cos(pi h) and by its square; the best for red-black is 2 / (1 + sin(pi h)) (D. M. Young,
  /// Transactions of the American Mathematical Society 76 (1954) 92-111).
  Poisson(Method method, double relaxation, std::int64_t intervals, const Target& target);

  /// Sweeps until the residual, |laplace(psi) + w| at its largest, is below `tolerance`; looks every
  /// `check_every` sweeps. UserError when `most` sweeps do not do.
  IterationResult solve(Buffer<double>& psi, const Buffer<double>& w, double tolerance,
                        std::int64_t check_every, std::int64_t most);

 private:
  Target target_;
  ImageParam psi_, w_;
  Param<double> tolerance_{"tolerance"};
  Func residual_, swept_;
  Iteration sweeps_;
};

/// What march did.
struct March {
  std::int64_t steps = 0, sweeps = 0;
  double time = 0, change = 0;  ///< change: largest |psi_t| at the end
  bool steady = false;
};

/// w_t + (u w)_x + (v w)_y = laplace(w) / Re with u = psi_y, v = -psi_x, laplace(psi) = -w, psi = 0 on
/// the walls, u = 1 on the lid y = 1: central differences, forward in time, and on the walls
/// w = (psi_2 / 2 - 4 psi_1) / h^2 - 3 u / h with psi_1 and psi_2 one and two points inside (V. G.
/// Jensen, Proceedings of the Royal Society A 249 (1959) 346-366). Dimension 0 is x, dimension 1 is y.
class Cavity {
 public:
  Cavity(std::int64_t intervals, double reynolds, Method method, const Target& target);

  /// Steps until psi changes by less than `steady` a unit of time, or `longest` units are over. The
  /// stream function is solved for in every step, to a residual of `tolerance`.
  March march(double steady, double tolerance, double longest);

  [[nodiscard]] std::int64_t intervals() const { return intervals_; }
  [[nodiscard]] double reynolds() const { return reynolds_; }
  /// 0.8 of the longest stable step, the smaller of h^2 Re/4 and 2/Re (A. C. Hindmarsh, P. M. Gresho,
  /// D. F. Griffiths, International Journal for Numerical Methods in Fluids 4 (1984) 853-897, for
  /// velocities up to 1).
  [[nodiscard]] double dt() const { return dt_; }
  [[nodiscard]] const Buffer<double>& stream() const { return psi_now_; }
  [[nodiscard]] const Buffer<double>& vorticity() const { return w_now_; }

 private:
  std::int64_t intervals_;
  double reynolds_, dt_;
  Target target_;
  ImageParam psi_, w_;
  Func next_;
  Iteration transport_;
  Poisson poisson_;
  Buffer<double> psi_now_, w_now_;
};

/// u along x = 1/2 or v along y = 1/2, a value for each point from wall to wall, from the stream
/// function of an even number of intervals; on the lid u is 1.
enum class Line : std::uint8_t { U, V };
std::vector<double> centre_line(const Buffer<double>& stream, Line line);

}  // namespace mica::examples
