#include "runtime/emulator/emulated_barriers.h"

#include <algorithm>

namespace mica {

namespace {

constexpr std::int32_t kLastNumber = 15;

}  // namespace

void EmulatedBarriers::start_cluster() {
  phases_.clear();
  before_.clear();
}

std::int32_t EmulatedBarriers::not_known(const Key& barrier, std::int32_t thread) const {
  const auto found = before_.find(barrier);
  if (found == before_.end()) return -1;
  for (const Arrival& came : found->second) {
    if (!clock_.is_before(came.epoch - 1, came.thread, thread)) return came.thread;
  }
  return -1;
}

bool EmulatedBarriers::has_come(const Phase& phase, std::size_t thread) const {
  return std::find(phase.came.begin(), phase.came.end(), static_cast<std::int32_t>(thread)) !=
         phase.came.end();
}

std::string EmulatedBarriers::come(std::int32_t thread, std::int32_t number, std::int32_t count,
                                   bool waits) {
  if (number < 1 || number > kLastNumber) {
    return "comes to named barrier " + std::to_string(number) + "; a block has 1 to " +
           std::to_string(kLastNumber);
  }
  Phase& phase = phases_[key(thread, number)];
  if (!phase.came.empty() && phase.count != count) {
    return "comes to named barrier " + std::to_string(number) + " of " + std::to_string(count) +
           " threads, which is one of " + std::to_string(phase.count) + " for those who came before";
  }
  if (has_come(phase, static_cast<std::size_t>(thread))) {
    return "comes again to " + state(number, phase);
  }
  if (const std::int32_t other = not_known(key(thread, number), thread); other >= 0) {
    return "comes to named barrier " + std::to_string(number) + ", and does not know whether thread " +
           std::to_string(other) + " has been there before";
  }
  phase.count = count;
  phase.came.push_back(thread);
  passed_[static_cast<std::size_t>(thread)] = false;
  clock_.add_past(thread, phase.past);
  if (waits) phase.waiting.push_back(thread);
  const bool all = static_cast<std::int32_t>(phase.came.size()) == count;
  return all ? complete(key(thread, number), phase) : std::string();
}

std::string EmulatedBarriers::complete(const Key& barrier, Phase& phase) {
  std::vector<Arrival>& before = before_[barrier];
  before.clear();
  for (const std::int32_t came : phase.came) {
    before.push_back({came, phase.past[static_cast<std::size_t>(came)]});
    const ClusterThreads::Range warp = threads_.warp_of(static_cast<std::size_t>(came));
    for (std::size_t t = warp.begin; t < warp.end; ++t) {
      if (!has_come(phase, t)) {
        return "completes named barrier " + std::to_string(barrier.second) +
               ", to which only some threads of a warp have come";
      }
    }
  }
  for (const std::int32_t thread : phase.waiting) {
    clock_.learn(thread, phase.past);
    passed_[static_cast<std::size_t>(thread)] = true;
  }
  phase = {};
  return {};
}

std::string EmulatedBarriers::state(std::int32_t number, const Phase& phase) {
  return "named barrier " + std::to_string(number) + ", to which " + std::to_string(phase.came.size()) +
         " of " + std::to_string(phase.count) + " threads have come";
}

std::string EmulatedBarriers::describe(std::int32_t thread, std::int32_t number) const {
  const auto found = phases_.find(key(thread, number));
  return found == phases_.end() ? "named barrier " + std::to_string(number)
                                : state(number, found->second);
}

std::string EmulatedBarriers::left_over() const {
  for (const auto& [key, phase] : phases_) {
    if (!phase.came.empty()) return state(key.second, phase);
  }
  return {};
}

}  // namespace mica
