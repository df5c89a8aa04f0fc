#include "runtime/emulator/emulated_waits.h"

#include <algorithm>
#include <cstring>

namespace mica {

namespace {

constexpr std::size_t kWarp = ClusterThreads::kWarp;

}  // namespace

bool EmulatedWaits::may_exchange(const Range& warp) const {
  if (warp.end - warp.begin < kWarp) return false;
  for (std::size_t i = warp.begin; i < warp.end; ++i) {
    if (!waits(threads_[i], EmulatedThread::Wait::Shuffle)) return false;
    if (threads_[i].site != threads_[warp.begin].site) return false;
  }
  return true;
}

void EmulatedWaits::exchange(const Range& warp) {
  const EmulatedThread& first = threads_[warp.begin];
  const std::size_t bytes = first.bytes;
  std::vector<std::byte> before(bytes * kWarp);
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    std::memcpy(before.data() + lane * bytes, threads_[warp.begin + lane].value, bytes);
  }
  for (std::size_t lane = 0; lane < kWarp; ++lane) {
    const std::int64_t from = static_cast<std::int64_t>(lane) + first.delta;
    if (from < 0 || from >= static_cast<std::int64_t>(kWarp)) continue;
    std::memcpy(threads_[warp.begin + lane].value,
                before.data() + static_cast<std::size_t>(from) * bytes, bytes);
  }
}

void EmulatedWaits::collect_ready(std::vector<std::int32_t>& list) {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const EmulatedThread& t = threads_[i];
    const auto number = static_cast<std::int32_t>(i);
    if (waits(t, EmulatedThread::Wait::Bulk) && bulk_.can_pass(t.cell, t.parity)) list.push_back(number);
    if (waits(t, EmulatedThread::Wait::Named) && barriers_.can_pass(number)) list.push_back(number);
    if (!waits(t, EmulatedThread::Wait::Shuffle)) continue;
    const Range warp = cluster_.warp_of(i);
    if (i != warp.begin || !may_exchange(warp)) continue;
    exchange(warp);
    for (std::size_t k = warp.begin; k < warp.end; ++k) list.push_back(static_cast<std::int32_t>(k));
  }
}

bool EmulatedWaits::at_one_barrier(const Range& block) const {
  const EmulatedThread& first = threads_[block.begin];
  for (std::size_t i = block.begin; i < block.end; ++i) {
    const EmulatedThread& t = threads_[i];
    if (!waits(t, EmulatedThread::Wait::Barrier) || t.site != first.site) return false;
  }
  return true;
}

void EmulatedWaits::collect_met(std::vector<std::int32_t>& list, LaunchClock& clock) const {
  const auto release = [&](const Range& range) {
    clock.meet(range.begin, range.end);
    for (std::size_t i = range.begin; i < range.end; ++i) list.push_back(static_cast<std::int32_t>(i));
  };
  for (std::size_t b = 0; b < cluster_.blocks; ++b) {
    if (at_one_barrier(cluster_.block(b))) release(cluster_.block(b));
  }
  const bool all_at_clusters =
      std::all_of(threads_.begin(), threads_.end(),
                  [&](const EmulatedThread& t) { return waits(t, EmulatedThread::Wait::Cluster); });
  if (all_at_clusters) release({0, threads_.size()});
}

bool EmulatedWaits::all_ended() const {
  return std::all_of(threads_.begin(), threads_.end(),
                     [](const EmulatedThread& t) { return t.has_ended(); });
}

std::optional<EmulatedWaits::Stuck> EmulatedWaits::stuck_at(EmulatedThread::Wait wait,
                                                            Stuck::Kind kind) const {
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [&](const EmulatedThread& t) { return waits(t, wait); });
  if (found == threads_.end()) return std::nullopt;
  return Stuck{kind, static_cast<std::int32_t>(found - threads_.begin()), {}};
}

/// Threads that meet at a barrier of their block differ from its first one.
std::optional<EmulatedWaits::Stuck> EmulatedWaits::stuck_in(const Range& block) const {
  const EmulatedThread& first = threads_[block.begin];
  for (std::size_t i = block.begin + 1; i < block.end; ++i) {
    const EmulatedThread& t = threads_[i];
    const bool alike = first.has_ended() ? t.has_ended() : waits(t, first.wait) && t.site == first.site;
    if (!alike) {
      return Stuck{Stuck::Kind::Barrier, static_cast<std::int32_t>(block.begin),
                   static_cast<std::int32_t>(i)};
    }
  }
  return std::nullopt;
}

EmulatedWaits::Stuck EmulatedWaits::why_stuck() const {
  using Wait = EmulatedThread::Wait;
  if (std::optional<Stuck> stuck = stuck_at(Wait::Shuffle, Stuck::Kind::Shuffle)) {
    const auto at = static_cast<std::size_t>(stuck->thread);
    const Range warp = cluster_.warp_of(at);
    for (std::size_t k = warp.begin; k < warp.end && !stuck->other; ++k) {
      const EmulatedThread& t = threads_[k];
      const bool with = waits(t, Wait::Shuffle) && t.site == threads_[at].site;
      // Threads that wait for something else may themselves wait for others of this warp in vain.
      if (!with) stuck->other = static_cast<std::int32_t>(k);
    }
    return *stuck;
  }
  if (const std::optional<Stuck> stuck = stuck_at(Wait::Bulk, Stuck::Kind::Bulk)) return *stuck;
  if (const std::optional<Stuck> stuck = stuck_at(Wait::Named, Stuck::Kind::Named)) return *stuck;
  for (std::size_t b = 0; b < cluster_.blocks; ++b) {
    if (const std::optional<Stuck> stuck = stuck_in(cluster_.block(b))) return *stuck;
  }
  // The threads of each block are alike, and some wait for other blocks.
  Stuck stuck = stuck_at(Wait::Cluster, Stuck::Kind::Cluster).value_or(Stuck{});
  for (std::size_t b = 0; b < cluster_.blocks && !stuck.other; ++b) {
    const std::size_t first = cluster_.block(b).begin;
    if (!waits(threads_[first], Wait::Cluster)) stuck.other = static_cast<std::int32_t>(first);
  }
  return stuck;
}

std::string EmulatedWaits::state(std::int32_t thread) const {
  const EmulatedThread& t = threads_[static_cast<std::size_t>(thread)];
  if (t.has_ended()) return "has ended";
  switch (t.wait) {
    case EmulatedThread::Wait::Barrier: return "waits at barrier " + std::to_string(t.site);
    case EmulatedThread::Wait::Named: return "waits at " + barriers_.describe(thread, t.site);
    case EmulatedThread::Wait::Cluster: return "waits at a barrier of its cluster";
    case EmulatedThread::Wait::Shuffle:
      return "exchanges values with its warp at shuffle " + std::to_string(t.site);
    case EmulatedThread::Wait::Bulk:
      return "waits for parity " + std::to_string(t.parity) + " of " + t.cell.text();
  }
  return {};
}

}  // namespace mica
