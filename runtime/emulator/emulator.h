// Runs GPU kernels on the CPU, each thread on a stack of its own, and checks every access.
//
// The compiler (codegen/llvm/emulate_gpu.cpp) makes an EmulatedKernel whose code calls the functions
// at the end of this header; no LLVM is needed here. Blocks run one after another in a random order, or
// clusters of them, whose blocks run together. All threads run, in a random order, to where they next
// wait: at a barrier, for the rest of their warp, or for a bulk copy. Those whose wait is over run
// again; when there are none and all threads of a block wait at one barrier, they do, and so do all of a
// cluster at one of its own.
//
// Copies that go on by themselves arrive as late as they may: an asynchronous copy when its thread waits
// for it, a bulk copy when the first thread passes a wait for it. Until then any access to their target
// is a fault, and afterwards one by a thread that neither waited nor met a barrier since.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "runtime/run/device.h"

namespace mica {

/// A kernel broke a rule of GPU programs: a race, an uninitialised or out-of-range access, a barrier
/// that not all threads of a block reach, a named barrier that others complete or nobody does, a shuffle
/// that not all threads of a warp reach, a copy that is misaligned, used too early or never waited for,
/// another block's memory used while that block may not be running, a wait that nothing ends. The
/// message names the kernel, the array, the coordinates and the threads.
class EmulatorError : public Error {
  using Error::Error;
};

class EmulatedCluster;

/// One Load or Store in a kernel's code.
struct EmulatedAccess {
  enum class Memory : std::uint8_t { Global, Shared, Private };
  std::string buffer;
  Memory memory = Memory::Global;
  bool is_store = false;
  int element_bytes = 4;
  int count = 1;                      ///< neighbouring elements from the address on
  int parameter = -1;                 ///< Global: which of the kernel's parameters
  std::vector<std::int64_t> extents;  ///< Shared, Private: of the allocation; coordinates start at 0
  int alignment = 0;                  ///< of the address, in bytes; 0: any
  /// Shared: the allocation's place in the block's shared memory, in bytes.
  std::size_t shared_begin = 0, shared_end = static_cast<std::size_t>(-1);
  bool is_atomic = false;  ///< Global: a store that reads and writes in one step
};

/// What a parameter of the kernel means to the checks.
struct EmulatedParameter {
  std::string name;
  bool is_pointer = false;
  bool is_written = false;
  int element_bytes = 0;
  int scalar_bytes = 0;  ///< scalars: 4 for i32, 8 for i64, 0 for others
  /// The first of the written parameters that may be the same memory; -1: none.
  int written_with = -1;
};
/// May threads write the parameter's elements while others read or write them?
inline bool is_watched(const EmulatedParameter& p) {
  return p.is_pointer && (p.is_written || p.written_with >= 0);
}

/// A compiled kernel.
struct EmulatedKernel {
  /// Runs a thread. `arguments` as in LoadedKernel::launch.
  using Entry = void (*)(EmulatedCluster* cluster, void* const* arguments, std::int32_t block_x,
                         std::int32_t block_y, std::int32_t block_z, std::int32_t thread_x,
                         std::int32_t thread_y, std::int32_t thread_z, std::int32_t thread);

  std::string name;
  Entry entry = nullptr;
  std::vector<EmulatedParameter> parameters;
  std::vector<EmulatedAccess> accesses;
  std::size_t shared_bytes = 0;
  /// Divides the size and offset of every element in shared memory: 1, 2, 4 or 8.
  std::size_t shared_cell_bytes = 4;
  /// Blocks of a cluster; the grid's sizes must be multiples.
  std::uint32_t cluster[3] = {1, 1, 1};
  bool has_named_barriers = false;
  /// May a thread wait for others, or for copies that others begin?
  bool waits = false;
  std::size_t frame_bytes = 0;  ///< of Entry's own frame, where it waits
  int print_lines = -1;         ///< the parameter that tells where printed lines go; -1: none
};

/// Runs the whole grid before it returns. EmulatorError for the first fault found, DeviceError where
/// memory runs out; memory written by then stays written. Two threads may write the same bits to one
/// global element (tiles that are shifted inwards overlap). `seed` decides the order of blocks and
/// threads.
void run_emulated(const EmulatedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                  std::uint64_t seed);
/// MICA_EMULATOR_SEED of the environment, or a fixed number. UserError if it is none.
std::uint64_t emulator_seed();

// ---- called by the kernel's code ----------------------------------------------------------------
// `access` is an index into EmulatedKernel::accesses, `thread` the number that Entry was given: the
// linear number in the block or, where clusters have several, beyond those of the blocks before. A
// thread whose check fails reports it and then ends at once; none of these functions throws. Where
// memory runs out in one, its result is null or false, and the launch ends after the thread's turn.
// Those that wait return when the wait is over; a launch that ends before forgets the thread.

/// The shared memory of the thread's block, aligned to 128 bytes.
void* emulator_shared_memory(EmulatedCluster* cluster, std::int32_t thread) noexcept;
/// Where `address` of the thread's own block lies in that of number `rank` of its cluster; null if that
/// is a fault.
void* emulator_cluster_memory(EmulatedCluster* cluster, void* address, std::int64_t rank,
                              std::int32_t thread) noexcept;
/// Records an access; false if it may be a fault, which emulator_conflict must then judge.
bool emulator_check_shared(EmulatedCluster* cluster, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept;
bool emulator_check_global(EmulatedCluster* cluster, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept;
/// Coordinates of the (first element of the) access that a check has just refused; dimensions that are
/// not there are 0. True if the thread may go on: two writes that may turn out to be of the same bits.
bool emulator_conflict(EmulatedCluster* cluster, std::int32_t access, std::int32_t thread,
                       std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3,
                       std::int64_t c4 = 0, std::int64_t c5 = 0) noexcept;
/// Coordinates that lie outside the array.
void emulator_misaligned(EmulatedCluster* cluster, std::int32_t access, std::int32_t thread,
                         std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3,
                         std::int64_t c4 = 0, std::int64_t c5 = 0) noexcept;
void emulator_out_of_range(EmulatedCluster* cluster, std::int32_t access, std::int32_t thread,
                           std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3,
                           std::int64_t c4 = 0, std::int64_t c5 = 0) noexcept;
/// Waits at the `barrier`-th barrier of the code.
void emulator_barrier(EmulatedCluster* cluster, std::int32_t thread, std::int32_t barrier) noexcept;
/// The thread comes to named barrier `number`, which `count` threads complete, and may wait for them.
/// False if that is a fault.
bool emulator_named_barrier(EmulatedCluster* cluster, std::int32_t thread, std::int32_t number,
                            std::int32_t count, bool waits) noexcept;
/// Waits for all threads of the cluster.
void emulator_cluster_barrier(EmulatedCluster* cluster, std::int32_t thread) noexcept;
/// What the thread has written to shared memory comes before bulk copies that others begin after the
/// next barrier.
void emulator_fence_copies(EmulatedCluster* cluster, std::int32_t thread) noexcept;
/// Waits at the `site`-th shuffle of the code, and replaces the `bytes` at `value` by those of the
/// thread `delta` further along its warp, where there is one.
void emulator_shuffle(EmulatedCluster* cluster, void* value, std::int32_t bytes, std::int32_t delta,
                      std::int32_t site, std::int32_t thread) noexcept;

/// Begins an AsyncCopy of `count` elements; false if that is a fault or, which emulator_copy_conflict
/// must then report, a race.
bool emulator_copy(EmulatedCluster* cluster, void* to, std::int32_t to_access, const void* from,
                   std::int32_t from_access, std::int64_t count, std::int32_t thread) noexcept;
/// The same for a BulkCopy, counted off at the barrier at `barrier`, which is slot `slot` of its array.
bool emulator_bulk_copy(EmulatedCluster* cluster, void* to, std::int32_t to_access, const void* from,
                        std::int32_t from_access, std::int64_t count, void* barrier,
                        std::int32_t barrier_access, std::int64_t slot, std::int32_t thread) noexcept;
/// Coordinates of the first elements of the copy that has just been refused.
void emulator_copy_conflict(EmulatedCluster* cluster, std::int32_t to_access, std::int32_t from_access,
                            std::int32_t thread, std::int64_t t0, std::int64_t t1, std::int64_t t2,
                            std::int64_t t3, std::int64_t t4, std::int64_t t5, std::int64_t f0,
                            std::int64_t f1, std::int64_t f2, std::int64_t f3, std::int64_t f4,
                            std::int64_t f5) noexcept;
void emulator_commit_copies(EmulatedCluster* cluster, std::int32_t thread) noexcept;
void emulator_wait_for_copies(EmulatedCluster* cluster, std::int32_t pending,
                              std::int32_t thread) noexcept;
/// The thread has come to the end of its code.
void emulator_end(EmulatedCluster* cluster, std::int32_t thread) noexcept;

void emulator_bulk_init(EmulatedCluster* cluster, void* first, std::int32_t access, std::int32_t count,
                        std::int32_t thread) noexcept;
void emulator_bulk_expect(EmulatedCluster* cluster, void* barrier, std::int32_t access,
                          std::int64_t slot, std::int32_t bytes, std::int32_t thread) noexcept;
void emulator_bulk_wait(EmulatedCluster* cluster, void* barrier, std::int32_t access, std::int64_t slot,
                        std::int32_t parity, std::int32_t thread) noexcept;

/// mica_print (runtime/run/print_line.h), which may call what a user wrote.
void emulator_print(const char* format, const std::int64_t* values, EmulatedCluster* cluster) noexcept;

}  // namespace mica
