// Flow by the lattice Boltzmann method with 19 velocities (D3Q19).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "schedules/mica.h"

namespace mica::examples {

using Vector = std::array<double, 3>;

/// What flows where. Everything is in units of the lattice: cells, steps, and a density of 1.
struct Setup {
  std::array<std::int64_t, 3> cells = {1, 1, 1};  ///< of a box that is periodic in x, y and z
  double viscosity = 0.1;
  double force = 0;  ///< along x, on each cell
  /// Cells for which it is true are walls.
  std::function<bool(std::int64_t, std::int64_t, std::int64_t)> solid = {};
  /// Velocity at the start.
  std::function<Vector(std::int64_t, std::int64_t, std::int64_t)> start = {};
  /// Over the last `fringe` cells along x the flow is led back to `inflow` along x, so that what leaves
  /// the box does not come in again (J. Nordstrom, N. Nordin, D. Henningson, SIAM Journal on Scientific
  /// Computing 20 (1999) 1365-1393). 0: none.
  std::int64_t fringe = 0;
  double inflow = 0;
};

/// Density and velocity of each cell; in walls density 1 and velocity 0.
struct Fields {
  Buffer<double> density, u, v, w;
};

/// Populations f_i of 19 velocities (Y. H. Qian, D. d'Humieres, P. Lallemand, Europhysics Letters 17
/// (1992) 479-484) stream to the neighbours and collide there with two relaxation times: one gives the
/// viscosity, (1/omega - 1/2)/3, the other is such that walls stand halfway between cells whatever the
/// viscosity is (I. Ginzburg, F. Verhaeghe, D. d'Humieres, Communications in Computational Physics 3
/// (2008) 427-478: 3/16). Cells of a wall send back what streams to them. Kept are differences from the
/// weights, of which f32 has more digits (P. A. Skordos, Physical Review E 48 (1993) 4823-4842). There
/// is one lattice (Iteration::in_place).
class Lattice {
 public:
  static constexpr int kVelocities = 19;
  /// Read and written for a cell in a step: all populations in f32, and whether it is a wall.
  static constexpr int kBytes = 2 * 4 * kVelocities + 1;

  /// The program, which serves all flows.
  explicit Lattice(const Target& target);
  /// Notes the momentum along y of a cell each time that so many steps are done, an even number. Called
  /// once, before any run.
  void watch(const std::array<std::int64_t, 3>& cell, std::int64_t every);
  [[nodiscard]] const std::vector<double>& watched() const { return watched_; }

  /// A flow at its start, in equilibrium. UserError for a viscosity that is not positive.
  void begin(const Setup& setup);
  void run(std::int64_t steps);
  void show_progress() { flow_.show_progress("lbm"); }
  [[nodiscard]] Fields fields() const;
  /// The sum of all populations, less that of fluid at rest, and the largest of them but for its weight.
  [[nodiscard]] double excess_mass() const;
  [[nodiscard]] double largest() const;

 private:
  Target target_;
  std::vector<ImageParam> f_;
  ImageParam walls_, fringe_;
  Param<float> even_rate_{"even_rate"}, odd_rate_{"odd_rate"}, force_{"force"}, inflow_{"inflow"};
  Func next_;
  Iteration flow_;
  std::vector<double> watched_;

  Setup setup_;
  std::vector<Buffer<float>> populations_;
  Buffer<std::uint8_t> cells_of_walls_;
  Buffer<float> shares_of_inflow_;
  std::int64_t steps_done_ = 0;

  [[nodiscard]] Func step() const;
};

}  // namespace mica::examples
