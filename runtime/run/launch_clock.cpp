#include "runtime/run/launch_clock.h"

#include <algorithm>
#include <iterator>

namespace mica {

void LaunchClock::start_cluster(std::uint64_t cluster) {
  next_epoch();
  first_epoch_ = epoch_;
  starts_.push_back({epoch_, cluster});
}

void LaunchClock::meet(std::size_t begin, std::size_t end) {
  if (threads_ == 0 || end - begin == threads_) {
    next_epoch();
    return;
  }
  Past past;
  for (std::size_t t = begin; t < end; ++t) add_past(static_cast<std::int32_t>(t), past);
  for (std::size_t t = begin; t < end; ++t) learn(static_cast<std::int32_t>(t), past);
}

void LaunchClock::add_past(std::int32_t thread, Past& past) {
  past.resize(threads_);
  ++epoch_;
  for (std::size_t i = 0; i < threads_; ++i) past[i] = std::max(past[i], known_[row(thread) + i]);
  past[static_cast<std::size_t>(thread)] = epoch_;
}

void LaunchClock::learn(std::int32_t thread, const Past& past) {
  for (std::size_t i = 0; i < past.size(); ++i) {
    std::uint32_t& known = known_[row(thread) + i];
    known = std::max(known, past[i]);
  }
}

std::uint64_t LaunchClock::cluster_at(std::uint32_t epoch) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), epoch,
                                      [](std::uint32_t e, const Start& s) { return e < s.epoch; });
  return after == starts_.begin() ? 0 : std::prev(after)->cluster;
}

}  // namespace mica
