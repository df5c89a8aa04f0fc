// The state of an emulated launch, cluster after cluster: what runtime/emulator/emulator.h's functions
// act on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/emulator/emulated_barriers.h"
#include "runtime/emulator/emulated_bulk.h"
#include "runtime/emulator/emulated_copies.h"
#include "runtime/emulator/emulated_waits.h"
#include "runtime/emulator/emulator.h"
#include "runtime/emulator/emulator_report.h"
#include "runtime/emulator/fiber.h"
#include "runtime/emulator/shadow_memory.h"

namespace mica {

class EmulatedCluster {
 public:
  EmulatedCluster(const EmulatedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                  std::uint64_t seed);
  /// All clusters. EmulatorError for the first fault, DeviceError where memory ran out.
  void run();

  /// Memory ran out in one of the functions below: no more is run than the present thread's turn.
  void note_no_memory() noexcept { no_memory_ = true; }

  // For the kernel's code; see runtime/emulator/emulator.h.
  /// The thread's turn is over, until what it waits for has come.
  void stop(std::int32_t thread) { waits_.thread(thread).fiber.stop(); }
  /// A line of the thread that runs.
  struct Line {
    const char* format = nullptr;
    const std::int64_t* values = nullptr;
  };
  void print(const Line& line) noexcept;
  void* shared_memory(std::int32_t thread) {
    return shared_start_ + block_bytes_ * threads_.block_of(static_cast<std::size_t>(thread));
  }
  void* memory_of(void* address, std::int64_t rank, std::int32_t thread);
  bool check_shared(const void* address, std::int32_t access, std::int32_t thread);
  bool check_global(const void* address, std::int32_t access, std::int32_t thread);
  /// Judges what the last check found; true if the thread may go on.
  bool judge(std::int32_t access, std::int32_t thread, const Coordinates& at);
  void misaligned(std::int32_t access, std::int32_t thread, const Coordinates& at);
  void out_of_range(std::int32_t access, std::int32_t thread, const Coordinates& at);
  void wait_at_barrier(std::int32_t thread, std::int32_t barrier);
  bool come_to_named_barrier(std::int32_t thread, std::int32_t number, std::int32_t count, bool waits);
  void wait_for_cluster(std::int32_t thread);
  void fence_copies(std::int32_t thread) { shared_shadow_.fence(thread); }
  void wait_for_exchange(std::int32_t thread, void* value, std::size_t bytes, std::int32_t delta,
                         std::int32_t site);

  /// A copy of `count` elements; a bulk copy where there is a `barrier`.
  struct CopyRequest {
    void* to = nullptr;
    const void* from = nullptr;
    std::int32_t to_access = 0, from_access = 0;
    std::int64_t count = 0;
    const BarrierCell* barrier = nullptr;
  };
  bool begin_copy(std::int32_t thread, const CopyRequest& request);
  void copy_conflict(const CopyRequest& request, std::int32_t thread, const Coordinates& to,
                     const Coordinates& from);
  void commit_copies(std::int32_t thread) { copies_.commit(thread); }
  void wait_for_copies(std::int32_t thread, int pending) { note(thread, copies_.wait(thread, pending)); }
  void end_thread(std::int32_t thread) { note(thread, copies_.end(thread)); }

  [[nodiscard]] BarrierCell cell(const void* address, std::int32_t access, std::int64_t slot) const;
  void bulk_init(std::int32_t thread, const BarrierCell& first, int count) {
    note(thread, bulk_.set_up(thread, first, count));
  }
  void bulk_expect(std::int32_t thread, const BarrierCell& cell, std::int64_t bytes) {
    note(thread, bulk_.expect(thread, cell, bytes));
  }
  bool bulk_wait(std::int32_t thread, const BarrierCell& cell, std::int32_t parity);

 private:
  /// Who touched the parameter's elements, together with those of others that may be the same memory.
  std::optional<GlobalShadow>& shadow_of(int parameter);
  void run_cluster(std::uint64_t cluster);
  /// Runs a thread to where it first waits, or to its end.
  void begin(std::int32_t thread);
  /// Writes out a line. A handler of the user's may need more stack than a thread has.
  void write(const Line& line) const noexcept;
  /// Lets the threads of `list` run, in a random order.
  void resume(std::vector<std::int32_t>& list);
  /// Behind a turn of the thread that runs: it goes on where it only wanted a line printed.
  void finish_turn();
  /// After a thread has run: its writes over others' are done, so the bits can be compared.
  void stop_if_faulty();
  [[noreturn]] void report_stuck();
  void report(const std::string& message) {
    if (message_.empty()) message_ = message;
  }
  /// Reports a fault of the thread's, if it is one.
  void note(std::int32_t thread, const CopyFault& fault) {
    if (!fault.empty()) report(reporter().copy_fault(thread, fault));
  }
  [[nodiscard]] std::size_t shared_offset(const void* address) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(address) - shared_start_);
  }
  [[nodiscard]] const EmulatedAccess& access(std::int32_t index) const {
    return kernel_.accesses[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] EmulatorReport reporter() const { return {kernel_, shape_, arguments_, cluster_}; }

  /// A global element written by a second thread: no fault if its bits do not change.
  struct Overwrite {
    std::int32_t access, thread;
    Coordinates at;
    Finding finding;
    const std::byte* address;
    std::vector<std::byte> before;
  };

  const EmulatedKernel& kernel_;
  const LaunchShape& shape_;
  void* const* arguments_;
  std::mt19937_64 random_;
  ClusterThreads threads_;
  std::size_t block_bytes_;  // of shared memory, from one block of a cluster to the next
  LaunchClock clock_;
  BulkPhases phases_;
  SharedShadow shared_shadow_;
  std::vector<std::byte> shared_;
  std::byte* shared_start_ = nullptr;
  std::vector<std::optional<GlobalShadow>> global_shadow_;  // by parameter; see shadow_of
  EmulatedCopies copies_;
  EmulatedBulk bulk_;
  EmulatedBarriers barriers_;
  EmulatedWaits waits_;
  /// What a fiber calls: a thread from its start on.
  struct Start {
    EmulatedCluster* cluster = nullptr;
    ThreadIndex block = {}, at = {};
    std::int32_t thread = 0;
    void operator()() const;
  };
  std::optional<FiberStacks> stacks_;      // of a kernel whose threads wait
  std::vector<Start> starts_;              // of those threads
  std::int32_t running_ = 0;               // the thread that has its turn
  std::optional<Line> line_;               // which that thread waits to be printed
  std::vector<ThreadIndex> thread_index_;  // in the block
  std::vector<std::int32_t> everybody_;    // all threads
  std::uint64_t cluster_ = 0;
  std::uint32_t other_memory_epoch_ = 0;  // when one block last used another's memory
  Finding conflict_;                      // of the last check that found something
  const std::byte* conflict_address_ = nullptr;
  bool conflict_at_source_ = false;    // of a copy
  std::vector<Overwrite> overwrites_;  // of the thread that runs now
  std::string message_;                // the first fault
  bool no_memory_ = false;
};

}  // namespace mica
