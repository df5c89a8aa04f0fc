// CUDA graphs of kernel launches.
#pragma once

#include <memory>

#include "runtime/cuda/cuda_context.h"
#include "runtime/run/device.h"

namespace mica {

/// An empty graph for CudaKernels of `context`; null where the driver lacks what it takes, which came
/// with CUDA 12.0. A kernel starts before the only one that it waits for has ended where both are made
/// for that (CudaKernel::overlaps_launches) and the driver is of CUDA 12.3 or newer.
std::unique_ptr<LaunchGraph> make_cuda_graph(std::shared_ptr<const CudaContext> context);

}  // namespace mica
