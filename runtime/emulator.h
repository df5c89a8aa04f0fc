// Runs GPU kernels on the CPU, one coroutine a thread, and checks every access.
//
// The compiler (codegen/llvm/emulate_gpu.cpp) makes an EmulatedKernel whose code calls the functions
// at the end of this header; no LLVM is needed here. Blocks run one after another in a random order.
// In a block all threads run, in a random order, to their next barrier, then all of them again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/diagnostics.h"
#include "runtime/device.h"

namespace mica {

/// A kernel broke a rule of GPU programs: a race, an uninitialised or out-of-range access, a barrier
/// that not all threads of a block reach. The message names the kernel, the array, the coordinates
/// and the threads.
class EmulatorError : public Error {
  using Error::Error;
};

class EmulatedBlock;

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
};

/// What a parameter of the kernel means to the checks.
struct EmulatedParameter {
  std::string name;
  bool is_pointer = false;
  bool is_written = false;
  int element_bytes = 0;
  int scalar_bytes = 0;  ///< scalars: 4 for i32, 8 for i64, 0 for others
};

/// A compiled kernel.
struct EmulatedKernel {
  /// Runs a thread to its first barrier or its end. `arguments` as in LoadedKernel::launch. Returns a
  /// coroutine handle: a pointer to memory whose first word is the function that resumes the thread,
  /// null when it has ended; or null for a thread that has ended without ever waiting.
  using Entry = void* (*)(EmulatedBlock* block, void* const* arguments, std::int32_t block_x,
                          std::int32_t block_y, std::int32_t block_z, std::int32_t thread_x,
                          std::int32_t thread_y, std::int32_t thread_z, std::int32_t thread);

  std::string name;
  Entry entry = nullptr;
  std::vector<EmulatedParameter> parameters;
  std::vector<EmulatedAccess> accesses;
  std::size_t shared_bytes = 0;
  /// Divides the size and offset of every element in shared memory: 1, 2, 4 or 8.
  std::size_t shared_cell_bytes = 4;
};

/// Runs the whole grid before it returns. EmulatorError for the first fault found; memory written by
/// then stays written. Two threads may write the same bits to one global element (tiles that are
/// shifted inwards overlap). `seed` decides the order of blocks and threads.
void run_emulated(const EmulatedKernel& kernel, const LaunchShape& shape, void* const* arguments,
                  std::uint64_t seed);
/// MICA_EMULATOR_SEED of the environment, or a fixed number.
std::uint64_t emulator_seed();

// ---- called by the kernel's code ----------------------------------------------------------------
// `access` is an index into EmulatedKernel::accesses, `thread` the linear number in the block. A
// thread whose check fails reports it and then ends at once; none of these functions throws.

/// Memory for a coroutine's frame, aligned to 64 bytes, valid until the block ends.
void* emulator_frame(EmulatedBlock* block, std::uint64_t bytes) noexcept;
/// The block's shared memory, aligned to 128 bytes.
void* emulator_shared_memory(EmulatedBlock* block) noexcept;
/// Records an access; false if it may be a fault, which emulator_conflict must then judge.
bool emulator_check_shared(EmulatedBlock* block, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept;
bool emulator_check_global(EmulatedBlock* block, const void* address, std::int32_t access,
                           std::int32_t thread) noexcept;
/// Coordinates of the (first element of the) access that a check has just refused; dimensions that are
/// not there are 0. True if the thread may go on: two writes that may turn out to be of the same bits.
bool emulator_conflict(EmulatedBlock* block, std::int32_t access, std::int32_t thread, std::int64_t c0,
                       std::int64_t c1, std::int64_t c2, std::int64_t c3) noexcept;
/// Coordinates that lie outside the array.
void emulator_out_of_range(EmulatedBlock* block, std::int32_t access, std::int32_t thread,
                           std::int64_t c0, std::int64_t c1, std::int64_t c2, std::int64_t c3) noexcept;
/// The thread is about to wait at the `barrier`-th barrier of the code.
void emulator_barrier(EmulatedBlock* block, std::int32_t thread, std::int32_t barrier) noexcept;

}  // namespace mica
