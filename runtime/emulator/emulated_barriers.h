// The named barriers of an emulated cluster's blocks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/run/launch_clock.h"

namespace mica {

/// A phase of a named barrier is complete when as many threads of the block have come as they say, in
/// whole warps; the next one then begins. Those that wait know afterwards what all who came had done by
/// then; those that only arrive learn nothing. Nobody comes again who does not know that all of the
/// phase before have come: on a device one of them may be late, and two phases would become one. What is
/// given must outlive it.
class EmulatedBarriers {
 public:
  EmulatedBarriers(LaunchClock& clock, const ClusterThreads& threads)
      : clock_(clock), threads_(threads), passed_(threads.count()) {}

  /// Forgets everything.
  void start_cluster();
  /// The thread comes to barrier `number` of its block, which `count` threads complete. What it does
  /// wrong, to be put after its name; empty: nothing.
  std::string come(std::int32_t thread, std::int32_t number, std::int32_t count, bool waits);
  /// Is the phase that the thread waits for complete?
  [[nodiscard]] bool can_pass(std::int32_t thread) const {
    return passed_[static_cast<std::size_t>(thread)];
  }
  /// How far the barrier of the thread's block is: "named barrier 1, to which 32 of 64 threads have
  /// come".
  [[nodiscard]] std::string describe(std::int32_t thread, std::int32_t number) const;
  /// After the last thread: a barrier to which some have come in vain, as describe has it; empty: none.
  [[nodiscard]] std::string left_over() const;

 private:
  struct Phase {
    std::int32_t count = 0;
    std::vector<std::int32_t> came, waiting;
    LaunchClock::Past past;
  };
  /// Who came to the phase before, and when.
  struct Arrival {
    std::int32_t thread;
    std::uint32_t epoch;
  };
  using Key = std::pair<std::size_t, std::int32_t>;  ///< block of the cluster, barrier
  [[nodiscard]] Key key(std::int32_t thread, std::int32_t number) const {
    return {threads_.block_of(static_cast<std::size_t>(thread)), number};
  }
  /// One who came to the phase before, of which the thread does not know it; -1: none.
  [[nodiscard]] std::int32_t not_known(const Key& barrier, std::int32_t thread) const;
  [[nodiscard]] bool has_come(const Phase& phase, std::size_t thread) const;
  std::string complete(const Key& barrier, Phase& phase);
  static std::string state(std::int32_t number, const Phase& phase);

  LaunchClock& clock_;
  const ClusterThreads& threads_;
  std::map<Key, Phase> phases_;
  std::map<Key, std::vector<Arrival>> before_;
  std::vector<bool> passed_;  // by thread: the phase that it came to last is complete
};

}  // namespace mica
