#include "tests/soak/growth.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

namespace mica::soak {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// Those after the warm-up; of many, the least of some that follow each other: what is at work when a
/// sample is taken comes and goes, what is lost stays.
std::vector<Sample> settled(const std::vector<Sample>& all) {
  constexpr double kWarmUp = 1.0 / 3;
  constexpr std::size_t kLeft = 16;
  std::vector<Sample> later;
  const double from = all.front().seconds + kWarmUp * (all.back().seconds - all.front().seconds);
  std::ranges::copy_if(all, std::back_inserter(later),
                       [&](const Sample& s) { return s.seconds >= from; });
  const std::size_t together = std::max<std::size_t>(1, later.size() / kLeft);
  std::vector<Sample> least;
  for (std::size_t i = 0; i + together <= later.size(); i += together) {
    const auto first = later.begin() + static_cast<std::ptrdiff_t>(i);
    least.push_back(
        *std::min_element(first, first + static_cast<std::ptrdiff_t>(together),
                          [](const Sample& a, const Sample& b) { return a.bytes < b.bytes; }));
  }
  return least;
}

}  // namespace

double Growth::bound() const {
  constexpr double kAlways = 12 * kMiB, kShare = 0.05, kShort = 60, kEarly = 256 * kMiB;
  return kAlways + kShare * start + (seconds < kShort ? kEarly : 0);
}

bool Growth::is_too_much() const {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return samples >= 3 && grown() > bound();
#endif
}

std::string Growth::text() const {
  if (samples < 3) return fmt::format("unknown, of {} samples", samples);
  return fmt::format(
      "{:.1f} MiB, {:.0f} s later {:.1f} MiB: {:+.2f} MiB a minute ({} samples; at most {:.1f} MiB "
      "more)",
      start / kMiB, seconds, end / kMiB, slope * 60 / kMiB, samples, bound() / kMiB);
}

Growth growth_of(const std::vector<Sample>& all) {
  Growth growth;
  if (all.empty()) return growth;
  const std::vector<Sample> samples = settled(all);
  growth.samples = samples.size();
  if (growth.samples < 3) return growth;
  double t = 0, b = 0;
  for (const Sample& s : samples) {
    t += s.seconds;
    b += s.bytes;
  }
  t /= static_cast<double>(growth.samples);
  b /= static_cast<double>(growth.samples);
  double tt = 0, tb = 0;
  for (const Sample& s : samples) {
    tt += (s.seconds - t) * (s.seconds - t);
    tb += (s.seconds - t) * (s.bytes - b);
  }
  growth.slope = tt > 0 ? tb / tt : 0;
  growth.seconds = samples.back().seconds - samples.front().seconds;
  growth.start = b + growth.slope * (samples.front().seconds - t);
  growth.end = b + growth.slope * (samples.back().seconds - t);
  return growth;
}

double resident_bytes() {
  (void)malloc_trim(0);
  std::ifstream in("/proc/self/statm");
  double size = 0, resident = 0;
  in >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace mica::soak
