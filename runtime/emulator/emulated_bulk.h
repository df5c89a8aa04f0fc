// The bulk copies of an emulated cluster and the transaction barriers that count them off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/emulator/bulk_phases.h"
#include "runtime/emulator/emulated_copies.h"
#include "runtime/emulator/shadow_memory.h"

namespace mica {

/// One cell of an array of transaction barriers.
struct BarrierCell {
  std::string name;        ///< of the array
  std::int64_t slot = 0;   ///< its index there
  std::size_t offset = 0;  ///< in shared memory, in bytes

  [[nodiscard]] std::string text() const { return name + "(" + std::to_string(slot) + ")"; }
};

/// A phase of a transaction barrier is complete when one thread has said how many bytes it waits for and
/// copies of so many bytes have been begun. The bytes arrive when the first thread passes a wait for the
/// phase, and not before; until then nobody may touch the places. Whoever passes knows what the thread
/// that said how many bytes had done by then. What is given must outlive it.
class EmulatedBulk {
 public:
  EmulatedBulk(LaunchClock& clock, SharedShadow& shadow, BulkPhases& phases, std::byte* shared)
      : clock_(clock), shadow_(shadow), phases_(phases), shared_(shared) {}

  /// Forgets everything.
  void start_cluster();
  CopyFault set_up(std::int32_t thread, const BarrierCell& first, int count);
  CopyFault expect(std::int32_t thread, const BarrierCell& cell, std::int64_t bytes);
  /// A fault of the barrier's, or a race in `finding`, or neither.
  CopyFault begin(std::int32_t thread, const CopyPlace& place, const BarrierCell& cell,
                  Finding& finding);

  /// Would a wait for the phase of this parity be over now?
  [[nodiscard]] bool can_pass(const BarrierCell& cell, std::int32_t parity) const;
  /// Tries to pass the wait; completes the current phase if that is what is missing.
  bool pass(std::int32_t thread, const BarrierCell& cell, std::int32_t parity, CopyFault& fault);

  /// What the barrier's current phase lacks: "phase 0 of full(1), which expects 1024 bytes and ...".
  [[nodiscard]] std::string describe(const BarrierCell& cell) const;
  /// After the last thread: what is still under way ("the block ends while ..."); empty: nothing.
  [[nodiscard]] std::string left_over() const;

 private:
  struct Copy {
    CopyPlace place;
    std::vector<std::byte> data;  ///< of the source when the copy began
  };
  struct Barrier {
    std::string text;
    std::int32_t owner = -1;       ///< who set it up
    std::uint32_t epoch = 0;       ///< when
    std::uint32_t number = 0;      ///< for BulkPhases
    std::uint32_t completed = 0;   ///< phases
    std::uint32_t last_phase = 0;  ///< number of the phase completed last, 0: none
    std::int64_t expected = -1;    ///< bytes of the current phase; -1: nobody has said
    std::int64_t begun = 0;        ///< bytes of the copies of the current phase
    std::vector<Copy> copies;
    LaunchClock::Past past, last_past;  ///< of those who said how many, and of the phase completed last
    [[nodiscard]] bool is_full() const { return expected >= 0 && begun == expected; }
  };
  /// The barrier that `thread` may use, or null and a fault.
  Barrier* find(std::int32_t thread, const BarrierCell& cell, CopyFault& fault);
  /// As find, for one who adds to the current phase.
  Barrier* find_phase(std::int32_t thread, const BarrierCell& cell, CopyFault& fault);
  void complete(Barrier& barrier, CopyFault& fault);
  static std::string state(const Barrier& barrier);

  LaunchClock& clock_;
  SharedShadow& shadow_;
  BulkPhases& phases_;
  std::byte* shared_;
  std::map<std::size_t, Barrier> barriers_;  // by offset
};

}  // namespace mica
