#include "examples/common/seismic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "dsl/func/finite_difference.h"
#include "examples/common/array_file.h"

namespace mica::examples {

namespace {

constexpr float kSlowest = 1e-3F, kFastest = 1e6F;  // km/s, m/s

bool is_velocity(float v) { return v >= kSlowest && v <= kFastest; }

std::string wrong_velocity(float v, std::int64_t sample) {
  const auto turned = std::bit_cast<float>(__builtin_bswap32(std::bit_cast<std::uint32_t>(v)));
  char words[200];
  std::snprintf(words, sizeof words,
                " holds velocity %g at sample %lld; velocities are %g to %g, in m/s or km/s", v,
                static_cast<long long>(sample), kSlowest, kFastest);
  std::string text = words;
  if (is_velocity(turned)) {
    std::snprintf(words, sizeof words,
                  ". In the other byte order it is %g: little-endian samples are needed", turned);
    text += words;
  }
  return text;
}

}  // namespace

Buffer<float> read_velocities(const std::string& path, const std::vector<std::int64_t>& extents) {
  Buffer<float> velocities = read_float_array(path, extents);
  float* v = velocities.data();
  const std::int64_t n = velocities.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    if (!is_velocity(v[i])) throw UserError(path + wrong_velocity(v[i], i));
  }
  if (*std::max_element(v, v + n) < 20.0F) {
    std::transform(v, v + n, v, [](float speed) { return speed * 1000.0F; });
  }
  return velocities;
}

double stable_time_step(double spacing, double fastest, int order, int dimensions) {
  double sum = 0;
  for (const double w : central_difference_weights(2, order)) sum += std::abs(w);
  return 0.9 * 2.0 * spacing / (fastest * std::sqrt(dimensions * sum));
}

double resolved_frequency(double spacing, double slowest) { return slowest / (5.0 * spacing * 2.5); }

double ricker_at(double frequency, double t) {
  const double a = std::pow(std::numbers::pi * frequency * (t - 1.2 / frequency), 2);
  return (1.0 - 2.0 * a) * std::exp(-a);
}

Buffer<float> ricker(double frequency, double dt) {
  constexpr double kSmallest = 700;  // exp(-a) is no number beyond
  const double seconds = 1.2 / frequency + std::sqrt(kSmallest) / (std::numbers::pi * frequency);
  constexpr double kMostSamples = 1 << 26;
  if (!(seconds / dt < kMostSamples)) {
    throw UserError("a wavelet of " + std::to_string(frequency) + " Hz lasts " +
                    std::to_string(seconds / dt) + " steps; give a frequency of at least " +
                    std::to_string(frequency * seconds / dt / kMostSamples) + " Hz");
  }
  Buffer<float> wavelet(static_cast<std::int64_t>(seconds / dt) + 2);
  for (std::int64_t step = 0; step + 1 < wavelet.extent(0); ++step) {
    wavelet(step) = static_cast<float>(ricker_at(frequency, static_cast<double>(step) * dt));
  }
  wavelet(wavelet.extent(0) - 1) = 0;
  return wavelet;
}

double Sponge::damping(std::int64_t i, std::int64_t n) const {
  if (margin == 0) return 0;
  const std::int64_t steps = std::max({margin - i, i - (n - 1 - margin), std::int64_t{0}});
  const double width = static_cast<double>(margin) * spacing;
  const double s = static_cast<double>(steps) / static_cast<double>(margin);
  return 1.5 * fastest / width * std::log(1e4) * s * s;
}

}  // namespace mica::examples
