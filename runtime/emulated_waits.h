// What the threads of an emulated block wait for, and which of them may go on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/emulated_bulk.h"

namespace mica {

/// A thread between two resumes: a coroutine handle and what it waits for.
struct EmulatedThread {
  enum class Wait : std::uint8_t { Barrier, Shuffle, Bulk };
  void* handle = nullptr;
  Wait wait = Wait::Barrier;
  std::int32_t site = -1;  ///< Barrier, Shuffle: which of the code's
  // Shuffle: the thread's value, which the exchange replaces.
  std::byte* value = nullptr;
  std::size_t bytes = 0;
  std::int32_t delta = 0;
  // Bulk
  BarrierCell cell;
  std::int32_t parity = 0;

  [[nodiscard]] bool has_ended() const {
    return handle == nullptr || *static_cast<void**>(handle) == nullptr;
  }
  void resume() { (*static_cast<void (**)(void*)>(handle))(handle); }
};

/// The threads of one block, by linear number; 32 neighbours are a warp. `bulk` must outlive it.
class EmulatedWaits {
 public:
  EmulatedWaits(const EmulatedBulk& bulk, std::size_t threads) : bulk_(bulk), threads_(threads) {}

  [[nodiscard]] EmulatedThread& thread(std::int32_t i) { return threads_[static_cast<std::size_t>(i)]; }

  /// Adds to `list` the threads whose bulk copies are there, and those of the warps in which all
  /// threads have come to one shuffle, after exchanging their values.
  void collect_ready(std::vector<std::int32_t>& list);
  /// All threads wait at one barrier.
  [[nodiscard]] bool all_at_barrier() const;
  [[nodiscard]] bool all_ended() const;

  /// Why nobody can go on, when some threads have not ended and none of the above helps.
  struct Stuck {
    enum class Kind : std::uint8_t { Barrier, Shuffle, Bulk };
    Kind kind = Kind::Barrier;
    std::int32_t thread = 0;  ///< one that waits
    /// One that it waits for in vain, if there is such a thread.
    std::optional<std::int32_t> other;
  };
  [[nodiscard]] Stuck why_stuck() const;
  /// "waits at barrier 2", "has ended", ...
  [[nodiscard]] std::string state(std::int32_t thread) const;

 private:
  struct Warp {
    std::size_t begin, end;
  };
  [[nodiscard]] Warp warp_of(std::size_t thread) const;
  [[nodiscard]] bool waits(const EmulatedThread& t, EmulatedThread::Wait wait) const {
    return !t.has_ended() && t.wait == wait;
  }
  [[nodiscard]] bool may_exchange(const Warp& warp) const;
  void exchange(const Warp& warp);

  const EmulatedBulk& bulk_;
  std::vector<EmulatedThread> threads_;
};

}  // namespace mica
