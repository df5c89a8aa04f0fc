// Compressible resistive magnetohydrodynamics: the time derivatives of eight fields, as expressions.
//
// In units in which the fluid at rest has density 1 and speed of sound 1, and cp = mu0 = 1.
#pragma once

#include <array>
#include <vector>

#include "schedules/mica.h"

namespace mica::examples {

using VectorExpr = std::array<Expr, 3>;

/// A field at a point and beside it: central differences of 6th order.
class Field {
 public:
  /// An element of a Func with a Tuple, of points 1/per_h apart.
  Field(Func values, int element, VectorExpr at, Expr per_h);
  [[nodiscard]] Expr value() const;
  /// d_i f along axis i, and d_i d_k f; of two axes on the diagonals of their plane, so that twelve
  /// points take the place of 36.
  [[nodiscard]] Expr d(std::size_t i) const;
  [[nodiscard]] Expr d(std::size_t i, std::size_t k) const;
  [[nodiscard]] VectorExpr grad() const { return {d(0), d(1), d(2)}; }
  [[nodiscard]] Expr laplacian() const { return d(0, 0) + d(1, 1) + d(2, 2); }

 private:
  /// a steps along axis i and b along axis k from the point.
  [[nodiscard]] Expr tap(std::size_t i, int a, std::size_t k = 0, int b = 0) const;

  Func values_;
  int element_;
  VectorExpr at_;
  Expr per_h_;
};

/// Three fields that are the components of a vector.
using VectorField = std::array<Field, 3>;
VectorExpr value(const VectorField& v);
VectorExpr curl(const VectorField& v);
VectorExpr laplacian(const VectorField& v);
VectorExpr grad_div(const VectorField& v);

Expr dot(const VectorExpr& a, const VectorExpr& b);
VectorExpr operator+(const VectorExpr& a, const VectorExpr& b);

/// What flows: viscosity nu, bulk viscosity zeta, resistivity eta, conductivity K, and a magnetic field
/// whose mean stays what it is: B = mean_field + curl A.
struct Coefficients {
  Param<double> nu{"nu"}, zeta{"zeta"}, eta{"eta"}, conductivity{"conductivity"};
  std::array<Param<double>, 3> mean_field{Param<double>("mean_field_x"), Param<double>("mean_field_y"),
                                          Param<double>("mean_field_z")};
};

/// Ratio of the specific heats.
inline constexpr double kGamma = 5.0 / 3;

/// ln rho, velocity, entropy, and the vector potential of the magnetic field.
struct MhdFields {
  Field log_density;
  VectorField u;
  Field s;
  VectorField potential;
};
constexpr int kMhdFields =
    8;  ///< in the order in which MhdFields has them: L, ux, uy, uz, s, Ax, Ay, Az

VectorExpr magnetic_field(const MhdFields& f, const Coefficients& c);
/// q, of which e^q is the square of the speed of sound and e^q/(gamma - 1) the temperature.
Expr log_heat(const MhdFields& f);

/// The derivatives in time, in the order of the fields, at the Vars `at`: with j = grad div A - lap A
/// (so that no field is differentiated twice in a row), S_ik = (d_i u_k + d_k u_i)/2 - delta_ik div u/3
/// and q = gamma s + (gamma - 1) L,
///
///   L' = -u.grad L - div u
///   u' = -(u.grad)u - e^q grad(s + L) + e^-L j x B + nu (lap u + grad div u/3 + 2 S grad L)
///        + zeta grad div u
///   s' = -u.grad s + (gamma - 1) e^-q (e^-L eta j^2 + 2 nu S:S + zeta (div u)^2)
///        + K e^-L (lap q + grad q.grad q)
///   A' = u x B + eta lap A
std::vector<Expr> rates(const MhdFields& f, const Coefficients& c, const std::array<Var, 3>& at);

}  // namespace mica::examples
