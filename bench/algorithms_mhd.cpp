// Magnetohydrodynamics: derivatives of each field, what a point makes of them, and a substep.
#include <array>

#include "bench/algorithm_families.h"
#include "bench/mhd.h"

namespace mica::bench {
namespace {

using C = MhdConstants;

constexpr int kRadius = 3;

Expr real(Type type, double value) {
  return type.bits == 32 ? Expr(static_cast<float>(value)) : Expr(value);
}

/// Weights of offset k = 1 ... 3, for a distance of 1 between points.
double first_weight(int k) { return std::array{3.0 / 4, -3.0 / 20, 1.0 / 60}.at(k - 1); }
double second_weight(int k) { return std::array{-49.0 / 18, 3.0 / 2, -3.0 / 20, 1.0 / 90}.at(k); }
double mixed_weight(int k) { return std::array{270.0 / 720, -27.0 / 720, 2.0 / 720}.at(k - 1); }

using Axes = std::array<double, 3>;

/// A field at the point and beside it.
class Field {
 public:
  Field(ImageParam input, const std::array<Var, 3>& at) : input_(std::move(input)), at_(at) {}

  [[nodiscard]] Expr here() const { return input_(at_[0], at_[1], at_[2]); }
  /// The first derivative along an axis.
  [[nodiscard]] Expr first(int axis) const {
    Expr sum;
    for (int k = -kRadius; k <= kRadius; ++k) {
      if (k == 0) continue;
      const double weight = first_weight(std::abs(k)) / C::kStep;
      add(sum, k < 0 ? -weight : weight, beside(axis, k));
    }
    return sum;
  }
  /// The sum of the axes' second derivatives times `scales`; axes of scale 0 are not read.
  [[nodiscard]] Expr second(const Axes& scales) const {
    constexpr double kPerArea = 1 / (C::kStep * C::kStep);
    Expr sum;
    add(sum, (scales[0] + scales[1] + scales[2]) * second_weight(0) * kPerArea, here());
    for (int axis = 0; axis < 3; ++axis) {
      const double scale = scales.at(static_cast<std::size_t>(axis)) * kPerArea;
      if (scale == 0) continue;
      for (int k = -kRadius; k <= kRadius; ++k) {
        if (k != 0) add(sum, scale * second_weight(std::abs(k)), beside(axis, k));
      }
    }
    return sum;
  }
  /// The derivative along two axes, on the diagonals of their plane.
  [[nodiscard]] Expr mixed(int a, int b) const {
    Expr sum;
    for (int k = -kRadius; k <= kRadius; ++k) {
      if (k == 0) continue;
      const double weight = mixed_weight(std::abs(k)) / (C::kStep * C::kStep);
      add(sum, -weight, diagonal(a, -k, b, k));
      add(sum, weight, diagonal(a, k, b, k));
    }
    return sum;
  }

 private:
  [[nodiscard]] Expr beside(int axis, int k) const { return diagonal(axis, k, axis, 0); }
  [[nodiscard]] Expr diagonal(int a, int at_a, int b, int at_b) const {
    std::vector<Expr> place{at_[0], at_[1], at_[2]};
    Expr& first = place[static_cast<std::size_t>(a)];
    first = first + at_a;
    Expr& second = place[static_cast<std::size_t>(b)];
    second = second + at_b;
    return input_(place);
  }
  void add(Expr& sum, double weight, const Expr& tap) const {
    const Expr term = real(input_.type(), weight) * tap;
    sum = sum.defined() ? sum + term : term;
  }

  ImageParam input_;
  std::array<Var, 3> at_;
};

using Vector = std::array<Expr, 3>;

Expr dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Inputs called `name`, with the halo that the derivatives read, and the axes' Vars.
struct Grid {
  Type type;
  std::array<Var, 3> at{Var("x"), Var("y"), Var("z")};
  std::vector<ImageParam> inputs{};

  Field input(const std::string& name) {
    inputs.emplace_back(type, 3, name);
    return {inputs.back(), at};
  }
  [[nodiscard]] Expr number(double value) const { return real(type, value); }
  /// A Func of several values, which are read with values_of.
  [[nodiscard]] Func func(const std::string& name, const std::vector<Expr>& values) const {
    Func f(name);
    f(at[0], at[1], at[2]) = Tuple(values);
    return f;
  }
  [[nodiscard]] Expr value(const Func& f, int i) const { return f(at[0], at[1], at[2])[i]; }
  [[nodiscard]] Vector vector(const Func& f, int first = 0) const {
    return {value(f, first), value(f, first + 1), value(f, first + 2)};
  }
};

/// Gradient, then the sum of the second derivatives.
Func scalar_derivatives(const Grid& g, const std::string& name, const Field& f) {
  return g.func(name, {f.first(0), f.first(1), f.first(2), f.second({1, 1, 1})});
}

/// Of component `axis` of a vector field, with a = axis + 1 and b = axis + 2 (mod 3): the derivatives
/// along x, y and z; nu*lap + (nu/3 + zeta)*own second; the mixed ones along (axis, a) and (axis, b).
Func velocity_derivatives(const Grid& g, const std::string& name, const Field& f, int axis) {
  Axes scales{C::kNu, C::kNu, C::kNu};
  scales.at(static_cast<std::size_t>(axis)) += C::kNu / 3 + C::kZeta;
  return g.func(name, {f.first(0), f.first(1), f.first(2), f.second(scales),
                       f.mixed(axis, (axis + 1) % 3), f.mixed(axis, (axis + 2) % 3)});
}

/// Likewise: the derivatives along a and b; the own second; the sum of the other two; the mixed ones.
Func potential_derivatives(const Grid& g, const std::string& name, const Field& f, int axis) {
  const int a = (axis + 1) % 3, b = (axis + 2) % 3;
  Axes own{0, 0, 0}, others{1, 1, 1};
  own.at(static_cast<std::size_t>(axis)) = 1;
  others.at(static_cast<std::size_t>(axis)) = 0;
  return g.func(name, {f.first(a), f.first(b), f.second(own), f.second(others), f.mixed(axis, a),
                       f.mixed(axis, b)});
}

/// e^q, e^-L, 1/T.
Func state_at(const Grid& g, const Field& l, const Field& s) {
  const Expr q =
      g.number(C::kGamma / C::kCp) * s.here() + g.number(C::kGamma - 1) * (l.here() - g.number(C::kL0));
  Func heat = g.func("heat", {q});
  const Expr heat_here = heat(g.at[0], g.at[1], g.at[2]);
  return g.func("state", {exp(heat_here), exp(-l.here()), exp(-g.number(C::kLnT0) - heat_here)});
}

/// j x B and mu0*eta*j^2, then u x B + eta*lap A.
Func magnetism(const Grid& g, const std::array<Func, 3>& a, const Vector& u) {
  // a[i]: 0 and 1 the firsts along i + 1 and i + 2, 2 the own second, 3 the others, 4 and 5 the mixed.
  const auto d = [&](int component, int i) {
    return g.value(a.at(static_cast<std::size_t>(component % 3)), i);
  };
  std::vector<Expr> field, current, induction, force;
  for (int i = 0; i < 3; ++i) {
    // (curl A)_i = d_(i+1) A_(i+2) - d_(i+2) A_(i+1); of grad div A - lap A the own seconds cancel.
    field.push_back(d(i + 2, 1) - d(i + 1, 0));
    current.push_back((d(i + 1, 5) + d(i + 2, 4) - d(i, 3)) * g.number(1 / C::kMu0));
  }
  const Func b = g.func("magnetic_field", field), j = g.func("current", current);
  const Vector lorentz = cross(g.vector(j), g.vector(b)), drift = cross(u, g.vector(b));
  force = {lorentz[0], lorentz[1], lorentz[2],
           g.number(C::kEta * C::kMu0) * dot(g.vector(j), g.vector(j))};
  for (int i = 0; i < 3; ++i) {
    force.push_back(drift.at(static_cast<std::size_t>(i)) + g.number(C::kEta) * (d(i, 2) + d(i, 3)));
  }
  return g.func("magnetism", force);
}

/// S grad L, S:S and div u of the velocity's gradient d[i][k] = d_k u_i.
Func strain_of(const Grid& g, const std::array<Vector, 3>& d, const Vector& grad_l) {
  const Func div = g.func("divergence", {d[0][0] + d[1][1] + d[2][2]});
  const Expr div_u = div(g.at[0], g.at[1], g.at[2]);
  std::vector<Expr> parts;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t k = (i + 1) % 3;
    parts.push_back(d.at(i).at(i) - g.number(1.0 / 3) * div_u);
    parts.push_back(g.number(0.5) * (d.at(i).at(k) + d.at(k).at(i)));
  }
  const Func strain = g.func("strain", parts);  // S_xx, S_xy, S_yy, S_yz, S_zz, S_zx
  const auto s = [&](int i) { return g.value(strain, i); };
  const std::array<Vector, 3> rows{Vector{s(0), s(1), s(5)}, Vector{s(1), s(2), s(3)},
                                   Vector{s(5), s(3), s(4)}};
  const Expr square =
      s(0) * s(0) + s(2) * s(2) + s(4) * s(4) + g.number(2) * (s(1) * s(1) + s(3) * s(3) + s(5) * s(5));
  return g.func("deformation",
                {dot(rows[0], grad_l), dot(rows[1], grad_l), dot(rows[2], grad_l), square, div_u});
}

/// The eight time derivatives, from the fields L, ux, uy, uz, s, Ax, Ay, Az.
Func rates_of(Grid& g, const std::array<Field, 8>& f) {
  const Vector u{f[1].here(), f[2].here(), f[3].here()};
  const Func dl = scalar_derivatives(g, "d_lnrho", f[0]);
  const Func ds = scalar_derivatives(g, "d_entropy", f[4]);
  const std::array<Func, 3> du{velocity_derivatives(g, "d_ux", f[1], 0),
                               velocity_derivatives(g, "d_uy", f[2], 1),
                               velocity_derivatives(g, "d_uz", f[3], 2)};
  const std::array<Func, 3> da{potential_derivatives(g, "d_ax", f[5], 0),
                               potential_derivatives(g, "d_ay", f[6], 1),
                               potential_derivatives(g, "d_az", f[7], 2)};
  const Vector grad_l = g.vector(dl), grad_s = g.vector(ds);
  const std::array<Vector, 3> grad_u{g.vector(du[0]), g.vector(du[1]), g.vector(du[2])};
  const Func magnetic = magnetism(g, da, u), state = state_at(g, f[0], f[4]);
  const Func deformation = strain_of(g, grad_u, grad_l);
  const Expr sound = g.value(state, 0), thin = g.value(state, 1), cool = g.value(state, 2);
  const Expr div_u = g.value(deformation, 4);

  std::vector<Expr> slope;
  for (std::size_t i = 0; i < 3; ++i) {
    slope.push_back(g.number(1 / C::kCp) * grad_s.at(i) + grad_l.at(i));
  }
  const Func pressure = g.func("pressure_gradient", slope);
  const Vector grad_p = g.vector(pressure);
  Vector heat, against;
  for (std::size_t i = 0; i < 3; ++i) {
    heat.at(i) = g.number(C::kGamma / C::kCp) * grad_s.at(i) + g.number(C::kGamma - 1) * grad_l.at(i);
    against.at(i) = g.number(C::kGamma) * grad_p.at(i) - grad_l.at(i);
  }
  const Func conduction =
      g.func("conduction", {g.number(C::kGamma / C::kCp) * g.value(ds, 3) +
                            g.number(C::kGamma - 1) * g.value(dl, 3) + dot(heat, against)});

  std::vector<Expr> rates{-dot(u, grad_l) - div_u};
  for (int i = 0; i < 3; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto d = [&](int component, int k) {
      return g.value(du.at(static_cast<std::size_t>(component % 3)), k);
    };
    rates.push_back(g.value(magnetic, i) * thin - dot(u, grad_u.at(at)) -
                    g.number(C::kCs * C::kCs) * sound * grad_p.at(at) + d(i, 3) +
                    g.number(C::kNu / 3 + C::kZeta) * (d(i + 1, 5) + d(i + 2, 4)) +
                    g.number(2 * C::kNu) * g.value(deformation, i));
  }
  const Func warming =
      g.func("warming", {g.value(magnetic, 3) * thin + g.number(2 * C::kNu) * g.value(deformation, 3) +
                         g.number(C::kZeta) * (div_u * div_u)});
  rates.push_back(warming(g.at[0], g.at[1], g.at[2]) * cool - dot(u, grad_s) +
                  g.number(C::kK) * (thin * conduction(g.at[0], g.at[1], g.at[2])));
  for (int i = 4; i < 7; ++i) rates.push_back(g.value(magnetic, i));
  return g.func("rates", rates);
}

}  // namespace

MhdSubstep mhd_substep(int i) {
  constexpr std::array<double, 3> kA{0, -5.0 / 9, -153.0 / 128}, kB{1.0 / 3, 15.0 / 16, 8.0 / 15};
  const auto at = static_cast<std::size_t>(i);
  return {i == 0 ? 0 : kA.at(at) / kB.at(at - 1), kB.at(at)};
}

template <typename T>
Mhd<T>::Mhd() {
  const std::array<std::string, 8> names{"lnrho", "ux", "uy", "uz", "entropy", "ax", "ay", "az"};
  Grid g{type_of<T>()};
  const auto inputs = [&](const std::string& suffix) {
    const auto input = [&](std::size_t i) { return g.input(names.at(i) + suffix); };
    return std::array<Field, 8>{input(0), input(1), input(2), input(3),
                                input(4), input(5), input(6), input(7)};
  };
  const std::array<Field, 8> now = inputs(""), before = inputs("_before");
  const Func rates = rates_of(g, now);
  std::vector<Expr> values;
  for (std::size_t i = 0; i < 8; ++i) {
    const Expr old_change = now.at(i).here() - before.at(i).here();
    values.push_back(now.at(i).here() + (share * change) * old_change +
                     (share * dt) * g.value(rates, static_cast<int>(i)));
  }
  dt.set(static_cast<T>(1e-4));
  set(mhd_substep(1));
  const std::string bits = std::to_string(type_of<T>().bits);
  algorithm.name = bits == "32" ? "mhd" : "mhd-f64";
  algorithm.description = "magnetohydrodynamics, 8 fields, 6th order, one Runge-Kutta substep, f" + bits;
  algorithm.output = g.func("next", values);
  algorithm.inputs = g.inputs;
  algorithm.halo = {kRadius, kRadius, kRadius};
  algorithm.schedule = "pmpp/naive";
}

template struct Mhd<float>;
template struct Mhd<double>;

AlgorithmMakers magnetohydrodynamics() {
  return {{"mhd", [] { return Mhd<float>().algorithm; }},
          {"mhd-f64", [] { return Mhd<double>().algorithm; }}};
}

}  // namespace mica::bench
