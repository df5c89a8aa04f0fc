#include "examples/weather/check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "examples/common/larger.h"
#include "examples/weather/steps.h"

namespace mica::examples {
namespace {

/// A step of limited diffusion as loops. Mica adds from the left and rounds a product and its addition
/// once (dsl/expr/rounding.h), so these do, too.
void diffuse_plainly(Buffer<double>& u, const Buffer<double>& c) {
  const Buffer<double> old = u.copy();
  const double *from = old.data(), *coefficient = c.data();
  double* to = u.data();
  const std::int64_t nx = u.extent(0), ny = u.extent(1), nz = u.extent(2);
  const auto laplacian = [&](std::int64_t i) {
    return std::fma(-4.0, from[i], from[i - 1] + from[i + 1] + from[i - nx] + from[i + nx]);
  };
  const auto flux = [&](std::int64_t i, std::int64_t j) {
    const double change = laplacian(j) - laplacian(i);
    return change * (from[j] - from[i]) > 0 ? 0.0 : change;
  };
  for (std::int64_t z = 0; z < nz; ++z) {
    for (std::int64_t y = 2; y < ny - 2; ++y) {
      for (std::int64_t x = 2; x < nx - 2; ++x) {
        const std::int64_t i = x + nx * (y + ny * z);
        const double sum = flux(i, i + 1) - flux(i - 1, i) + flux(i, i + nx) - flux(i - nx, i);
        to[i] = std::fma(-coefficient[i], sum, from[i]);
      }
    }
  }
}

/// A number from 0 to 1 that looks random.
double noise(std::int64_t i) {
  const auto bits = static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<double>((bits ^ (bits >> 29)) >> 11) * 0x1p-53;
}

}  // namespace

bool check_bits(const Coordinates& grid, const Target& target) {
  Buffer<double> u(grid[0], grid[1], grid[2]), c(grid[0], grid[1], grid[2]);
  double *values = u.data(), *coefficients = c.data();
  for (std::int64_t i = 0; i < u.elements(); ++i) {
    values[i] = noise(i);
    coefficients[i] = noise(i + u.elements()) / 32;
  }
  Buffer<double> plain = u.copy();
  constexpr int kSteps = 3;
  Diffusion(true, target).run(u, c, kSteps);
  for (int i = 0; i < kSteps; ++i) diffuse_plainly(plain, c);
  const double *mica = std::as_const(u).data(), *loops = std::as_const(plain).data();
  std::int64_t different = 0;
  for (std::int64_t i = 0; i < u.elements(); ++i) {
    different += std::bit_cast<std::uint64_t>(mica[i]) != std::bit_cast<std::uint64_t>(loops[i]) ? 1 : 0;
  }
  std::printf("diffusion %lld of %lld points differ from plain loops: %s\n",
              static_cast<long long>(different), static_cast<long long>(u.elements()),
              different == 0 ? "right" : "WRONG");
  return different == 0;
}

bool check_damping(const Target& target) {
  constexpr double k = 0.7, l = 0.4, c = 1.0 / 40;
  Buffer<double> u(32, 32, 1), coefficient(32, 32, 1);
  coefficient.fill(c);
  u.for_each([&](double& value, const Coordinates& at) {
    value = std::cos(k * static_cast<double>(at[0])) * std::cos(l * static_cast<double>(at[1]));
  });
  const Buffer<double> before = u.copy();
  Diffusion(true, target).run(u, coefficient, 1);
  const double factor = 4 * std::pow(std::sin(k / 2), 2) + 4 * std::pow(std::sin(l / 2), 2);
  const double expected = 1 - c * factor * factor;
  double worst = 0;
  std::as_const(u)
      .cropped({{2, 28}, {2, 28}, {0, 1}})
      .for_each([&](const double& now, const Coordinates& at) {
        worst = larger(worst, std::abs(now - expected * before(at[0], at[1], 0)));
      });
  const bool right = worst < 1e-13;
  std::printf("diffusion of a wave: x %.9f a step, largest difference %.1e: %s\n", expected, worst,
              right ? "right" : "WRONG");
  return right;
}

double residual(const Buffer<double>& u, const Buffer<double>& next, const Buffer<double>& w,
                double dt) {
  const std::int64_t levels = u.extent(2);
  const Buffer<double> dense_u = u.copy(), dense_next = next.copy(), dense_w = w.copy();
  const double *old = dense_u.data(), *now = dense_next.data(), *flow = dense_w.data();
  const std::int64_t plane = u.extent(0) * u.extent(1);
  double worst = 0;
  for (std::int64_t i = 0; i < u.elements(); ++i) {
    const std::int64_t z = i / plane;
    // Of the flow through the faces of the level, what is half of u and half of the new u.
    double sum = now[i] - old[i], size = std::abs(now[i]) + std::abs(old[i]);
    const auto add = [&](std::int64_t face, std::int64_t to, std::int64_t from) {
      const double share = dt * flow[face] / 4;
      for (const double* values : {now, old}) {
        sum += share * (values[to] - values[from]);
        size += std::abs(share * values[to]) + std::abs(share * values[from]);
      }
    };
    if (z > 0) add(i, i, i - plane);
    if (z < levels - 1) add(i + plane, i + plane, i);
    worst = larger(worst, std::abs(sum) / (size + std::numeric_limits<double>::min()));
  }
  return worst;
}

Rise rise(std::int64_t levels, const Target& target) {
  constexpr double kFrom = 0.3, kTo = 0.7, kBreadth = 0.07;  // of the height
  const auto n = static_cast<double>(levels);
  const auto steps = static_cast<std::int64_t>(std::ceil((kTo - kFrom) * n));
  const double dt = (kTo - kFrom) * n / static_cast<double>(steps);  // at one level a unit of time
  const auto layer = [&](double centre, std::int64_t z) {
    const double away = ((static_cast<double>(z) + 0.5) / n - centre) / kBreadth;
    return std::exp(-away * away);
  };
  Buffer<double> u(2, 3, levels), w(2, 3, levels + 1);
  w.fill(1);
  u.for_each([&](double& value, const Coordinates& at) { value = layer(kFrom, at[2]); });
  Advection(target).run(u, w, dt, steps);
  Rise result;
  for (std::int64_t z = 0; z < levels; ++z) {
    const double height = (static_cast<double>(z) + 0.5) / n, computed = std::as_const(u)(1, 2, z);
    result.start.push_back({layer(kFrom, z), height});
    result.computed.push_back({computed, height});
    result.exact.push_back({layer(kTo, z), height});
    result.error = larger(result.error, std::abs(computed - layer(kTo, z)));
  }
  return result;
}

bool check_order(const Target& target) {
  const double coarse = rise(160, target).error, fine = rise(320, target).error;
  const double order = std::log2(coarse / fine);
  const bool right = std::abs(order - 2) < 0.15;
  std::printf(
      "advection of a layer: error %.3e with 160 levels, %.3e with 320: order %.3f, expected 2: %s\n",
      coarse, fine, order, right ? "right" : "WRONG");
  return right;
}

std::vector<PlotPoint> step_after(std::int64_t steps, bool limited, const Target& target) {
  constexpr std::int64_t kPoints = 65;
  Buffer<double> u(kPoints, kPoints, 1), coefficient(kPoints, kPoints, 1);
  coefficient.fill(1.0 / 40);
  u.for_each([&](double& value, const Coordinates& at) {
    value = std::max(std::abs(at[0] - kPoints / 2), std::abs(at[1] - kPoints / 2)) <= 12 ? 1 : 0;
  });
  Diffusion(limited, target).run(u, coefficient, steps);
  std::vector<PlotPoint> points;
  for (std::int64_t x = 0; x < kPoints; ++x) {
    points.push_back({static_cast<double>(x), std::as_const(u)(x, kPoints / 2, 0)});
  }
  return points;
}

}  // namespace mica::examples
