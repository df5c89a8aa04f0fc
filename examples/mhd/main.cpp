// mhd: turbulence of a magnetized fluid that decays into heat.
//
//   mhd
//   mhd --points 128 --viscosity 0.004 --time 3
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "examples/common/copy_speed.h"
#include "examples/common/program.h"
#include "examples/mhd/check.h"
#include "examples/mhd/picture.h"
#include "examples/mhd/starts.h"

namespace {

using namespace mica;
using namespace mica::examples;

struct Options {
  std::string picture = "mhd.png", target;
  std::int64_t points = 48;
  double time = 5, dt = 0, speed = 0.5, field = 0.5;
  double viscosity = 0.01, resistivity = 0.01, conductivity = 0.01;
};

constexpr std::int64_t kMostPoints = 1024;
constexpr double kMostSteps = 1e7;

template <typename... Values>
[[noreturn]] void refuse(const char* format, Values... values) {
  char words[240];
  std::snprintf(words, sizeof words, format, values...);
  throw UserError(words);
}

void check(const Options& o) {
  if (o.points < Mhd::kLeastPoints || o.points > kMostPoints) {
    refuse("--points %lld: it must be %lld to %lld, as differences reach 3 points to each side",
           static_cast<long long>(o.points), static_cast<long long>(Mhd::kLeastPoints),
           static_cast<long long>(kMostPoints));
  }
  const auto in_range = [](const char* name, double value, double least, double most, const char* what) {
    if (!(value >= least && value <= most)) {
      refuse("%s %g: it must be %g to %g, %s", name, value, least, most, what);
    }
  };
  in_range("--time", o.time, 1e-6, 1e4, "in units of length over the speed of sound");
  in_range("--speed", o.speed, 0, 2, "over the speed of sound");
  in_range("--field", o.field, 0, 2, "as Alfven speed over that of sound");
  in_range("--viscosity", o.viscosity, 0, 10, "over speed of sound times length");
  in_range("--resistivity", o.resistivity, 0, 10, "over speed of sound times length");
  in_range("--conductivity", o.conductivity, 0, 10, "over density, cp, speed of sound and length");
  if (o.dt != 0) in_range("--dt", o.dt, 1e-9, 1e4, "in the units of --time");
  if (o.speed == 0 && o.field == 0) refuse("--speed 0 --field 0: nothing moves");
}

/// Steps that a stretch of time is divided into, after `time`.
std::int64_t steps_of(double stretch, double dt, double stable, double time) {
  if (dt > stable) refuse("--dt %g: at time %.4g steps are stable up to %.4g", dt, time, stable);
  constexpr double kShare = 0.6;  // of what is stable, as the flow changes on the way
  const double steps = std::ceil(stretch / (dt > 0 ? dt : kShare * stable) * (1 - 1e-9));
  if (!(steps < kMostSteps)) {
    refuse("a time of %g in steps of %.4g is more than %g steps", stretch, dt > 0 ? dt : kShare * stable,
           kMostSteps);
  }
  return static_cast<std::int64_t>(steps);
}

struct Run {
  std::vector<TotalsAt> history;
  std::int64_t steps = 0, timed_steps = 0;
  double seconds = 0;
};

Run carry_out(Mhd& mhd, State& state, const Options& o) {
  Run run;
  run.history = {{0, mhd.totals(state)}};
  const std::int64_t all = steps_of(o.time, o.dt, run.history.front().totals.stable, 0);
  // Totals a few steps apart: they take longer than a step on a GPU.
  constexpr std::int64_t kSteps = 6, kLooks = 50;
  const std::int64_t looks = std::clamp<std::int64_t>(all / kSteps, 1, kLooks);
  const double stretch = o.time / static_cast<double>(looks);
  for (std::int64_t i = 0; i < looks; ++i) {
    const TotalsAt& last = run.history.back();
    const std::int64_t steps = steps_of(stretch, o.dt, last.totals.stable, last.time);
    const auto start = std::chrono::steady_clock::now();
    mhd.run(state, steps, stretch / static_cast<double>(steps));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    run.steps += steps;
    if (i > 0 || looks == 1) {  // the first may compile
      run.seconds += seconds;
      run.timed_steps += steps;
    }
    const TotalsAt now{stretch * static_cast<double>(i + 1), mhd.totals(state)};
    if (!std::isfinite(now.totals.energy())) {
      refuse(
          "the flow has grown beyond all numbers between times %.4g and %.4g: give more --points, or "
          "more --viscosity, --resistivity and --conductivity",
          last.time, now.time);
    }
    run.history.push_back(now);
  }
  return run;
}

void print_speed(const Target& target, const Options& o, const Run& run) {
  const double points = std::pow(static_cast<double>(o.points), 3);
  const double rate = points * static_cast<double>(Mhd::kSubsteps * run.timed_steps) / run.seconds;
  constexpr double kLargest = 2e9;  // beyond it copies are as fast
  const double copy =
      copy_bandwidth(target, static_cast<std::size_t>(std::min(points * Mhd::kBytes, kLargest)));
  std::printf(
      "speed     %.2f million point updates (substeps) a second in %.1f s: %d bytes each, %.2f GB/s, "
      "%.1f %% of a copy of as many bytes (%.1f GB/s)\n",
      rate * 1e-6, run.seconds, Mhd::kBytes, rate * Mhd::kBytes * 1e-9, 100 * rate * Mhd::kBytes / copy,
      copy * 1e-9);
}

void run(const Options& o) {
  const Target target = target_of(o.target);
  std::printf("target    %s (%s)\n", to_string(target).c_str(), device_for(target)->name().c_str());
  Mhd mhd(target);
  bool right = check_waves(mhd);
  right = check_conservation(mhd) && right;
  std::fflush(stdout);

  State state =
      random_flow(o.points, {o.viscosity, 0, o.resistivity, o.conductivity}, o.speed, o.field, 2);
  std::printf("flow      %lld^3 points, speed %g, field %g, viscosity %g, resistivity %g, time %g\n",
              static_cast<long long>(o.points), o.speed, o.field, o.viscosity, o.resistivity, o.time);
  std::fflush(stdout);
  const Run run = carry_out(mhd, state, o);
  const Totals &first = run.history.front().totals, &last = run.history.back().totals;
  std::printf("steps     %lld; stable are %.4f at the start and %.4f at the end\n",
              static_cast<long long>(run.steps), first.stable, last.stable);
  print_speed(target, o, run);
  std::printf("energy    kinetic %.9f to %.9f, magnetic %.9f to %.9f, heat %+.9f\n", first.kinetic,
              last.kinetic, first.magnetic, last.magnetic, last.heat - first.heat);
  const double moving = first.kinetic + first.magnetic;
  const double mass = last.mass / first.mass - 1, energy = (last.energy() - first.energy()) / moving;
  const bool kept = std::abs(mass) < 1e-3 && std::abs(energy) < 1e-2;
  std::printf("balance   mass %+.2e, energy %+.2e of what moved: %s\n", mass, energy,
              kept ? "right" : "WRONG");
  draw(o.picture, run.history, mhd.vorticity(state, o.points / 2));
  std::printf("picture   %s: energies against time, and a slice of the flow\n", o.picture.c_str());
  if (!right) throw Error("the results are not those that are known");
  if (!kept) throw Error("mass or energy is not kept: give more --points or more --viscosity");
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app("Compressible resistive magnetohydrodynamics: 6th order in space, 3rd in time", "mhd");
  app.footer("Example: mhd --points 128 --viscosity 0.004 --time 3");
  app.add_option("--points", o.points, "along each side of the box, 2 pi")->capture_default_str();
  app.add_option("--time", o.time, "in units of length over the speed of sound")->capture_default_str();
  app.add_option("--dt", o.dt, "time step (default: 0.6 of the longest stable one)");
  app.add_option("--speed", o.speed, "at the start, root mean square, over that of sound")
      ->capture_default_str();
  app.add_option("--field", o.field, "the magnetic field's Alfven speed likewise")
      ->capture_default_str();
  app.add_option("--viscosity", o.viscosity, "kinematic")->capture_default_str();
  app.add_option("--resistivity", o.resistivity, "magnetic")->capture_default_str();
  app.add_option("--conductivity", o.conductivity, "of heat")->capture_default_str();
  add_usual_options(app, o.target, o.picture);
  return run_program(app, argc, argv, [&] {
    check(o);
    run(o);
  });
}
