// The rotating shallow-water equations on a periodic plane, with Sadourny's schemes.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "schedules/mica.h"

namespace mica::examples {

/// What the scheme conserves besides mass, but for the error of the time steps.
enum class Conserve : std::uint8_t { Energy, Enstrophy };

/// nx x ny cells of a periodic rectangle, and the constants of the equations, in SI units.
struct Plane {
  std::int64_t nx = 0, ny = 0;
  double length = 0, width = 0;  ///< along x and y, m
  double depth = 0;              ///< of the fluid at rest, m
  double coriolis = 0;           ///< f, 1/s
  double gravity = 9.81;         ///< m/s^2
  [[nodiscard]] double dx() const { return length / static_cast<double>(nx); }
  [[nodiscard]] double dy() const { return width / static_cast<double>(ny); }
  /// sqrt(g H), the speed of long gravity waves.
  [[nodiscard]] double wave_speed() const;
};

/// Velocities and thickness on Arakawa's C grid, a value for each cell (i, j): h in its middle, u in the
/// middle of its left face, v in the middle of its lower face.
struct State {
  explicit State(const Plane& plane)
      : u(plane.nx, plane.ny), v(plane.nx, plane.ny), h(plane.nx, plane.ny) {}
  State(Buffer<double> along_x, Buffer<double> along_y, Buffer<double> thickness)
      : u(std::move(along_x)), v(std::move(along_y)), h(std::move(thickness)) {}
  Buffer<double> u, v, h;
};

/// Sums over all cells, of a unit of area each; in more digits than the fields have.
struct Totals {
  long double mass = 0;       ///< h
  long double energy = 0;     ///< (g h^2 + h u^2 + h v^2)/2
  long double enstrophy = 0;  ///< h q^2/2 with the potential vorticity q = (f + v_x - u_y)/h
};
Totals totals(const State& state, const Plane& plane);
/// How far totals are from what they were, as shares of that.
struct Drift {
  double mass = 0, energy = 0, enstrophy = 0;
};
Drift drift(const Totals& now, const Totals& before);
/// v_x - u_y at the lower left corner of each cell, 1/s.
Buffer<double> vorticity(const State& state, const Plane& plane);

/// u_t = q V - B_x, v_t = -q U - B_y, h_t = -U_x - V_y with U = h u, V = h v, q the potential vorticity
/// and B = g h + (u^2 + v^2)/2, by centred differences and means between neighbours. With means of q V
/// the scheme conserves energy, with the product of the means of q and V potential enstrophy (R.
/// Sadourny, Journal of the Atmospheric Sciences 32 (1975) 680-689). Time steps: Runge-Kutta of three
/// stages and third order (C.-W. Shu, S. Osher, Journal of Computational Physics 77 (1988) 439-471).
class ShallowWater {
 public:
  ShallowWater(const Plane& plane, Conserve conserve, const Target& target);

  /// `look` sees the state, and how many steps were done, every n steps of the runs that follow.
  void every(std::int64_t n, const std::function<void(const State&, std::int64_t)>& look);
  /// Carries out `steps` steps of dt seconds.
  void run(State& state, std::int64_t steps, double dt);
  void show_progress() { flow_.show_progress("shallow_water"); }

 private:
  Target target_;
  ImageParam u_, v_, h_;
  Param<double> dt_{"dt"};
  Func next_;
  Iteration flow_;
};

/// A time step of 0.5 dx/speed, dx the shorter side of a cell, in seconds. Waves of that speed are
/// stable up to sqrt(3/8) = 0.61: the grid's fastest oscillation is 2 sqrt(2) speed/dx, and the steps of
/// third order are stable up to sqrt(3) over that.
double time_step(const Plane& plane, double speed);

}  // namespace mica::examples
