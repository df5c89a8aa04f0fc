// How many warps of a kernel a multiprocessor holds at once.
#pragma once

#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/device.h"

namespace mica::tuning {

/// Blocks of `kernel`, as last launched, that fit one multiprocessor of a GPU. Registers are given out
/// to warps by 256, shared memory to blocks by 128 bytes with 1,024 more for the system, and there are
/// at most 32 blocks (compute capability 9.0; CUDA C++ Programming Guide, technical specifications). 0
/// when not one fits; -1 when the kernel's registers are not known.
int resident_blocks(const KernelInfo& kernel, const GpuFacts& gpu);

/// Resident warps over the most that the multiprocessor holds; -1 when not known.
double occupancy(const KernelInfo& kernel, const GpuFacts& gpu);

}  // namespace mica::tuning
