#include "runtime/bulk_phases.h"

#include <algorithm>

namespace mica {

void BulkPhases::start_block() {
  phases_.clear();
  barriers_.clear();
}

std::uint32_t BulkPhases::add_barrier() {
  barriers_.push_back({0, std::vector<std::uint32_t>(threads_, 0)});
  return static_cast<std::uint32_t>(barriers_.size() - 1);
}

std::uint32_t BulkPhases::complete(std::uint32_t barrier) {
  phases_.push_back({barrier, ++barriers_[barrier].completed, 0});
  return static_cast<std::uint32_t>(phases_.size());
}

void BulkPhases::pass(std::uint32_t phase, std::int32_t thread) {
  Phase& p = phases_[phase - 1];
  if (p.first_epoch == 0) p.first_epoch = clock_.epoch();
  std::uint32_t& latest = barriers_[p.barrier].passed[static_cast<std::size_t>(thread)];
  latest = std::max(latest, p.order);
}

bool BulkPhases::known(std::uint32_t phase, std::int32_t thread) const {
  const Phase& p = phases_[phase - 1];
  if (p.first_epoch != 0 && p.first_epoch < clock_.epoch()) return true;
  return barriers_[p.barrier].passed[static_cast<std::size_t>(thread)] >= p.order;
}

}  // namespace mica
