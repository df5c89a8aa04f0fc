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

std::vector<Sample> after_warm_up(const std::vector<Sample>& all) {
  constexpr double kWarmUp = 1.0 / 3;
  std::vector<Sample> later;
  if (all.empty()) return later;
  const double from = all.front().seconds + kWarmUp * (all.back().seconds - all.front().seconds);
  std::ranges::copy_if(all, std::back_inserter(later),
                       [&](const Sample& s) { return s.seconds >= from; });
  return later;
}

Sample least(std::vector<Sample>::const_iterator begin, std::vector<Sample>::const_iterator end) {
  return *std::min_element(begin, end,
                           [](const Sample& a, const Sample& b) { return a.bytes < b.bytes; });
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
      start / kMiB, seconds, end / kMiB, grown() / seconds * 60 / kMiB, samples, bound() / kMiB);
}

Growth growth_of(const std::vector<Sample>& all) {
  const std::vector<Sample> samples = after_warm_up(all);
  Growth growth;
  growth.samples = samples.size();
  if (growth.samples < 3) return growth;
  const auto part = static_cast<std::ptrdiff_t>(growth.samples / 3);
  const Sample first = least(samples.begin(), samples.begin() + part);
  const Sample last = least(samples.end() - part, samples.end());
  growth.seconds = samples.back().seconds - samples.front().seconds;
  growth.start = first.bytes;
  growth.end =
      first.bytes + (last.bytes - first.bytes) / (last.seconds - first.seconds) * growth.seconds;
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
