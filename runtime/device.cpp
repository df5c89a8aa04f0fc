#include "runtime/device.h"

#include "dsl/diagnostics.h"
#include "runtime/cpu_device.h"
#include "runtime/cuda_device.h"

namespace mica {

std::shared_ptr<Device> device_for(const Target& target) {
  switch (target.backend) {
    case Backend::Host:
    case Backend::GpuEmulator: return cpu_device();
    case Backend::Cuda: return open_cuda_device(target.device);
  }
  throw InternalError("a Target holds no legal Backend");
}

}  // namespace mica
