// A magnetized fluid in a periodic box of side 2 pi.
#pragma once

#include <cstdint>
#include <vector>

#include "examples/mhd/equations.h"

namespace mica::examples {

using Vector = std::array<double, 3>;

/// Values of Coefficients.
struct Properties {
  double viscosity = 0, bulk_viscosity = 0, resistivity = 0, conductivity = 0;
  Vector mean_field{};
};

/// A fluid at n^3 points: its fields, in the order of MhdFields, now and a substep ago.
struct State {
  /// At rest, without a field but the mean one.
  State(std::int64_t points, const Properties& of);
  [[nodiscard]] double h() const;  ///< distance of points

  std::int64_t n;
  Properties properties;
  std::vector<Buffer<double>> now, before;
};

/// Means over the box, and how long a step may be.
struct Totals {
  double mass = 0;                             ///< rho
  double kinetic = 0, magnetic = 0, heat = 0;  ///< rho u^2/2, B^2/2, rho T/gamma
  double stable = 0;                           ///< the longest stable time step
  [[nodiscard]] double energy() const { return kinetic + magnetic + heat; }
};

/// The equations in time: three substeps a step, of third order, which keep the fields of two substeps
/// (J. H. Williamson, Journal of Computational Physics 35 (1980) 48-56):
///   f <- f + b_i (a_i/b_(i-1) (f - before) + dt f'),   a = 0, -5/9, -153/128,   b = 1/3, 15/16, 8/15
class Mhd {
 public:
  static constexpr int kSubsteps = 3;
  static constexpr std::int64_t kLeastPoints = 7;  ///< a difference reads no point twice
  /// Read and written at a point in a substep: the fields, those before, and the new ones.
  static constexpr int kBytes = 3 * 8 * kMhdFields;

  /// The program, which serves all fluids.
  explicit Mhd(const Target& target);
  /// Carries out steps of dt.
  void run(State& state, std::int64_t steps, double dt);
  [[nodiscard]] Totals totals(const State& state);
  /// The component along z of curl u, in a plane of the grid.
  [[nodiscard]] Buffer<double> vorticity(const State& state, std::int64_t z);

 private:
  /// The fields now, repeated beyond the box.
  [[nodiscard]] Func around() const;
  [[nodiscard]] MhdFields fields_at(const Func& around, const VectorExpr& at) const;
  [[nodiscard]] Func substep() const;
  [[nodiscard]] Func sums() const;
  [[nodiscard]] Func slice() const;
  [[nodiscard]] std::vector<Replacement> replacements() const;
  /// Sets inputs and Params.
  void take(const State& state);

  Target target_;
  std::vector<ImageParam> now_, before_;
  Param<double> per_h_{"per_h"}, dt_{"dt"};
  Param<std::int32_t> z_{"z"};
  Coefficients coefficients_;
  Func next_;
  Iteration flow_;
  Executable sums_, slice_;
};

}  // namespace mica::examples
