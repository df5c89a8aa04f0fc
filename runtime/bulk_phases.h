// Which threads of an emulated block know which bulk copies are done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/launch_clock.h"

namespace mica {

/// The completed phases of a block's transaction barriers, numbered from 1 in the order in which they
/// are completed. A thread knows of a phase once it has passed a wait for it or for a later one of the
/// same barrier, and after a barrier of the whole block that follows somebody's wait. `clock` must
/// outlive it.
class BulkPhases {
 public:
  BulkPhases(const LaunchClock& clock, std::size_t threads) : clock_(clock), threads_(threads) {}

  /// Forgets everything.
  void start_block();
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
    std::uint32_t order = 0;        ///< among the phases of its barrier, from 1 on
    std::uint32_t first_epoch = 0;  ///< in which somebody passed; 0: nobody yet
  };
  struct Barrier {
    std::uint32_t completed = 0;
    std::vector<std::uint32_t> passed;  ///< by thread: the latest phase's order
  };
  const LaunchClock& clock_;
  std::size_t threads_;
  std::vector<Phase> phases_;
  std::vector<Barrier> barriers_;
};

}  // namespace mica
