// The emulator's messages.
#pragma once

#include <cstdint>
#include <string>

#include "dsl/expr/limits.h"
#include "runtime/emulator/emulated_waits.h"
#include "runtime/emulator/emulator.h"
#include "runtime/emulator/shadow_memory.h"

namespace mica {

/// x, y, z of a block or thread.
struct ThreadIndex {
  std::int32_t x = 0, y = 0, z = 0;
};
/// The place of a linear number, x fastest.
ThreadIndex index_of(std::uint64_t linear, const std::uint32_t (&sizes)[3]);

/// The place in the grid of the block that runs a thread of a cluster.
ThreadIndex block_of(const EmulatedKernel& kernel, const LaunchShape& shape, std::uint64_t cluster,
                     std::int32_t thread);

/// Describes faults of one cluster, whose threads are numbered as in ClusterThreads.
class EmulatorReport {
 public:
  EmulatorReport(const EmulatedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                 std::uint64_t cluster)
      : kernel_(kernel), shape_(shape), arguments_(arguments), cluster_(cluster) {}

  /// A race or an uninitialised read; `first` are the coordinates of the access's first element.
  [[nodiscard]] std::string conflict(const EmulatedAccess& access, std::int32_t thread,
                                     Coordinates first, const Finding& finding) const;
  [[nodiscard]] std::string misaligned(const EmulatedAccess& access, std::int32_t thread,
                                       const Coordinates& at) const;
  [[nodiscard]] std::string out_of_range(const EmulatedAccess& access, std::int32_t thread,
                                         const Coordinates& at) const;
  /// What a copy's thread does wrong.
  [[nodiscard]] std::string copy_fault(std::int32_t thread, const std::string& what) const;
  /// What a thread does wrong at a named barrier or with the memory of another block.
  [[nodiscard]] std::string barrier_fault(std::int32_t thread, const std::string& what) const;
  [[nodiscard]] std::string cluster_fault(std::int32_t thread, const std::string& what) const;
  /// The cluster has ended and left a phase of bulk copies without a wait.
  [[nodiscard]] std::string left_over(const std::string& phase) const;
  /// The cluster has ended and left threads at a named barrier, or writes to a block that may have
  /// ended.
  [[nodiscard]] std::string incomplete(const std::string& barrier) const;
  [[nodiscard]] std::string unmet_writes() const;
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
  [[nodiscard]] std::string block_text(std::uint64_t cluster, std::int32_t thread) const;
  /// "thread (0, 0, 0) of block (1, 0, 0)"
  [[nodiscard]] std::string who(std::int32_t thread) const;
  [[nodiscard]] std::string fault(const char* title, std::int32_t thread, const std::string& what) const;
  [[nodiscard]] std::int32_t rank(std::int32_t thread) const;
  [[nodiscard]] std::string element_text(const EmulatedAccess& access, const Coordinates& at) const;
  [[nodiscard]] std::size_t dimensions(const EmulatedAccess& access) const;

  const EmulatedKernel& kernel_;
  const LaunchShape& shape_;
  void* const* arguments_;
  std::uint64_t cluster_;
};

}  // namespace mica
