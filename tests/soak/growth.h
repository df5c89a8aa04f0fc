// Memory over time, and how fast it grows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mica::soak {

struct Sample {
  double seconds = 0;
  double bytes = 0;
};

/// A straight line through the least of the first third of the samples after the warm-up and the least
/// of the last third: what is at work when a sample is taken comes and goes, and what is lost stays.
struct Growth {
  std::size_t samples = 0;    ///< after the warm-up
  double start = 0, end = 0;  ///< bytes: the first of the two, and the line's so many seconds later
  double seconds = 0;         ///< from the first to the last sample

  [[nodiscard]] double grown() const { return end - start; }
  /// What it may grow by, in bytes: 12 MiB and a twentieth, for heaps and the code of what is met late;
  /// in less than a minute, when most is met for the first time, 256 MiB more.
  [[nodiscard]] double bound() const;
  /// Not under a sanitizer, which keeps freed memory and notes of its own, and not of fewer than three
  /// samples.
  [[nodiscard]] bool is_too_much() const;
  /// "212.0 MiB at 40 s, 213.1 MiB at 120 s: +0.83 MiB a minute (81 samples; at most ...)".
  [[nodiscard]] std::string text() const;
};

/// Of the samples after a third of the whole time, the warm-up. Fewer than three: nothing is known, and
/// `samples` says so.
Growth growth_of(const std::vector<Sample>& all);

/// Bytes of this process in memory, after free memory was given back to the system.
double resident_bytes();

}  // namespace mica::soak
