// NVIDIA GPUs as devices, through the CUDA driver API.
//
// The environment variable MICA_LIBCUDA names the driver's library where it is not libcuda.so.1.
#pragma once

#include <memory>
#include <string>

#include "runtime/run/device.h"

namespace mica {

class CudaContext;

/// GPUs the driver offers; 0 when there is no driver or no GPU, with the reason in `why_none` if not
/// null.
int cuda_device_count(std::string* why_none);

/// GPU number `ordinal`, opened once in a process and shared; safe to call from several threads.
/// DeviceError names the call that failed, or says that there is no driver or no such GPU.
///
/// Device memory comes from a pool (CudaMemoryPool); the context and the order of streams are as
/// CudaContext describes them. copy_to_device returns when the copy is done.
std::shared_ptr<Device> open_cuda_device(int ordinal);

/// A device of its own over `context`, with a pool of its own.
std::shared_ptr<Device> make_cuda_device(std::shared_ptr<CudaContext> context);

}  // namespace mica
