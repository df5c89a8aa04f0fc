#include "examples/mhd/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "examples/common/larger.h"
#include "examples/mhd/starts.h"

namespace mica::examples {
namespace {

constexpr std::int64_t kCoarse = 12, kFine = 2 * kCoarse;

/// The state that n points come to after the time of `coarse` steps on kCoarse points, whose steps are
/// longer by the square of the ratio.
void run_for(Mhd& mhd, State& state, double time, std::int64_t coarse) {
  const std::int64_t ratio = state.n / kCoarse, steps = coarse * ratio * ratio;
  mhd.run(state, steps, time / static_cast<double>(steps));
}

struct Measured {
  double error = 0;           ///< largest of all fields, as a share of the largest amplitude
  std::complex<double> rate;  ///< that of the wave's factor
};

Measured measure(Mhd& mhd, const Wave& wave, std::int64_t points, double time) {
  State state = state_of(wave, points, 0);
  const State exact = state_of(wave, points, time);
  run_for(mhd, state, time, 4);
  Measured measured;
  double largest = 0;
  std::complex<double> overlap = 0;
  const double h = state.h();
  for (std::size_t i = 0; i < kMhdFields; ++i) {
    const std::complex<double> conjugate = std::conj(wave.amplitude[i]);
    largest = std::max(largest, std::abs(conjugate));
    const double* is = std::as_const(state.now[i]).data();
    exact.now[i].for_each([&](const double& value, const Coordinates& at) {
      const double turn =
          h * static_cast<double>(wave.k[0] * at[0] + wave.k[1] * at[1] + wave.k[2] * at[2]);
      measured.error = larger(measured.error, std::abs(*is - value));
      overlap += conjugate * std::polar(1.0, -turn) * *is++;
    });
  }
  double norm = 0;
  for (const auto& amplitude : wave.amplitude) norm += std::norm(amplitude);
  const double n = static_cast<double>(points);
  measured.error /= largest;
  measured.rate = std::log(overlap / (norm * n * n * n / 2)) / time;
  return measured;
}

bool check_wave(Mhd& mhd, const char* name, const Wave& wave) {
  const double time = 1 / std::abs(wave.rate);
  const Measured coarse = measure(mhd, wave, kCoarse, time), fine = measure(mhd, wave, kFine, time);
  const double order = std::log2(coarse.error / fine.error);
  const bool right = std::abs(order - 6) < 0.5 && fine.error < 1e-3;
  std::printf(
      "%-9s frequency %.6f, theory %.6f; damping %.6f, theory %.6f; error %.1e on %lld^3, %.1e on "
      "%lld^3: order %.2f, expected 6: %s\n",
      name, fine.rate.imag(), wave.rate.imag(), -fine.rate.real(), 0 - wave.rate.real(), coarse.error,
      static_cast<long long>(kCoarse), fine.error, static_cast<long long>(kFine), order,
      right ? "right" : "WRONG");
  return right;
}

}  // namespace

bool check_waves(Mhd& mhd) {
  const bool large = check_wave(mhd, "alfven", alfven_wave({1, 1, 1}, 0.5, 0.4, {}));
  const bool damped =
      check_wave(mhd, "damped", alfven_wave({1, -1, 1}, 0.5, 1e-7, {0.05, 0.1, 0.02, 0.03}));
  const bool sound = check_wave(mhd, "sound", sound_wave({1, 1, -1}, 1e-7, {0.05, 0.02, 0.04, 0.06}));
  return large && damped && sound;
}

bool check_conservation(Mhd& mhd) {
  double mass[2], energy[2], heated = 0;
  for (int fine = 0; fine < 2; ++fine) {
    State state =
        random_flow(fine == 1 ? kFine : kCoarse, {0.1, 0, 0.05, 0.1, {0.2, 0, 0.1}}, 0.3, 0.3, 1);
    const Totals before = mhd.totals(state);
    run_for(mhd, state, 1, 8);
    const Totals after = mhd.totals(state);
    mass[fine] = after.mass - before.mass;
    energy[fine] = after.energy() - before.energy();
    heated = after.heat - before.heat;
  }
  const double mass_order = std::log2(std::abs(mass[0] / mass[1])),
               energy_order = std::log2(std::abs(energy[0] / energy[1]));
  const bool right = mass_order > 5 && energy_order > 5;
  std::printf(
      "drift     of mass %+.1e, %+.1e: order %.2f; of energy, while %.1e becomes heat, %+.1e, %+.1e: "
      "order %.2f; expected 6: %s\n",
      mass[0], mass[1], mass_order, heated, energy[0], energy[1], energy_order,
      right ? "right" : "WRONG");
  return right;
}

}  // namespace mica::examples
