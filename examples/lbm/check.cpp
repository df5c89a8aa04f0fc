#include "examples/lbm/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "examples/common/larger.h"

namespace mica::examples {
namespace {

double energy(const Fields& fields) {
  double sum = 0;
  for (const Buffer<double>& component : {fields.u, fields.v, fields.w}) {
    component.for_each([&](const double& c, const Coordinates&) { sum += c * c; });
  }
  return sum;
}

/// The rate at which vortices of one wavelength of n cells decay in the plane of two axes, beside 2 k^2
/// times the viscosity.
double relative_rate(std::size_t first, std::size_t second, std::int64_t n, Lattice& lattice) {
  constexpr double kSpeed = 0.02;
  const double k = 2 * std::numbers::pi / static_cast<double>(n);
  Setup setup;
  setup.viscosity = 0.05;
  setup.cells[first] = setup.cells[second] = n;
  setup.start = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const std::int64_t at[] = {x, y, z};
    const double a = k * static_cast<double>(at[first]), b = k * static_cast<double>(at[second]);
    Vector u{};
    // Slower on finer grids, so that the error of compressibility is of second order, too.
    const double speed = kSpeed * 12 / static_cast<double>(n);
    u[first] = speed * std::cos(a) * std::sin(b);
    u[second] = -speed * std::sin(a) * std::cos(b);
    return u;
  };
  lattice.begin(setup);
  const auto time = static_cast<std::int64_t>(0.5 / (setup.viscosity * k * k));
  lattice.run(time / 4);  // the start has no pressure and no stresses
  const double before = energy(lattice.fields());
  lattice.run(time);
  const double rate = -std::log(energy(lattice.fields()) / before) / static_cast<double>(time) / 2;
  return rate / (2 * setup.viscosity * k * k);
}

}  // namespace

Plates between_plates(Lattice& lattice) {
  constexpr std::int64_t kHeight = 9;
  constexpr double kSpeed = 0.05, kWide = kHeight;
  Setup setup;
  setup.cells = {1, kHeight + 2, 1};
  setup.force = 8 * setup.viscosity * kSpeed / (kWide * kWide);
  setup.solid = [](std::int64_t, std::int64_t y, std::int64_t) { return y == 0 || y == kHeight + 1; };
  lattice.begin(setup);
  lattice.run(1200);
  const Fields fields = lattice.fields();
  const auto exact = [&](double height) {
    return setup.force / (2 * setup.viscosity) * height * (kWide - height);
  };
  Plates plates;
  for (std::int64_t y = 1; y <= kHeight; ++y) {
    const double height = static_cast<double>(y) - 0.5, u = std::as_const(fields.u)(0, y, 0);
    plates.computed.push_back({u, height});
    plates.error = larger(plates.error, std::abs(u - exact(height)) / kSpeed);
  }
  constexpr int kDrawn = 60;
  for (int i = 0; i <= kDrawn; ++i) {
    const double height = kWide * i / kDrawn;
    plates.exact.push_back({exact(height), height});
  }
  return plates;
}

bool check_viscosity(const Plates& plates) {
  const bool right = plates.error < 1e-4;
  std::printf("plates    u between two plates is off by %.1e of its largest, allowed 1.0e-04: %s\n",
              plates.error, right ? "right" : "WRONG");
  return right;
}

bool check_decay(Lattice& lattice) {
  bool all = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double coarse = relative_rate(axis, (axis + 1) % 3, 12, lattice);
    const double fine = relative_rate(axis, (axis + 1) % 3, 24, lattice);
    const double order = std::log2((coarse - 1) / (fine - 1));
    const bool right = std::abs(fine - 1) < 0.02 && std::abs(order - 2) < 0.3;
    std::printf(
        "vortices  in %c, %c decay at %.5f of 2 k^2 viscosity on 12 cells, %.5f on 24: order %.2f, "
        "expected 2: %s\n",
        "xyz"[axis], "xyz"[(axis + 1) % 3], coarse, fine, order, right ? "right" : "WRONG");
    all = all && right;
  }
  return all;
}

bool check_mass(Lattice& lattice) {
  constexpr std::int64_t kSide = 16, kSteps = 100;
  Setup setup;
  setup.cells = {kSide, kSide, kSide};
  setup.force = 1e-4;
  setup.solid = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return (x - 8) * (x - 8) + (y - 8) * (y - 8) + (z - 8) * (z - 8) < 16;
  };
  lattice.begin(setup);
  const double before = lattice.excess_mass();
  lattice.run(kSteps);
  const double cells = kSide * kSide * kSide;
  const double drift = (lattice.excess_mass() - before) / cells;
  // Each population is the result of a dozen roundings of numbers of its own size.
  const double bound = kSteps * Lattice::kVelocities * 12 * 0x1p-24 * lattice.largest();
  const bool right = std::abs(drift) <= bound;
  std::printf("mass      in a closed box with a sphere: drift %+.2e, bound of rounding %.2e: %s\n",
              drift, bound, right ? "right" : "WRONG");
  return right;
}

}  // namespace mica::examples
