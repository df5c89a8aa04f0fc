// Resistive compressible magnetohydrodynamics on a uniform grid: 8 fields, 6th order in space, one
// substep of a Runge-Kutta method of 3rd order that keeps two levels (2N storage).
#pragma once

#include "bench/algorithms.h"
#include "dsl/func/image_param.h"

namespace mica::bench {

/// The scheme's substep `i` (0, 1, 2): new = f + b_i*(a_i/b_(i-1)*(f - previous) + dt*f').
struct MhdSubstep {
  double change = 0;  ///< a_i/b_(i-1); 0 for the first substep, which reads `previous` all the same
  double share = 0;   ///< b_i
};
MhdSubstep mhd_substep(int i);

/// L = ln rho, u, s, A, and the same of the level before; one Func with 8 values in that order.
/// B = curl A, j = (grad div A - lap A)/mu0, q = gamma*s/cp + (gamma - 1)*(L - L0), ln T = lnT0 + q:
///
///   L' = -u.grad L - div u
///   u' = -(u.grad)u - cs^2*e^q*(grad s/cp + grad L) + e^-L*(j x B)
///        + nu*(lap u + grad div u/3 + 2*S grad L) + zeta*grad div u
///   s' = -u.grad s + (eta*mu0*j^2 + 2*e^L*nu*S:S + zeta*e^L*(div u)^2)/(e^L*T) + H
///   A' = u x B + eta*lap A
///   H  = K/e^L*(gamma*lap s/cp + (gamma - 1)*lap L
///        + (gamma*grad s/cp + (gamma - 1)*grad L).(gamma*(grad s/cp + grad L) - grad L))
///
/// The inputs need 3 points beyond the output on each side.
template <typename T>
struct Mhd {
  Algorithm algorithm;
  Param<T> dt{"dt"}, change{"change"}, share{"share"};

  Mhd();
  void set(const MhdSubstep& substep) const {
    change.set(static_cast<T>(substep.change));
    share.set(static_cast<T>(substep.share));
  }
};

/// Constants of the equations above, and the distance between grid points.
struct MhdConstants {
  static constexpr double kStep = 2 * 3.14159265358979323846 / 512;
  static constexpr double kNu = 2e-5, kZeta = 0.01, kEta = 5e-5, kMu0 = 1.4;
  static constexpr double kCs = 1, kCp = 1, kGamma = 0.5, kLnT0 = 1.2, kL0 = 1.3, kK = 1e-3;
};

}  // namespace mica::bench
