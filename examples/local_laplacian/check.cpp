#include "examples/local_laplacian/check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace mica::examples {
namespace {

/// The filter as one reads it: each value of a pyramid from those that it is made of, again and again.
struct Loops {
  const Photo& photo;
  int levels, samples;  // no samples: one for every coefficient
  Strength strength;

  [[nodiscard]] double colour(std::int64_t x, std::int64_t y, int c) const {
    return photo.values(x, y, c) / static_cast<double>(photo.white);
  }
  [[nodiscard]] double first(std::int64_t x, std::int64_t y) const {
    if (photo.channels() == 1) return colour(x, y, 0);
    return 0.299 * colour(x, y, 0) + 0.587 * colour(x, y, 1) + 0.114 * colour(x, y, 2);
  }
  /// Level l of the pyramid of value(light), with edges repeated.
  template <typename Value>
  double gauss(int l, std::int64_t x, std::int64_t y, const Value& value) const {
    x = std::clamp(x, std::int64_t{0}, (photo.width() - 1) >> l);
    y = std::clamp(y, std::int64_t{0}, (photo.height() - 1) >> l);
    if (l == 0) return value(first(x, y));
    constexpr double kWeights[] = {0.125, 0.375, 0.375, 0.125};
    double sum = 0;
    for (int j = 0; j < 4; ++j) {
      for (int i = 0; i < 4; ++i) {
        sum += kWeights[i] * kWeights[j] * gauss(l - 1, 2 * x - 1 + i, 2 * y - 1 + j, value);
      }
    }
    return sum;
  }
  /// A level with the values of `at`, seen from the one before.
  template <typename At>
  static double doubled(std::int64_t x, std::int64_t y, const At& at) {
    const std::int64_t i = x >> 1, j = y >> 1, beside = i + (x & 1 ? 1 : -1),
                       above = j + (y & 1 ? 1 : -1);
    return 0.75 * (0.75 * at(i, j) + 0.25 * at(beside, j)) +
           0.25 * (0.75 * at(i, above) + 0.25 * at(beside, above));
  }
  /// A coefficient of the Laplacian pyramid of what is remapped around g.
  [[nodiscard]] double coefficient(int l, std::int64_t x, std::int64_t y, double g) const {
    const auto remapped = [&](double i) {
      const double away = (i - g) / strength.sigma, near = std::exp(-away * away / 2);
      return g + (i - g) * (strength.beta + (1 + strength.alpha - strength.beta) * near);
    };
    return gauss(l, x, y, remapped) -
           doubled(x, y, [&](std::int64_t i, std::int64_t j) { return gauss(l + 1, i, j, remapped); });
  }
  [[nodiscard]] double out(int l, std::int64_t x, std::int64_t y) const {
    const double light = gauss(l, x, y, [](double i) { return i; });
    if (l == levels - 1) return light;
    double detail = 0;
    if (samples == 0) {
      detail = coefficient(l, x, y, light);
    } else {
      const int steps = samples - 1, s = std::clamp(static_cast<int>(light * steps), 0, steps - 1);
      const double share = light * steps - s;
      detail = (1 - share) * coefficient(l, x, y, static_cast<double>(s) / steps) +
               share * coefficient(l, x, y, (s + 1.0) / steps);
    }
    const auto coarse = [&](std::int64_t i, std::int64_t j) { return out(l + 1, i, j); };
    return doubled(x, y, coarse) + detail;
  }
  /// A value of the result, in units of white.
  [[nodiscard]] double result(std::int64_t x, std::int64_t y, int c) const {
    constexpr double kDark = 0.01;
    const double value = (colour(x, y, c) + kDark) * (out(0, x, y) + kDark) / (first(x, y) + kDark);
    return std::clamp(value - kDark, 0.0, 1.0);
  }
};

/// Waves, a step, and a little that looks random.
Photo waves(std::int64_t width, std::int64_t height, int channels, int white) {
  Photo photo{Buffer<std::uint16_t>(width, height, channels), white};
  photo.values.for_each([&](std::uint16_t& value, const Coordinates& at) {
    const auto u = static_cast<double>(at[0]), v = static_cast<double>(at[1]);
    const double phase = static_cast<double>(at[2]);
    const double noise =
        static_cast<double>((at[0] * 7919 + at[1] * 104729 + at[2] * 1299709) % 97) / 97;
    const double light = 0.45 + 0.2 * std::sin(u / 3 + phase) * std::cos(v / 4) + 0.1 * noise +
                         (at[0] > width / 2 ? 0.2 : 0.0);
    value = static_cast<std::uint16_t>(light * white);
  });
  return photo;
}

Buffer<std::uint16_t> run(Program& program, const Photo& photo, const Strength& strength) {
  Buffer<std::uint16_t> result(photo.width(), photo.height(), photo.channels());
  program.run(photo.values, photo.white, strength, result);
  return result;
}

std::int64_t differences(const Buffer<std::uint16_t>& a, const Buffer<std::uint16_t>& b) {
  const std::uint16_t *left = a.data(), *right = b.data();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) count += left[i] != right[i] ? 1 : 0;
  return count;
}

const char* word(bool right) { return right ? "right" : "WRONG"; }

}  // namespace

bool check_identity(Program& program, const Photo& photo) {
  const std::int64_t different = differences(run(program, photo, {.alpha = 0, .beta = 1}), photo.values);
  std::printf("identity  alpha 0, beta 1: %lld of %lld values differ from the photo's: %s\n",
              static_cast<long long>(different), static_cast<long long>(photo.values.elements()),
              word(different == 0));
  return different == 0;
}

bool check_constant(Program& program, const Photo& photo) {
  std::int64_t different = 0;
  for (const double light : {0.0, 0.13, 0.5, 0.77, 1.0}) {
    Photo plain{Buffer<std::uint16_t>(photo.width(), photo.height(), photo.channels()), photo.white};
    plain.values.for_each([&](std::uint16_t& value, const Coordinates& at) {
      value = static_cast<std::uint16_t>(light * (1 - 0.3 * static_cast<double>(at[2])) * photo.white);
    });
    different += differences(run(program, plain, {.alpha = 3, .beta = 0.3}), plain.values);
  }
  std::printf("constant  5 plain colours, alpha 3, beta 0.3: %lld values change: %s\n",
              static_cast<long long>(different), word(different == 0));
  return different == 0;
}

bool check_loops(const Target& target) {
  constexpr int kLevels = 3, kSamples = 8;
  const Strength strength{.alpha = 1.5, .beta = 0.6, .sigma = 0.15};
  Program program(3, kLevels, kSamples, target);
  bool all = true;
  for (const int white : {255, 65535}) {
    const Photo photo = waves(23, 17, 3, white);
    const Loops loops{photo, kLevels, kSamples, strength};
    const Buffer<std::uint16_t> result = run(program, photo, strength);
    int largest = 0, changed = 0;
    result.for_each([&](const std::uint16_t& value, const Coordinates& at) {
      const double expected = loops.result(at[0], at[1], static_cast<int>(at[2])) * white;
      largest = std::max(largest, std::abs(value - static_cast<int>(std::lround(expected))));
      changed = std::max(changed, std::abs(value - photo.values(at[0], at[1], at[2])));
    });
    const bool right = largest <= 1 && changed > white / 50;
    std::printf("loops     differ by at most %d of %d, allowed 1; the filter changes %d: %s\n", largest,
                white, changed, word(right));
    all = all && right;
  }
  return all;
}

bool check_order(const Target& target) {
  constexpr int kLevels = 3;
  const Strength strength{.alpha = 1, .beta = 1, .sigma = 0.3};
  const Photo photo = waves(16, 12, 1, 65535);
  const Loops loops{photo, kLevels, 0, strength};
  double errors[2];
  for (int i = 0; i < 2; ++i) {
    Program program(1, kLevels, i == 0 ? 9 : 17, target);
    double sum = 0;
    const Buffer<std::uint16_t> result = run(program, photo, strength);
    result.for_each([&](const std::uint16_t& value, const Coordinates& at) {
      sum += std::pow(value / 65535.0 - loops.result(at[0], at[1], 0), 2);
    });
    errors[i] = std::sqrt(sum / static_cast<double>(photo.values.elements()));
  }
  const double order = std::log2(errors[0] / errors[1]);
  const bool right = std::abs(order - 2) < 0.3;
  std::printf("samples   error %.2e with 9, %.2e with 17: order %.2f, expected 2: %s\n", errors[0],
              errors[1], order, word(right));
  return right;
}

}  // namespace mica::examples
