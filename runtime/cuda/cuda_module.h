// Modules of machine code in one CUDA context. What code generation uses is in runtime/run/gpu_module.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/cuda_context.h"
#include "runtime/run/gpu_module.h"

namespace mica {

/// What a kernel is loaded with.
struct KernelRequest {
  std::string name;
  int shared_bytes = 0;  ///< most dynamic shared memory that a launch asks for
};

/// Machine code (a cubin) of all entry points of `ptx` for the GPU of `context`, by the assembler in
/// the driver. DeviceError with the assembler's messages and, where a version is at fault, the versions
/// of the PTX and the driver.
std::string link_ptx(const CudaContext& context, const std::string& ptx);

/// Kernels of machine code, in the order of `requests`. `ptx` and `from_cache` are what
/// LoadedKernel::describe says. The machine code is unloaded with the last of the kernels. DeviceError
/// when the driver refuses the code, a kernel is missing, or the GPU has too little shared memory.
LoadedKernels load_module(const std::shared_ptr<const CudaContext>& context, const std::string& cubin,
                          const std::vector<KernelRequest>& requests, const std::string& ptx,
                          bool from_cache);

/// load_cuda_kernels over a given context and cache.
LoadedKernels load_kernels(const std::shared_ptr<const CudaContext>& context, const KernelCache& cache,
                           const std::string& ptx, const std::vector<KernelRequest>& requests,
                           const CacheKey& key);
/// load_cached_cuda_kernels over a given context and cache.
std::optional<LoadedKernels> load_cached_kernels(const std::shared_ptr<const CudaContext>& context,
                                                 const KernelCache& cache,
                                                 const std::vector<KernelRequest>& requests,
                                                 const CacheKey& key);

}  // namespace mica
