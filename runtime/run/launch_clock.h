// The time of an emulated launch, and what each thread knows of the others'.
//
// Clusters of blocks run one after another, and time is counted in epochs: the start of a cluster and
// every barrier begin the next one. A barrier that all threads of a cluster meet at puts everything
// before it before everything after it. After one that only some meet at, these know what the others
// had done; so time is kept as vector clocks, one a thread (C. J. Fidge, "Timestamps in message-passing
// systems that preserve the partial ordering", 1988).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mica {

/// The threads that run together, numbered block after block: those of the blocks of a cluster. A block
/// without a cluster is one of one block.
struct ClusterThreads {
  std::size_t block_threads = 1, blocks = 1;

  static constexpr std::size_t kWarp = 32;

  struct Range {
    std::size_t begin, end;
  };
  [[nodiscard]] std::size_t count() const { return block_threads * blocks; }
  [[nodiscard]] std::size_t block_of(std::size_t thread) const { return thread / block_threads; }
  [[nodiscard]] Range block(std::size_t number) const {
    return {number * block_threads, (number + 1) * block_threads};
  }
  /// The threads of its warp; the last warp of a block may be short.
  [[nodiscard]] Range warp_of(std::size_t thread) const {
    const Range all = block(block_of(thread));
    const std::size_t begin = all.begin + (thread - all.begin) / kWarp * kWarp;
    return {begin, begin + kWarp < all.end ? begin + kWarp : all.end};
  }
};

/// The epochs of one launch, from 1 on. Numbers of clusters are linear, x fastest.
class LaunchClock {
 public:
  /// What those who came to a barrier had done before: by thread, the epoch that it did not belong to
  /// any more. Empty: nothing.
  using Past = std::vector<std::uint32_t>;

  /// Every barrier is one that all threads of a cluster meet at.
  LaunchClock() = default;
  /// Barriers may be of some of the `threads` of a cluster.
  explicit LaunchClock(std::size_t threads) : threads_(threads), known_(threads * threads) {}

  void start_cluster(std::uint64_t cluster);
  /// All threads meet.
  void next_epoch() { meeting_ = ++epoch_; }
  /// Threads [begin, end) meet.
  void meet(std::size_t begin, std::size_t end);
  /// The thread comes to a barrier: what it knows, and what it has done, is added to `past`.
  void add_past(std::int32_t thread, Past& past);
  /// It goes on after a barrier.
  void learn(std::int32_t thread, const Past& past);

  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  /// The epoch in which the cluster of now began.
  [[nodiscard]] std::uint32_t first_epoch() const { return first_epoch_; }
  /// The epoch that began when all threads last met, or the cluster started.
  [[nodiscard]] std::uint32_t last_meeting() const { return meeting_; }
  [[nodiscard]] bool has_partial_barriers() const { return threads_ > 0; }
  [[nodiscard]] std::uint64_t cluster_at(std::uint32_t epoch) const;
  /// In the cluster of now: does what `earlier` did in `epoch` come before what `now` does next? So it
  /// does where they are one thread.
  [[nodiscard]] bool is_before(std::uint32_t epoch, std::int32_t earlier, std::int32_t now) const {
    if (epoch < meeting_ || earlier == now) return true;
    return threads_ > 0 && epoch < known_[row(now) + static_cast<std::size_t>(earlier)];
  }

 private:
  [[nodiscard]] std::size_t row(std::int32_t thread) const {
    return static_cast<std::size_t>(thread) * threads_;
  }
  struct Start {
    std::uint32_t epoch;
    std::uint64_t cluster;
  };
  std::vector<Start> starts_;  // epochs ascend
  std::uint32_t epoch_ = 0, first_epoch_ = 1, meeting_ = 1;
  std::size_t threads_ = 0;  // 0: all meet
  std::vector<std::uint32_t>
      known_;  // [thread][other]: what the other did before is known to the thread
};

}  // namespace mica
