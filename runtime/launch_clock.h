// The time of an emulated launch.
//
// Blocks run one after another, and time is counted in epochs: the start of a block and every barrier
// begin the next one.
#pragma once

#include <cstdint>
#include <vector>

namespace mica {

/// The epochs of one launch, from 1 on. Block numbers are linear, x fastest.
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

}  // namespace mica
