// Jacobi's relaxation of Laplace's equation on a square, and a mode whose decay is known.
#pragma once

#include <cstdint>

#include "schedules/mica.h"

namespace mica::examples {

/// u(x, y) = a quarter of its four neighbours, on `points`^2 points (0, 0) to (points - 1, points - 1),
/// with a rim of zeros around them.
struct Jacobi {
  /// `at_once` steps are one kernel.
  Jacobi(const Target& target, int at_once);
  ImageParam u{Float(64), 2, "u"};
  Iteration steps;
};

/// sin(k pi (x + 1) h) sin(k pi (y + 1) h), h = 1/(points + 1): every step multiplies it by cos(k pi h).
class Mode {
 public:
  /// The mode of which `steps` steps leave about a half.
  Mode(std::int64_t points, std::int64_t steps);
  [[nodiscard]] int half_waves() const { return half_waves_; }
  /// What is left of it after `steps` steps.
  [[nodiscard]] double amplitude(std::int64_t steps) const;
  /// u becomes the mode, with zeros around it.
  void put_into(Buffer<double>& u) const;
  /// The root of the mean square of (u - amplitude * mode), over the amplitude.
  [[nodiscard]] double difference(const Buffer<double>& u, double amplitude) const;

 private:
  std::int64_t points_;
  int half_waves_;
  Buffer<double> wave_;  ///< along x, and along y
};

/// Are the bits of all points the same?
bool same_bits(const Buffer<double>& a, const Buffer<double>& b);

/// {min, extent} of columns and of rows.
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

}  // namespace mica::examples
