#include "examples/mhd/equations.h"

#include <utility>

namespace mica::examples {
namespace {

constexpr int kReach = 3;

VectorExpr cross(const VectorExpr& a, const VectorExpr& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// The values as those of a Func, which are computed once however often they are read.
template <std::size_t n>
std::array<Expr, n> once(const char* name, const std::array<Var, 3>& at,
                         const std::array<Expr, n>& values) {
  Func f(name);
  f(at[0], at[1], at[2]) = Tuple(std::vector<Expr>(values.begin(), values.end()));
  std::array<Expr, n> read;
  for (std::size_t i = 0; i < n; ++i) read[i] = f(at[0], at[1], at[2])[static_cast<int>(i)];
  return read;
}

}  // namespace

Field::Field(Func values, int element, VectorExpr at, Expr per_h)
    : values_(std::move(values)), element_(element), at_(std::move(at)), per_h_(std::move(per_h)) {}

Expr Field::tap(std::size_t i, int a, std::size_t k, int b) const {
  VectorExpr place = at_;
  if (a != 0) place[i] = place[i] + a;
  if (b != 0) place[k] = place[k] + b;
  return values_(place[0], place[1], place[2])[element_];
}

Expr Field::value() const { return tap(0, 0); }

Expr Field::d(std::size_t i) const {
  constexpr double kWeights[] = {3.0 / 4, -3.0 / 20, 1.0 / 60};
  Expr sum = kWeights[0] * (tap(i, 1) - tap(i, -1));
  for (int n = 2; n <= kReach; ++n) sum = sum + kWeights[n - 1] * (tap(i, n) - tap(i, -n));
  return per_h_ * sum;
}

Expr Field::d(std::size_t i, std::size_t k) const {
  constexpr double kWeights[] = {-49.0 / 18, 3.0 / 2, -3.0 / 20, 1.0 / 90};
  constexpr double kDiagonal[] = {270.0 / 720, -27.0 / 720, 2.0 / 720};
  Expr sum = i == k ? kWeights[0] * value() : Expr();
  for (int n = 1; n <= kReach; ++n) {
    const Expr term = i == k ? kWeights[n] * (tap(i, n) + tap(i, -n))
                             : kDiagonal[n - 1] * (tap(i, n, k, n) + tap(i, -n, k, -n) -
                                                   tap(i, n, k, -n) - tap(i, -n, k, n));
    sum = sum.defined() ? sum + term : term;
  }
  return per_h_ * per_h_ * sum;
}

VectorExpr value(const VectorField& v) { return {v[0].value(), v[1].value(), v[2].value()}; }

VectorExpr curl(const VectorField& v) {
  return {v[2].d(1) - v[1].d(2), v[0].d(2) - v[2].d(0), v[1].d(0) - v[0].d(1)};
}

VectorExpr laplacian(const VectorField& v) {
  return {v[0].laplacian(), v[1].laplacian(), v[2].laplacian()};
}

VectorExpr grad_div(const VectorField& v) {
  const auto along = [&](std::size_t i) { return v[0].d(i, 0) + v[1].d(i, 1) + v[2].d(i, 2); };
  return {along(0), along(1), along(2)};
}

Expr dot(const VectorExpr& a, const VectorExpr& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

VectorExpr operator+(const VectorExpr& a, const VectorExpr& b) {
  return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}

VectorExpr magnetic_field(const MhdFields& f, const Coefficients& c) {
  return VectorExpr{c.mean_field[0], c.mean_field[1], c.mean_field[2]} + curl(f.potential);
}

Expr log_heat(const MhdFields& f) { return kGamma * f.s.value() + (kGamma - 1) * f.log_density.value(); }

std::vector<Expr> rates(const MhdFields& f, const Coefficients& c, const std::array<Var, 3>& at) {
  const VectorExpr u = value(f.u);
  const VectorExpr grad_l = once("grad_l", at, f.log_density.grad());
  const VectorExpr grad_s = once("grad_s", at, f.s.grad());
  const std::array<VectorExpr, 3> grad_u = {once("grad_ux", at, f.u[0].grad()),
                                            once("grad_uy", at, f.u[1].grad()),
                                            once("grad_uz", at, f.u[2].grad())};
  const VectorExpr grad_div_u = grad_div(f.u), lap_u = laplacian(f.u);
  const VectorExpr b = once("b", at, magnetic_field(f, c));
  const VectorExpr lap_a = once("lap_a", at, laplacian(f.potential)), bend = grad_div(f.potential);
  const VectorExpr j =
      once("j", at, VectorExpr{bend[0] - lap_a[0], bend[1] - lap_a[1], bend[2] - lap_a[2]});
  const Expr q = once("q", at, std::array{log_heat(f)})[0];
  const auto [heat, thin] = once("state", at, std::array{exp(q), exp(-f.log_density.value())});

  const Expr div_u = once("div_u", at, std::array{grad_u[0][0] + grad_u[1][1] + grad_u[2][2]})[0];
  const auto strain = [&](std::size_t i, std::size_t k) {
    return i == k ? grad_u[i][i] - 1.0 / 3 * div_u : 0.5 * (grad_u[i][k] + grad_u[k][i]);
  };
  const std::array<Expr, 6> parts = once(
      "strain", at,
      std::array{strain(0, 0), strain(1, 1), strain(2, 2), strain(1, 2), strain(2, 0), strain(0, 1)});
  const auto& [xx, yy, zz, yz, zx, xy] = parts;
  const std::array<VectorExpr, 3> s = {VectorExpr{xx, xy, zx}, VectorExpr{xy, yy, yz},
                                       VectorExpr{zx, yz, zz}};
  const Expr square = xx * xx + yy * yy + zz * zz + 2.0 * (yz * yz + zx * zx + xy * xy);

  const VectorExpr force = cross(j, b), induced = cross(u, b);
  std::vector<Expr> rate = {-dot(u, grad_l) - div_u};
  for (std::size_t i = 0; i < 3; ++i) {
    rate.push_back(-dot(u, grad_u[i]) - heat * (grad_s[i] + grad_l[i]) + thin * force[i] +
                   c.nu * (lap_u[i] + 1.0 / 3 * grad_div_u[i] + 2.0 * dot(s[i], grad_l)) +
                   c.zeta * grad_div_u[i]);
  }
  const auto of_q = [](const Expr& from_s, const Expr& from_l) {
    return kGamma * from_s + (kGamma - 1) * from_l;
  };
  const VectorExpr grad_q = once(
      "grad_q", at,
      VectorExpr{of_q(grad_s[0], grad_l[0]), of_q(grad_s[1], grad_l[1]), of_q(grad_s[2], grad_l[2])});
  const Expr lap_q = of_q(f.s.laplacian(), f.log_density.laplacian());
  rate.push_back((kGamma - 1) / heat *
                     (thin * c.eta * dot(j, j) + 2.0 * c.nu * square + c.zeta * div_u * div_u) -
                 dot(u, grad_s) + c.conductivity * thin * (lap_q + dot(grad_q, grad_q)));
  for (std::size_t i = 0; i < 3; ++i) rate.push_back(induced[i] + c.eta * lap_a[i]);
  return rate;
}

}  // namespace mica::examples
