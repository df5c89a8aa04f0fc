#include "runtime/run/device.h"

#include "dsl/expr/diagnostics.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"

namespace mica {

TextureView Device::texture(std::uint64_t /*address*/, std::size_t /*bytes*/, Type /*type*/,
                            const std::string& array) {
  throw InternalError(array + " cannot be read as a texture on " + name());
}

std::unique_ptr<LaunchGraph> Device::make_graph() { return nullptr; }

std::shared_ptr<Device> device_for(const Target& target) {
  switch (target.backend) {
    case Backend::Host:
    case Backend::GpuEmulator: return cpu_device();
    case Backend::Cuda: return open_cuda_device(target.device);
  }
  throw InternalError("a Target holds no legal Backend");
}

}  // namespace mica
