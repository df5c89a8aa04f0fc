// What a GPU has, as plain numbers for code generation, legality checks and cost models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/run/target.h"

namespace mica {

struct GpuFacts {
  std::string name;        ///< "NVIDIA H200"
  int sm = 0;              ///< compute capability times ten: 90
  int ptx_version = 0;     ///< newest PTX that the driver takes, times ten: 90 is 9.0
  int driver_version = 0;  ///< CUDA that the driver serves: 12080 is 12.8
  int multiprocessors = 0;
  int max_shared_per_block = 0;        ///< bytes without asking for more
  int max_shared_per_block_optin = 0;  ///< bytes that a kernel may ask for
  int max_shared_per_sm = 0;           ///< bytes that the blocks on one multiprocessor share
  int max_threads_per_sm = 0;
  int registers_per_sm = 0;  ///< of 32 bits
  int l2_bytes = 0;
  std::int64_t max_texture_elements = 0;  ///< of a texture over linear memory
  int texture_alignment = 0;              ///< bytes, of such a texture's start
  std::int64_t total_memory = 0;          ///< bytes
};

/// The facts of the GPU of `target`, which is opened on first use (DeviceErrors as device_for). The
/// emulator has those of an H200. UserError for the host, which has no such facts.
GpuFacts gpu_facts(const Target& target);

/// Newest PTX, times ten, that a driver for CUDA `driver_version` (12080 is 12.8) takes, as far as
/// Mica knows versions: 80 for 12.0, 90 for 13.0 and newer. 0 for drivers older than CUDA 11.0.
int ptx_version_of_driver(int driver_version);

}  // namespace mica
