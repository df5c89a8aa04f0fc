#include "runtime/launch_clock.h"

#include <algorithm>
#include <iterator>

namespace mica {

void LaunchClock::start_block(std::uint64_t block) {
  first_epoch_ = ++epoch_;
  starts_.push_back({epoch_, block});
}

std::uint64_t LaunchClock::block_at(std::uint32_t epoch) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), epoch,
                                      [](std::uint32_t e, const Start& s) { return e < s.epoch; });
  return after == starts_.begin() ? 0 : std::prev(after)->block;
}

}  // namespace mica
