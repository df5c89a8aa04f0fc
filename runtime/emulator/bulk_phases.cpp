#include "runtime/emulator/bulk_phases.h"

#include <algorithm>

namespace mica {

void BulkPhases::start_cluster() {
  phases_.clear();
  barriers_.clear();
}

std::uint32_t BulkPhases::add_barrier() {
  barriers_.push_back({0, std::vector<std::uint32_t>(threads_, 0), {}});
  return static_cast<std::uint32_t>(barriers_.size() - 1);
}

std::uint32_t BulkPhases::complete(std::uint32_t barrier) {
  phases_.push_back({barrier, ++barriers_[barrier].completed});
  return static_cast<std::uint32_t>(phases_.size());
}

void BulkPhases::pass(std::uint32_t phase, std::int32_t thread) {
  const Phase& p = phases_[phase - 1];
  Barrier& barrier = barriers_[p.barrier];
  std::uint32_t& latest = barrier.passed[static_cast<std::size_t>(thread)];
  latest = std::max(latest, p.order);
  const bool is_first = barrier.passes.empty() || barrier.passes.back().order != p.order;
  if (is_first || clock_.has_partial_barriers())
    barrier.passes.push_back({p.order, thread, clock_.epoch()});
}

bool BulkPhases::known(std::uint32_t phase, std::int32_t thread) const {
  const Phase& p = phases_[phase - 1];
  const Barrier& barrier = barriers_[p.barrier];
  if (barrier.passed[static_cast<std::size_t>(thread)] >= p.order) return true;
  return std::any_of(barrier.passes.rbegin(), barrier.passes.rend(), [&](const Pass& pass) {
    return pass.order >= p.order && clock_.is_before(pass.epoch, pass.thread, thread);
  });
}

}  // namespace mica
