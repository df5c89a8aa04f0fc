#include <array>

#include "tests/ported/programs.h"

namespace mica::test {
namespace {

constexpr float kGamma = 5.0F / 3.0F;
enum Field { kDensity, kMomentumX, kMomentumY, kMomentumZ, kFieldX, kFieldY, kFieldZ, kEnergy, kFields };
using State = std::array<Expr, kFields>;

/// The flux along x of a state of density, velocity, magnetic field and pressure.
State flux_of(const State& w) {
  const Expr &rho = w[0], &u = w[1], &v = w[2], &s = w[3], &bx = w[4], &by = w[5], &bz = w[6], &p = w[7];
  const Expr magnetic = 0.5F * (bx * bx + by * by + bz * bz);
  const Expr kinetic = 0.5F * rho * (u * u + v * v + s * s);
  const Expr total = p + magnetic;
  const Expr energy = p / (kGamma - 1.0F) + kinetic + magnetic;
  return {rho * u,
          rho * u * u + total - bx * bx,
          rho * u * v - bx * by,
          rho * u * s - bx * bz,
          Expr(0.0F),
          by * u - bx * v,
          bz * u - bx * s,
          (energy + total) * u - bx * (u * bx + v * by + s * bz)};
}

State conserved_of(const State& w) {
  const Expr &rho = w[0], &u = w[1], &v = w[2], &s = w[3], &bx = w[4], &by = w[5], &bz = w[6], &p = w[7];
  return {
      rho,
      rho * u,
      rho * v,
      rho * s,
      bx,
      by,
      bz,
      p / (kGamma - 1.0F) + 0.5F * rho * (u * u + v * v + s * s) + 0.5F * (bx * bx + by * by + bz * bz)};
}

/// |u| plus the speed of the fast magnetosonic wave.
Expr fastest(const State& w) {
  const Expr &rho = w[0], &bx = w[4], &by = w[5], &bz = w[6], &p = w[7];
  const Expr sound = kGamma * p / rho;
  const Expr alfven = (bx * bx + by * by + bz * bz) / rho;
  const Expr along = bx * bx / rho;
  const Expr both = sound + alfven;
  return abs(w[1]) + sqrt(0.5F * (both + sqrt(max(both * both - 4.0F * sound * along, 0.0F))));
}

}  // namespace

Ported mhd_sweep() {
  const Var x("x"), y("y");
  const ImageParam q(Float(32), 3, "q");
  // Primitive variables.
  Func primitive("primitive");
  {
    State c;
    for (int i = 0; i < kFields; ++i) c[static_cast<std::size_t>(i)] = q(x, y, i);
    const Expr rho = max(c[kDensity], 1e-6F);
    const Expr u = c[1] / rho, v = c[2] / rho, w = c[3] / rho;
    const Expr pressure = (kGamma - 1.0F) * (c[kEnergy] - 0.5F * rho * (u * u + v * v + w * w) -
                                             0.5F * (c[4] * c[4] + c[5] * c[5] + c[6] * c[6]));
    primitive(x, y) = Tuple(rho, u, v, w, c[4], c[5], c[6], max(pressure, 1e-6F));
  }
  // Parabolas in each cell, made monotone; left and right value of a cell.
  const auto minmod = [](const Expr& a, const Expr& b) {
    return select(a * b > 0.0F, select(abs(a) < abs(b), a, b), 0.0F);
  };
  Func slope("slope"), face("face"), low("low"), high("high");
  std::vector<Expr> slopes, faces, lows, highs;
  for (int i = 0; i < kFields; ++i) {
    const Expr left = primitive(x, y)[i] - primitive(x - 1, y)[i];
    const Expr right = primitive(x + 1, y)[i] - primitive(x, y)[i];
    slopes.push_back(minmod(0.5F * (left + right), minmod(2.0F * left, 2.0F * right)));
  }
  slope(x, y) = Tuple(slopes);
  for (int i = 0; i < kFields; ++i) {
    faces.push_back(0.5F * (primitive(x, y)[i] + primitive(x + 1, y)[i]) -
                    (slope(x + 1, y)[i] - slope(x, y)[i]) / 6.0F);
  }
  face(x, y) = Tuple(faces);
  for (int i = 0; i < kFields; ++i) {
    const Expr a = primitive(x, y)[i], l = face(x - 1, y)[i], r = face(x, y)[i];
    const Expr width = r - l, middle = a - 0.5F * (l + r);
    const Expr extremum = (r - a) * (a - l) <= 0.0F;
    const Expr steep_low = width * middle > width * width / 6.0F;
    const Expr steep_high = -(width * width) / 6.0F > width * middle;
    lows.push_back(select(extremum, a, steep_low, 3.0F * a - 2.0F * r, l));
    highs.push_back(select(extremum, a, steep_high, 3.0F * a - 2.0F * l, r));
  }
  low(x, y) = Tuple(lows);
  high(x, y) = Tuple(highs);
  // Between cell x and x + 1.
  State left, right;
  for (int i = 0; i < kFields; ++i) {
    left[static_cast<std::size_t>(i)] = high(x, y)[i];
    right[static_cast<std::size_t>(i)] = low(x + 1, y)[i];
  }
  const Expr speed = max(fastest(left), fastest(right));
  const State fl = flux_of(left), fr = flux_of(right);
  const State cl = conserved_of(left), cr = conserved_of(right);
  std::vector<Expr> fluxes;
  for (std::size_t i = 0; i < kFields; ++i) {
    fluxes.push_back(0.5F * (fl[i] + fr[i]) - 0.5F * speed * (cr[i] - cl[i]));
  }
  Func flux("flux"), rate("rate");
  flux(x, y) = Tuple(fluxes);
  std::vector<Expr> rates;
  for (int i = 0; i < kFields; ++i) rates.push_back(flux(x - 1, y)[i] - flux(x, y)[i]);
  rate(x, y) = Tuple(rates);
  return {rate, {q}};
}

}  // namespace mica::test
