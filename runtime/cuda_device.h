// NVIDIA GPUs through the driver API, opened by ordinal.
#pragma once

#include <memory>
#include <string>

#include "runtime/device.h"

namespace mica {

/// Devices the driver offers; 0 when there is no driver, with the reason in `why_none` if not null.
int cuda_device_count(std::string* why_none);

/// The device of that ordinal with its primary context; DeviceError names the call that failed.
std::shared_ptr<Device> open_cuda_device(int ordinal);

}  // namespace mica
