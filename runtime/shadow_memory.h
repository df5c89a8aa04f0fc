// Who touched which byte last: finds accesses of the threads of one launch that no barrier orders.
//
// Time is counted in epochs: a barrier, and the start of a block, begin the next one. Two accesses to
// the same memory by different threads, one of them a write, are ordered only if both threads belong
// to one block and the epochs differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace mica {

/// A thread at a moment of its launch. Epochs count up through the whole launch, from 1; block and
/// thread are linear numbers, x fastest.
struct ThreadMoment {
  std::uint64_t block = 0;
  std::uint32_t epoch = 0;
  std::int32_t thread = -1;
  friend bool operator==(const ThreadMoment&, const ThreadMoment&) = default;
};

enum class Hazard : std::uint8_t {
  None,
  UninitializedRead,  ///< nobody has written it in this block
  ReadOfWritten,      ///< read here, written by the other thread
  WriteOfRead,        ///< written here, read by the other thread
  WriteOfWritten,     ///< written by both
};

/// What is wrong with an access and, for races, the earlier access it collides with.
struct Finding {
  Hazard hazard = Hazard::None;
  ThreadMoment other;
  std::size_t byte = 0;  ///< first one concerned, from the start of the access
  [[nodiscard]] bool found() const { return hazard != Hazard::None; }
};

/// The shared memory of one block at a time, in cells of `cell_bytes`; every access must cover whole
/// cells (so cell_bytes divides the size and place of every element).
class SharedShadow {
 public:
  SharedShadow(std::size_t bytes, std::size_t cell_bytes);
  /// A new block: nothing is initialised. Begins an epoch.
  void start_block(std::uint64_t block);
  /// All threads of the block have met a barrier.
  void next_epoch() { ++epoch_; }
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }

  /// Thread `thread` reads or writes bytes [offset, offset + bytes). The first finding; the access is
  /// recorded in any case.
  Finding read(std::size_t offset, std::size_t bytes, std::int32_t thread);
  Finding write(std::size_t offset, std::size_t bytes, std::int32_t thread);

 private:
  /// Epoch 0: never. Up to two different readers of the last epoch with a read are kept, enough to
  /// know one that is not a given thread.
  struct Cell {
    std::uint32_t write_epoch = 0, read_epoch = 0;
    std::int16_t writer = -1, reader = -1, other_reader = -1;
  };
  [[nodiscard]] Finding race(Hazard hazard, std::int16_t thread, std::size_t byte) const {
    return {hazard, {block_, epoch_, thread}, byte};
  }

  std::vector<Cell> cells_;
  std::size_t cell_bytes_;
  std::uint64_t block_ = 0;
  std::uint32_t epoch_ = 0, first_epoch_ = 1;
};

/// The elements of one global array that a launch writes, found by address.
class GlobalShadow {
 public:
  explicit GlobalShadow(std::size_t element_bytes) : element_bytes_(element_bytes) {}

  /// `who` reads or writes `count` elements from `address` on. The first finding; the access is
  /// recorded in any case.
  Finding read(std::uintptr_t address, int count, const ThreadMoment& who);
  Finding write(std::uintptr_t address, int count, const ThreadMoment& who);

 private:
  /// The last writer and up to two different readers.
  struct Cell {
    ThreadMoment writer, reader, other_reader;
  };
  static constexpr std::size_t kPageCells = 512;
  static constexpr std::size_t kRecentPages = 64;
  using Page = std::array<Cell, kPageCells>;
  struct Recent {
    std::uintptr_t number = ~std::uintptr_t{0};
    Page* page = nullptr;
  };
  Cell& cell(std::uintptr_t element);

  std::size_t element_bytes_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::array<Recent, kRecentPages> recent_{};
};

}  // namespace mica
