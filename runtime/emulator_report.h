// The emulator's messages.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "runtime/emulated_waits.h"
#include "runtime/emulator.h"
#include "runtime/shadow_memory.h"

namespace mica {

/// x, y, z of a block or thread.
struct ThreadIndex {
  std::int32_t x = 0, y = 0, z = 0;
};
/// The place of a linear number, x fastest.
ThreadIndex index_of(std::uint64_t linear, const std::uint32_t (&sizes)[3]);

/// Coordinates of an element; dimensions that the array does not have are 0.
using Coordinates = std::array<std::int64_t, 4>;

/// Describes faults of one block.
class EmulatorReport {
 public:
  EmulatorReport(const EmulatedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                 std::uint64_t block)
      : kernel_(kernel), shape_(shape), arguments_(arguments), block_(block) {}

  /// A race or an uninitialised read; `first` are the coordinates of the access's first element.
  [[nodiscard]] std::string conflict(const EmulatedAccess& access, std::int32_t thread,
                                     Coordinates first, const Finding& finding) const;
  [[nodiscard]] std::string misaligned(const EmulatedAccess& access, std::int32_t thread,
                                       const Coordinates& at) const;
  [[nodiscard]] std::string out_of_range(const EmulatedAccess& access, std::int32_t thread,
                                         const Coordinates& at) const;
  /// What a copy's thread does wrong.
  [[nodiscard]] std::string copy_fault(std::int32_t thread, const std::string& what) const;
  /// The block has ended and left a phase of bulk copies without a wait.
  [[nodiscard]] std::string left_over(const std::string& phase) const;
  /// No thread can go on.
  [[nodiscard]] std::string stuck(const EmulatedWaits& waits, const EmulatedWaits::Stuck& why,
                                  const std::string& bulk_phase) const;

 private:
  struct Range {
    bool known = false;
    std::int64_t min = 0, extent = 0;
  };
  [[nodiscard]] Range range(const EmulatedAccess& access, std::size_t dimension) const;
  [[nodiscard]] const std::int64_t* scalar(const std::string& name, std::int64_t& value) const;
  [[nodiscard]] std::string thread_text(std::int32_t thread) const;
  [[nodiscard]] std::string block_text(std::uint64_t block) const;
  [[nodiscard]] std::string element_text(const EmulatedAccess& access, const Coordinates& at) const;
  [[nodiscard]] std::size_t rank(const EmulatedAccess& access) const;

  const EmulatedKernel& kernel_;
  const LaunchShape& shape_;
  void* const* arguments_;
  std::uint64_t block_;
};

}  // namespace mica
