// Two steps of a weather model: horizontal diffusion with limited fluxes, and implicit vertical
// advection.
#pragma once

#include <cstdint>

#include "schedules/mica.h"

namespace mica::examples {

/// u - c (F_x - F_x(x - 1) + F_y - F_y(y - 1)), diffusion of fourth order in the planes z = const: the
/// flux F_x = l(x + 1) - l of the Laplacian l = u(x - 1) + u(x + 1) + u(y - 1) + u(y + 1) - 4 u. Without
/// more it makes new extrema beside steps of u; limited, fluxes that would run up the gradient are 0 (M.
/// Xue, Monthly Weather Review 128 (2000) 2853-2864). Stable for c <= 1/32. Points within two of the
/// edge keep their values.
class Diffusion {
 public:
  Diffusion(bool limited, const Target& target);
  /// u and its coefficient c at each point, of one shape, at least 5 points along x and y.
  void run(Buffer<double>& u, const Buffer<double>& coefficient, std::int64_t steps);

 private:
  Target target_;
  ImageParam u_, coefficient_;
  Func next_;
  Iteration steps_;
};

/// u_t + w u_z = 0 along z by the rule of J. Crank, P. Nicolson, Proceedings of the Cambridge
/// Philosophical Society 43 (1947) 50-67, stable for any dt. w(z) is the velocity through the lower face
/// of level z, in levels a unit of time, with one more for the upper face of the last; through the
/// ground and the top there is none, whatever w says. A column is a tridiagonal system, solved by the
/// algorithm of L. H. Thomas, Watson Scientific Computing Laboratory Report (1949): up with the
/// elimination, down with the values.
class Advection {
 public:
  explicit Advection(const Target& target);
  void run(Buffer<double>& u, const Buffer<double>& w, double dt, std::int64_t steps);

 private:
  Target target_;
  ImageParam u_, w_;
  Param<double> dt_{"dt"};
  Func next_;
  Iteration steps_;
};

}  // namespace mica::examples
