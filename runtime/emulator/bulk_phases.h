// Which threads of an emulated cluster know which bulk copies are done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/run/launch_clock.h"

namespace mica {

/// The completed phases of a cluster's transaction barriers, numbered from 1 in the order in which they
/// are completed. A thread knows of a phase once it has passed a wait for it or for a later one of the
/// same barrier, and once somebody's wait comes before what it does now. `clock` must outlive it.
class BulkPhases {
 public:
  BulkPhases(const LaunchClock& clock, std::size_t threads) : clock_(clock), threads_(threads) {}

  /// Forgets everything.
  void start_cluster();
  /// The number of a transaction barrier that is set up now, from 0 on.
  std::uint32_t add_barrier();
  /// The barrier's current phase is complete now; its number.
  std::uint32_t complete(std::uint32_t barrier);
  /// The thread has waited for the phase.
  void pass(std::uint32_t phase, std::int32_t thread);
  [[nodiscard]] bool known(std::uint32_t phase, std::int32_t thread) const;

 private:
  struct Phase {
    std::uint32_t barrier = 0;
    std::uint32_t order = 0;  ///< among the phases of its barrier, from 1 on
  };
  /// A thread has waited for a phase and, with it, for those before.
  struct Pass {
    std::uint32_t order = 0;
    std::int32_t thread = 0;
    std::uint32_t epoch = 0;
  };
  struct Barrier {
    std::uint32_t completed = 0;
    std::vector<std::uint32_t> passed;  ///< by thread: the latest phase's order
    /// The first of each phase; all where barriers may be of some threads alone.
    std::vector<Pass> passes;
  };
  const LaunchClock& clock_;
  std::size_t threads_;
  std::vector<Phase> phases_;
  std::vector<Barrier> barriers_;
};

}  // namespace mica
