// A soak of one process on a GPU, without kills.
#pragma once

#include <cstdint>

#include "tests/soak/worker.h"

namespace mica::soak {

struct GpuOptions {
  double seconds = 600;
  int threads = 4;
  std::uint64_t seed = 1;
  Fault fault = Fault::None;  ///< Bits, Leak (of device memory) or Crash (of the other process's kernel)
};

/// Launches without a pause in several threads and streams, compiles, and drops Executables, streams and
/// Buffers while streams are running; every result is compared with the host's. Between, other processes
/// have kernels that fault. Prints a table of figures and what is wrong: the memory that the driver has
/// given away must stay as it is. On the emulator, without other processes and the driver's memory,
/// where there is no GPU. The exit status: 0, or 1 if anything is wrong.
int soak_gpu(const GpuOptions& options);

/// Launches a kernel that reads where no memory is. The exit status: kFaulted if that is a DeviceError.
inline constexpr int kFaulted = 3;
int fault_on_gpu();

}  // namespace mica::soak
