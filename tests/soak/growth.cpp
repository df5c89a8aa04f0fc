#include "tests/soak/growth.h"

#include <fstream>

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

namespace mica::soak {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

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
  constexpr double kWarmUp = 1.0 / 3;
  const double from = all.front().seconds + kWarmUp * (all.back().seconds - all.front().seconds);
  double first = 0, last = 0, t = 0, b = 0;
  for (const Sample& s : all) {
    if (s.seconds < from) continue;
    if (growth.samples++ == 0) first = s.seconds;
    last = s.seconds;
    t += s.seconds;
    b += s.bytes;
  }
  if (growth.samples < 3) return growth;
  t /= static_cast<double>(growth.samples);
  b /= static_cast<double>(growth.samples);
  double tt = 0, tb = 0;
  for (const Sample& s : all) {
    if (s.seconds < from) continue;
    tt += (s.seconds - t) * (s.seconds - t);
    tb += (s.seconds - t) * (s.bytes - b);
  }
  growth.slope = tt > 0 ? tb / tt : 0;
  growth.seconds = last - first;
  growth.start = b + growth.slope * (first - t);
  growth.end = b + growth.slope * (last - t);
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
