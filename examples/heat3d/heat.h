// The heat equation u_t = laplace(u) on the unit cube, u = 0 on its faces.
#pragma once

#include <array>
#include <cstdint>

#include "schedules/mica.h"

namespace mica::examples {

/// `intervals` along each edge, so that intervals - 1 points of a row are inside.
struct Grid {
  std::int64_t intervals = 0;
  double dt = 0;
  [[nodiscard]] double spacing() const { return 1.0 / static_cast<double>(intervals); }
};

/// sin(kx pi x) sin(ky pi y) sin(kz pi z), which keeps its form: only its amplitude falls.
struct Mode {
  std::array<int, 3> half_waves = {1, 1, 1};
  [[nodiscard]] double at(const Grid& grid, std::int64_t i, std::int64_t j, std::int64_t k) const;
  /// Of the equation, exp(-rate t): pi^2 (kx^2 + ky^2 + kz^2).
  [[nodiscard]] double rate() const;
  /// Of the second differences on the grid, in continuous time: sum of (2/h sin(k pi h / 2))^2.
  [[nodiscard]] double rate_on(const Grid& grid) const;
  /// What one step of the scheme multiplies the mode by: 1 - dt rate_on.
  [[nodiscard]] double factor_on(const Grid& grid) const { return 1.0 - grid.dt * rate_on(grid); }
};

/// Steps u(t + dt) = u + dt/h^2 (sum of the 6 neighbours - 6 u): forward in time, central in space,
/// second order in space and first in time, stable for dt <= h^2/6 (R. Courant, K. Friedrichs, H. Lewy,
/// Mathematische Annalen 100 (1928) 32-74).
class Heat {
 public:
  /// `tile` steps are carried out for one reading and writing of u.
  Heat(const Target& target, int tile);
  /// u with its faces, (intervals + 1)^3 points from (0, 0, 0) on; the faces keep their values.
  void run(Buffer<double>& u, const Grid& grid, std::int64_t steps);

 private:
  Target target_;
  int tile_;
  ImageParam u_;
  Param<double> r_{"r"};  // dt/h^2: one program for all grids
  Func next_;
  Iteration heat_;
};

/// The mode with amplitude 1, faces included.
Buffer<double> start(const Mode& mode, const Grid& grid);
/// The mode's share in u: sum of u times the mode over sum of its squares.
double amplitude(const Buffer<double>& u, const Mode& mode, const Grid& grid);
/// The largest |u - amplitude * mode|.
double largest_difference(const Buffer<double>& u, const Mode& mode, const Grid& grid, double amplitude);

}  // namespace mica::examples
