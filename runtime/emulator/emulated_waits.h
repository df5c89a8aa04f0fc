// What the threads of an emulated cluster wait for, and which of them may go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/emulator/emulated_barriers.h"
#include "runtime/emulator/emulated_bulk.h"
#include "runtime/emulator/fiber.h"
#include "runtime/run/launch_clock.h"

namespace mica {

/// A thread between its turns: where it goes on, and what it waits for.
struct EmulatedThread {
  enum class Wait : std::uint8_t { Barrier, Named, Cluster, Shuffle, Bulk };
  Fiber fiber;
  Wait wait = Wait::Barrier;
  std::int32_t site = -1;  ///< Barrier, Shuffle: which of the code's; Named: the barrier's number
  // Shuffle: the thread's value, which the exchange replaces.
  std::byte* value = nullptr;
  std::size_t bytes = 0;
  std::int32_t delta = 0;
  // Bulk
  BarrierCell cell;
  std::int32_t parity = 0;

  [[nodiscard]] bool has_ended() const { return fiber.has_ended(); }
};

/// The threads of one cluster, by number. What is given must outlive it.
class EmulatedWaits {
 public:
  EmulatedWaits(const ClusterThreads& cluster, const EmulatedBulk& bulk,
                const EmulatedBarriers& barriers)
      : cluster_(cluster), bulk_(bulk), barriers_(barriers), threads_(cluster.count()) {}

  [[nodiscard]] EmulatedThread& thread(std::int32_t i) { return threads_[static_cast<std::size_t>(i)]; }

  /// Adds to `list` the threads whose bulk copies are there or whose named barriers are complete, and
  /// those of the warps in which all threads have come to one shuffle, after exchanging their values.
  void collect_ready(std::vector<std::int32_t>& list);
  /// The same for the blocks in which all threads wait at one barrier, or all blocks if all threads wait
  /// at the cluster's; they meet.
  void collect_met(std::vector<std::int32_t>& list, LaunchClock& clock) const;
  [[nodiscard]] bool all_ended() const;

  /// Why nobody can go on, when some threads have not ended and none of the above helps.
  struct Stuck {
    enum class Kind : std::uint8_t { Barrier, Named, Cluster, Shuffle, Bulk };
    Kind kind = Kind::Barrier;
    std::int32_t thread = 0;  ///< one that waits
    /// One that it waits for in vain, if there is such a thread.
    std::optional<std::int32_t> other;
  };
  [[nodiscard]] Stuck why_stuck() const;
  /// "waits at barrier 2", "has ended", ...
  [[nodiscard]] std::string state(std::int32_t thread) const;

 private:
  using Range = ClusterThreads::Range;
  [[nodiscard]] bool waits(const EmulatedThread& t, EmulatedThread::Wait wait) const {
    return !t.has_ended() && t.wait == wait;
  }
  [[nodiscard]] bool may_exchange(const Range& warp) const;
  void exchange(const Range& warp);
  /// All threads of the block wait at one barrier.
  [[nodiscard]] bool at_one_barrier(const Range& block) const;
  /// The first thread that waits so.
  [[nodiscard]] std::optional<Stuck> stuck_at(EmulatedThread::Wait wait, Stuck::Kind kind) const;
  /// The block's first thread and one that does not wait as it does.
  [[nodiscard]] std::optional<Stuck> stuck_in(const Range& block) const;

  const ClusterThreads& cluster_;
  const EmulatedBulk& bulk_;
  const EmulatedBarriers& barriers_;
  std::vector<EmulatedThread> threads_;
};

}  // namespace mica
