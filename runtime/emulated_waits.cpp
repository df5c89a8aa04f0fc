#include "runtime/emulated_waits.h"

#include <algorithm>
#include <cstring>

namespace mica {

namespace {

constexpr std::size_t kWarp = 32;  // threads

}  // namespace

EmulatedWaits::Warp EmulatedWaits::warp_of(std::size_t thread) const {
  const std::size_t begin = thread / kWarp * kWarp;
  return {begin, std::min(begin + kWarp, threads_.size())};
}

bool EmulatedWaits::may_exchange(const Warp& warp) const {
  if (warp.end - warp.begin < kWarp) return false;
  for (std::size_t i = warp.begin; i < warp.end; ++i) {
    if (!waits(threads_[i], EmulatedThread::Wait::Shuffle)) return false;
    if (threads_[i].site != threads_[warp.begin].site) return false;
  }
  return true;
}

void EmulatedWaits::exchange(const Warp& warp) {
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
    if (waits(t, EmulatedThread::Wait::Bulk) && bulk_.can_pass(t.cell, t.parity)) {
      list.push_back(static_cast<std::int32_t>(i));
    }
    if (i % kWarp != 0 || !waits(t, EmulatedThread::Wait::Shuffle)) continue;
    const Warp warp = warp_of(i);
    if (!may_exchange(warp)) continue;
    exchange(warp);
    for (std::size_t k = warp.begin; k < warp.end; ++k) list.push_back(static_cast<std::int32_t>(k));
  }
}

bool EmulatedWaits::all_at_barrier() const {
  return std::all_of(threads_.begin(), threads_.end(), [&](const EmulatedThread& t) {
    return waits(t, EmulatedThread::Wait::Barrier) && t.site == threads_.front().site;
  });
}

bool EmulatedWaits::all_ended() const {
  return std::all_of(threads_.begin(), threads_.end(),
                     [](const EmulatedThread& t) { return t.has_ended(); });
}

EmulatedWaits::Stuck EmulatedWaits::why_stuck() const {
  const auto number = [](std::size_t i) { return static_cast<std::int32_t>(i); };
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (!waits(threads_[i], EmulatedThread::Wait::Shuffle)) continue;
    Stuck stuck{Stuck::Kind::Shuffle, number(i), {}};
    const Warp warp = warp_of(i);
    for (std::size_t k = warp.begin; k < warp.end && !stuck.other; ++k) {
      const EmulatedThread& t = threads_[k];
      const bool with = waits(t, EmulatedThread::Wait::Shuffle) && t.site == threads_[i].site;
      // Threads that wait for something else may themselves wait for others of this warp in vain.
      if (!with) stuck.other = number(k);
    }
    return stuck;
  }
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (waits(threads_[i], EmulatedThread::Wait::Bulk)) return {Stuck::Kind::Bulk, number(i), {}};
  }
  Stuck stuck;
  const bool ended = threads_.front().has_ended();
  for (std::size_t i = 1; i < threads_.size() && !stuck.other; ++i) {
    const EmulatedThread& t = threads_[i];
    if (t.has_ended() != ended || (!ended && t.site != threads_.front().site)) stuck.other = number(i);
  }
  return stuck;
}

std::string EmulatedWaits::state(std::int32_t thread) const {
  const EmulatedThread& t = threads_[static_cast<std::size_t>(thread)];
  if (t.has_ended()) return "has ended";
  switch (t.wait) {
    case EmulatedThread::Wait::Barrier: return "waits at barrier " + std::to_string(t.site);
    case EmulatedThread::Wait::Shuffle:
      return "exchanges values with its warp at shuffle " + std::to_string(t.site);
    case EmulatedThread::Wait::Bulk:
      return "waits for parity " + std::to_string(t.parity) + " of " + t.cell.text();
  }
  return {};
}

}  // namespace mica
