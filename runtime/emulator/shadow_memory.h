// Who touched which byte last: finds accesses of the threads of one launch that no barrier orders.
//
// Two accesses to the same memory by different threads, one of them a write, are ordered only if both
// threads belong to one cluster of blocks and its clock (runtime/run/launch_clock.h) says so: barriers
// lie between. What a copy that goes on by itself writes is nobody else's from its start until it is
// known to be done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/emulator/bulk_phases.h"
#include "runtime/run/launch_clock.h"

namespace mica {

enum class Hazard : std::uint8_t {
  None,
  UninitializedRead,  ///< nobody has written it in this cluster
  ReadOfWritten,      ///< read here, written by the other thread
  WriteOfRead,        ///< written here, read by the other thread
  WriteOfWritten,     ///< written by both
  WriteOfUpdated,     ///< written here, changed by the other thread's atomic operation
  UpdateOfWritten,    ///< changed here by an atomic operation, written by the other thread
  ReadOfCopy,         ///< read here, while a copy that the other thread began is under way
  WriteOfCopy,        ///< written here, while a copy that the other thread began is under way
  ReadOfBulk,         ///< read here, bulk-copied before, and the thread has not waited for that
  WriteOfBulk,        ///< written here, bulk-copied before, and the thread has not waited for that
  BulkOfUnfenced,     ///< bulk-copied here, written by the other thread, which has had no fence since
};

/// What is wrong with an access and, for races, the thread whose earlier access it collides with.
struct Finding {
  Hazard hazard = Hazard::None;
  std::uint64_t other_cluster = 0;
  std::int32_t other_thread = -1;  ///< of that cluster
  std::size_t byte = 0;            ///< first one concerned, from the start of the access
};

/// The readers of each cell, where there are barriers of some threads alone: any of many may be one that
/// a writer does not come after.
class SharedReaders {
 public:
  /// The thread reads the cell now.
  void add(std::size_t cell, std::int16_t thread, const LaunchClock& clock);
  /// A reader in this cluster that does not come before what the thread does now; -1: none.
  [[nodiscard]] std::int16_t unordered(std::size_t cell, std::int16_t thread,
                                       const LaunchClock& clock) const;

 private:
  struct Read {
    std::uint32_t epoch;
    std::int16_t thread;
  };
  std::unordered_map<std::size_t, std::vector<Read>> reads_;  // of none that comes before another
};

/// The shared memory of one cluster at a time, in cells of `cell_bytes`; every access must cover whole
/// cells (so cell_bytes divides the size and place of every element). `clock` and `phases` must outlive
/// it.
class SharedShadow {
 public:
  SharedShadow(const LaunchClock& clock, const BulkPhases& phases, std::size_t bytes,
               std::size_t cell_bytes);

  /// Thread `thread` (below 32,768) reads or writes bytes [offset, offset + bytes) now. False, with
  /// the first thing found in `finding`, if that is wrong; the access is recorded in any case.
  bool read(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding);
  bool write(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding);
  /// The thread starts a copy to these bytes, which counts as a write; until the copy lands every access
  /// is wrong. False, with nothing changed, if the start is.
  bool begin_copy(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding);
  /// What the thread has written by now comes before later bulk copies.
  void fence(std::int32_t thread);
  /// Has every thread whose own write to these bytes is the last had a fence since?
  [[nodiscard]] bool is_fenced(std::size_t offset, std::size_t bytes, Finding& finding) const;
  /// The copy is done: a write of the thread now.
  void land_copy(std::size_t offset, std::size_t bytes, std::int32_t thread);
  /// The bulk copy is done with this phase: a write now, for those who know of the phase.
  void land_bulk_copy(std::size_t offset, std::size_t bytes, std::uint32_t phase);

 private:
  /// Epoch 0: never. Up to two different readers of the last epoch with a read are kept, enough to
  /// know one that is not a given thread where all threads meet at every barrier; else SharedReaders.
  struct Cell {
    std::uint32_t write_epoch = 0, read_epoch = 0;
    std::uint32_t phase = 0;  ///< of the bulk copy that wrote last; 0: something else did
    std::int16_t writer = -1, reader = -1, other_reader = -1;
    bool copying = false;  ///< `writer` has started a copy that is under way
  };
  struct Cells {
    std::size_t begin, end;
  };
  [[nodiscard]] Cells cells_of(std::size_t offset, std::size_t bytes) const;
  [[nodiscard]] Hazard hazard_of_read(const Cell& cell, std::int16_t who) const;
  /// Gives the other thread, too.
  [[nodiscard]] Hazard hazard_of_write(std::size_t at, std::int16_t who, std::int16_t& other) const;
  /// Another thread whose read does not come before what `who` does now; -1: none.
  [[nodiscard]] std::int16_t unordered_reader(std::size_t at, std::int16_t who) const;
  void note_read(std::size_t at, std::int16_t who);

  const LaunchClock& clock_;
  const BulkPhases& phases_;
  std::vector<Cell> cells_;
  SharedReaders readers_;                    // empty where all threads meet at every barrier
  std::vector<std::uint32_t> fence_epochs_;  // by thread; 0: never
  int cell_shift_;                           // log2 of a cell's bytes
};

/// The elements of one global array that a launch writes, found by address. `clock` must outlive it.
class GlobalShadow {
 public:
  GlobalShadow(const LaunchClock& clock, std::size_t element_bytes)
      : clock_(clock), element_bytes_(element_bytes) {}

  /// As in SharedShadow, for `count` elements from `address` on.
  bool read(std::uintptr_t address, int count, std::int32_t thread, Finding& finding);
  bool write(std::uintptr_t address, int count, std::int32_t thread, Finding& finding);
  /// An atomic read and write of one element: ordered among themselves, not with others' reads and
  /// writes.
  bool update(std::uintptr_t address, std::int32_t thread, Finding& finding);

 private:
  /// Up to two different threads that have made one kind of access; epoch 0: none. Where barriers of
  /// some threads alone leave three that no writer comes after, the third goes unnoticed.
  struct Accesses {
    std::uint32_t epoch = 0, other_epoch = 0;
    std::int16_t thread = -1, other = -1;
  };
  struct Cell {
    std::uint32_t write_epoch = 0;
    std::int16_t writer = -1;
    Accesses reads, updates;
  };
  static constexpr std::size_t kPageCells = 512;
  static constexpr std::size_t kRecentPages = 64;
  using Page = std::array<Cell, kPageCells>;
  struct Recent {
    std::uintptr_t number = ~std::uintptr_t{0};
    Page* page = nullptr;
  };
  Cell& cell(std::uintptr_t element);
  void note(Accesses& accesses, std::int16_t who) const;
  /// False, with `hazard` in `finding`, if one of them comes neither before nor after an access of `who`
  /// now.
  bool all_ordered(const Accesses& accesses, std::int16_t who, Hazard hazard, std::size_t byte,
                   Finding& finding) const;
  /// An access of `thread` at `epoch` comes neither before nor after one of `who` now.
  [[nodiscard]] bool unordered(std::uint32_t epoch, std::int16_t thread, std::int16_t who) const;

  const LaunchClock& clock_;
  std::size_t element_bytes_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::array<Recent, kRecentPages> recent_{};
};

}  // namespace mica
