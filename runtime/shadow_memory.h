// Who touched which byte last: finds accesses of the threads of one launch that no barrier orders.
//
// Blocks run one after another, and time is counted in epochs: the start of a block and every barrier
// begin the next one. Two accesses to the same memory by different threads, one of them a write, are
// ordered only if both threads belong to one block and the epochs differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace mica {

/// The epochs of one launch, from 1 on. Block and thread numbers are linear, x fastest.
class LaunchClock {
 public:
  void start_block(std::uint64_t block);
  void next_epoch() { ++epoch_; }

  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  /// The epoch in which the block of now began.
  [[nodiscard]] std::uint32_t first_epoch() const { return first_epoch_; }
  [[nodiscard]] std::uint64_t block_at(std::uint32_t epoch) const;

 private:
  struct Start {
    std::uint32_t epoch;
    std::uint64_t block;
  };
  std::vector<Start> starts_;  // epochs ascend
  std::uint32_t epoch_ = 0, first_epoch_ = 1;
};

enum class Hazard : std::uint8_t {
  None,
  UninitializedRead,  ///< nobody has written it in this block
  ReadOfWritten,      ///< read here, written by the other thread
  WriteOfRead,        ///< written here, read by the other thread
  WriteOfWritten,     ///< written by both
};

/// What is wrong with an access and, for races, the thread whose earlier access it collides with.
struct Finding {
  Hazard hazard = Hazard::None;
  std::uint64_t other_block = 0;
  std::int32_t other_thread = -1;
  std::size_t byte = 0;  ///< first one concerned, from the start of the access
};

/// The shared memory of one block at a time, in cells of `cell_bytes`; every access must cover whole
/// cells (so cell_bytes divides the size and place of every element). `clock` must outlive it.
class SharedShadow {
 public:
  SharedShadow(const LaunchClock& clock, std::size_t bytes, std::size_t cell_bytes);

  /// Thread `thread` (below 32,768) reads or writes bytes [offset, offset + bytes) now. False, with
  /// the first thing found in `finding`, if that is wrong; the access is recorded in any case.
  bool read(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding);
  bool write(std::size_t offset, std::size_t bytes, std::int32_t thread, Finding& finding);

 private:
  /// Epoch 0: never. Up to two different readers of the last epoch with a read are kept, enough to
  /// know one that is not a given thread.
  struct Cell {
    std::uint32_t write_epoch = 0, read_epoch = 0;
    std::int16_t writer = -1, reader = -1, other_reader = -1;
  };

  const LaunchClock& clock_;
  std::vector<Cell> cells_;
  int cell_shift_;  // log2 of a cell's bytes
};

/// The elements of one global array that a launch writes, found by address. `clock` must outlive it.
class GlobalShadow {
 public:
  GlobalShadow(const LaunchClock& clock, std::size_t element_bytes)
      : clock_(clock), element_bytes_(element_bytes) {}

  /// As in SharedShadow, for `count` elements from `address` on.
  bool read(std::uintptr_t address, int count, std::int32_t thread, Finding& finding);
  bool write(std::uintptr_t address, int count, std::int32_t thread, Finding& finding);

 private:
  /// The last writer and up to two different readers; epoch 0: none.
  struct Cell {
    std::uint32_t write_epoch = 0, read_epoch = 0, other_read_epoch = 0;
    std::int16_t writer = -1, reader = -1, other_reader = -1;
  };
  static constexpr std::size_t kPageCells = 512;
  static constexpr std::size_t kRecentPages = 64;
  using Page = std::array<Cell, kPageCells>;
  struct Recent {
    std::uintptr_t number = ~std::uintptr_t{0};
    Page* page = nullptr;
  };
  Cell& cell(std::uintptr_t element);
  /// An access of `thread` at `epoch` comes neither before nor after one of `who` now.
  [[nodiscard]] bool unordered(std::uint32_t epoch, std::int16_t thread, std::int16_t who) const;

  const LaunchClock& clock_;
  std::size_t element_bytes_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::array<Recent, kRecentPages> recent_{};
};

}  // namespace mica
