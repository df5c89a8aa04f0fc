#include "examples/mhd/starts.h"

#include <cmath>
#include <numbers>
#include <random>

namespace mica::examples {
namespace {

using Complex = std::complex<double>;
constexpr Complex kI(0, 1);

Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double length(const Vector& v) { return std::hypot(v[0], v[1], v[2]); }
Vector scaled(const Vector& v, double to) {
  const double by = to / length(v);
  return {by * v[0], by * v[1], by * v[2]};
}
Vector real(const std::array<int, 3>& k) { return {1.0 * k[0], 1.0 * k[1], 1.0 * k[2]}; }

/// Adds the real part of amplitude exp(i k.x) to a field.
void add_wave(Buffer<double>& field, const std::array<int, 3>& k, const Complex& amplitude) {
  const auto n = static_cast<std::size_t>(field.extent(0));
  std::array<std::vector<Complex>, 3> along;
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t i = 0; i < n; ++i) {
      const double turn = 2 * std::numbers::pi * k[d] * static_cast<double>(i) / static_cast<double>(n);
      along[d].push_back(std::polar(1.0, turn));
    }
  }
  double* value = field.data();
  for (std::size_t z = 0; z < n; ++z) {
    for (std::size_t y = 0; y < n; ++y) {
      const Complex row = amplitude * along[1][y] * along[2][z];
      for (std::size_t x = 0; x < n; ++x) *value++ += (row * along[0][x]).real();
    }
  }
}

/// One of each pair k, -k with 1 to `finest` periods.
std::vector<std::array<int, 3>> wave_numbers(int finest) {
  std::vector<std::array<int, 3>> all;
  for (int z = 0; z <= finest; ++z) {
    for (int y = -finest; y <= finest; ++y) {
      for (int x = -finest; x <= finest; ++x) {
        const bool half = z > 0 || y > 0 || (y == 0 && x > 0);
        if (half && x * x + y * y + z * z <= finest * finest) all.push_back({x, y, z});
      }
    }
  }
  return all;
}

}  // namespace

State random_flow(std::int64_t points, const Properties& properties, double speed, double field,
                  int finest) {
  State state(points, properties);
  std::mt19937_64 bits(8);
  const auto random = [&] { return std::ldexp(static_cast<double>(bits() >> 11U), -53); };  // 0 to 1
  const auto waves = wave_numbers(finest);
  const double root = std::sqrt(2.0 / static_cast<double>(waves.size()));
  for (const auto& k : waves) {
    for (const bool magnetic : {false, true}) {
      // Across k, and of A along curl B: |B| = |k| |A|.
      const Vector any = {random() - 0.5, random() - 0.5, random() - 0.5};
      const double size = root * (magnetic ? field / length(real(k)) : speed);
      const Vector direction = scaled(cross(real(k), any), size);
      const Complex phase = std::polar(1.0, 2 * std::numbers::pi * random());
      for (std::size_t i = 0; i < 3; ++i) {
        add_wave(state.now[(magnetic ? 5 : 1) + i], k, direction[i] * phase);
      }
    }
  }
  return state;
}

State state_of(const Wave& wave, std::int64_t points, double time) {
  State state(points, wave.properties);
  for (std::size_t i = 0; i < kMhdFields; ++i) {
    add_wave(state.now[i], wave.k, wave.amplitude[i] * std::exp(wave.rate * time));
  }
  return state;
}

Wave alfven_wave(const std::array<int, 3>& k, double speed, double amplitude, Properties properties) {
  const Vector along = real(k);
  const double square = along[0] * along[0] + along[1] * along[1] + along[2] * along[2];
  properties.mean_field = scaled(along, speed);
  // b' = i w u - eta k^2 b and u' = i w b - nu k^2 u, with w = k.B.
  const double w = std::sqrt(square) * speed, nu = properties.viscosity * square,
               eta = properties.resistivity * square;
  Wave wave{k, -(nu + eta) / 2 + kI * std::sqrt(w * w - (nu - eta) * (nu - eta) / 4), {}, properties};
  const Vector first = scaled(cross(along, {0.3, -0.5, 0.8}), 1),
               second = scaled(cross(along, first), 1);
  for (std::size_t i = 0; i < 3; ++i) {
    const Complex b = amplitude * (first[i] + kI * second[i]);
    wave.amplitude[1 + i] = (wave.rate + eta) / (kI * w) * b;
    wave.amplitude[5 + i] = b / std::sqrt(square);  // curl A = b, as k x b = -i |k| b
  }
  return wave;
}

Wave sound_wave(const std::array<int, 3>& k, double amplitude, const Properties& properties) {
  const Vector along = real(k);
  const double number = length(along), square = number * number;
  const double damping = square * (4.0 / 3 * properties.viscosity + properties.bulk_viscosity);
  const double spread = square * properties.conductivity;
  // L' = -i k u, u' = -i k (s + L) - damping u, s' = -spread (gamma s + (gamma - 1) L), of which follows
  // rate^2 + damping rate + k^2 (1 + s/L) = 0.
  Complex rate = kI * number, entropy = 0;
  for (int i = 0; i < 100; ++i) {
    entropy = -spread * (kGamma - 1) / (rate + spread * kGamma);
    rate = -damping / 2 + kI * std::sqrt(square * (1.0 + entropy) - damping * damping / 4);
  }
  Wave wave{k, rate, {}, properties};
  wave.amplitude[0] = amplitude;
  wave.amplitude[4] = amplitude * entropy;
  for (std::size_t i = 0; i < 3; ++i) wave.amplitude[1 + i] = amplitude * kI * rate / square * along[i];
  return wave;
}

}  // namespace mica::examples
