#include "examples/shallow_water/check.h"

#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>

#include "examples/shallow_water/starts.h"

namespace mica::examples {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

}  // namespace

bool check_wave(const Target& target) {
  const Plane plane{48, 3, 1e6, 1e6 / 16, 100, 1e-4};
  const double k = kTurn / plane.length, amplitude = 1e-6 * plane.depth;
  // Differences along x multiply the wave by 2 i sin(k dx/2)/dx, means by cos(k dx/2).
  const double half = k * plane.dx() / 2, slope = 2 * std::sin(half) / plane.dx();
  const double turn = plane.coriolis * std::cos(half);
  const double frequency = std::hypot(turn, plane.wave_speed() * slope);
  State state(plane);
  const auto phase = [&](std::int64_t i) { return k * static_cast<double>(i) * plane.dx(); };
  const double flow = amplitude * frequency / (plane.depth * slope);
  for (std::int64_t j = 0; j < plane.ny; ++j) {
    for (std::int64_t i = 0; i < plane.nx; ++i) {
      state.h(i, j) = plane.depth + amplitude * std::cos(phase(i));
      state.u(i, j) = flow * std::cos(phase(i) - half);
      state.v(i, j) = flow * turn / frequency * std::sin(phase(i));
    }
  }
  const std::int64_t steps = 160;
  const double dt = 0.75 * kTurn / frequency / static_cast<double>(steps);  // three quarters of a period
  ShallowWater flow_of(plane, Conserve::Energy, target);
  flow_of.run(state, steps, dt);
  std::complex<double> sum = 0;
  state.h.for_each([&](const double& h, const Coordinates& at) {
    sum += (h - plane.depth) * std::polar(1.0, phase(at[0]));
  });
  // h = cos(k x - w t), so that the sum turns as exp(i w t); it is past half a turn.
  const double time = static_cast<double>(steps) * dt;
  const double measured = (std::arg(sum) + kTurn) / time;
  // A step multiplies exp(-i w t) by the first terms of the exponential's series.
  const std::complex<double> z(0, -frequency * dt);
  const double of_scheme = -std::arg(1.0 + z + z * z / 2.0 + z * z * z / 6.0) / dt;
  const double exact = std::hypot(plane.coriolis, plane.wave_speed() * k);
  const bool right = std::abs(measured / of_scheme - 1) < 1e-8;
  std::printf("wave      frequency %.9e, of the scheme %.9e, of the equations %.9e 1/s: %s\n", measured,
              of_scheme, exact, right ? "right" : "WRONG");
  return right;
}

bool check_conservation(const Target& target) {
  const Plane plane{40, 24, 1e6, 1e6, 100, 1e-4};
  bool right = true;
  for (const Conserve conserve : {Conserve::Energy, Conserve::Enstrophy}) {
    ShallowWater flow(plane, conserve, target);
    Drift drifts[2];
    for (int halved = 0; halved < 2; ++halved) {
      State state = jets(plane, 20, 1.2e5);
      const Totals before = totals(state, plane);
      const double dt = time_step(plane, fastest(state, plane)) / (1 + halved);
      flow.run(state, 200 * (1 + halved), dt);
      drifts[halved] = drift(totals(state, plane), before);
    }
    const bool of_energy = conserve == Conserve::Energy;
    const double ratio =
        of_energy ? drifts[0].energy / drifts[1].energy : drifts[0].enstrophy / drifts[1].enstrophy;
    const bool good = std::log2(ratio) > 2.5;
    right = right && good;
    std::printf(
        "scheme    of %-9s  energy %+.2e, %+.2e with dt/2; enstrophy %+.2e, %+.2e: %s falls with "
        "dt^%.2f: %s\n",
        of_energy ? "energy:" : "enstrophy:", drifts[0].energy, drifts[1].energy, drifts[0].enstrophy,
        drifts[1].enstrophy, of_energy ? "energy" : "enstrophy", std::log2(ratio),
        good ? "right" : "WRONG");
  }
  return right;
}

}  // namespace mica::examples
