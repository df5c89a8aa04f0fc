// Flows to begin with.
#pragma once

#include <complex>

#include "examples/mhd/fluid.h"

namespace mica::examples {

/// Velocity and magnetic field of root mean square `speed` and `field`, without divergence, of random
/// waves with 1 to `finest` periods along the box: turbulence begins from them. The same numbers in all
/// programs and for any number of points.
State random_flow(std::int64_t points, const Properties& properties, double speed, double field,
                  int finest);

/// A small or an exact wave: each field is the real part of its amplitude times exp(i k.x + rate t).
struct Wave {
  std::array<int, 3> k{};  ///< periods along the box
  std::complex<double> rate;
  std::array<std::complex<double>, kMhdFields> amplitude{};
  Properties properties{};
};

/// The wave at a time.
State state_of(const Wave& wave, std::int64_t points, double time);

/// Circularly polarized Alfven wave along a field of Alfven speed `speed` in the direction of k. Of any
/// amplitude it is an exact solution while nothing damps it; damped, while it is small (S.
/// Chandrasekhar, Hydrodynamic and Hydromagnetic Stability, Oxford (1961)).
Wave alfven_wave(const std::array<int, 3>& k, double speed, double amplitude, Properties properties);
/// Sound, damped by viscosities and conduction of heat (G. Kirchhoff, Annalen der Physik 210 (1868)
/// 177-193).
Wave sound_wave(const std::array<int, 3>& k, double amplitude, const Properties& properties);

}  // namespace mica::examples
