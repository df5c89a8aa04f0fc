// Kernels on a GPU: from PTX or machine code to something that can be launched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cache/kernel_cache.h"
#include "runtime/run/device.h"
#include "runtime/run/target.h"

namespace mica {

/// Kernels by name, in the order that they were asked for.
using LoadedKernels = std::vector<std::pair<std::string, std::shared_ptr<LoadedKernel>>>;

/// Assembles `ptx` for the GPU of `target`, unless the disk cache holds machine code for `key`, and
/// loads the kernels `names`. launch() may ask for shared_bytes[i] bytes of dynamic shared memory of
/// kernel i. The machine code is stored in the cache. `use_cache` false: the cache is left alone.
///
/// `key` stands for all that the PTX depends on; the GPU's architecture, the driver's version and the
/// names are added to it here. DeviceError with the assembler's messages when the PTX is refused, and
/// when a kernel asks for more shared memory than the GPU has.
LoadedKernels load_cuda_kernels(const Target& target, const std::string& ptx,
                                const std::vector<std::string>& names,
                                const std::vector<int>& shared_bytes, const CacheKey& key,
                                bool use_cache);

/// What load_cuda_kernels would take from the cache, without PTX at hand: nothing when the cache does
/// not hold `key` or its entry does not load.
std::optional<LoadedKernels> load_cached_cuda_kernels(const Target& target,
                                                      const std::vector<std::string>& names,
                                                      const std::vector<int>& shared_bytes,
                                                      const CacheKey& key);

/// One kernel of machine code made elsewhere (a cubin of nvcc's, say), to be launched with up to
/// `shared_bytes` bytes of dynamic shared memory. DeviceError when the GPU cannot run it or it has no
/// kernel of that name (as nvcc mangles it, unless it is extern "C").
std::shared_ptr<LoadedKernel> load_cubin(const Target& target, const std::string& bytes,
                                         const std::string& kernel, int shared_bytes);

}  // namespace mica
