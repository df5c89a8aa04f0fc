#include "runtime/run/device.h"

#include <bit>
#include <cstring>

#include "dsl/expr/diagnostics.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cuda/cuda_device.h"

namespace mica {

TextureView Device::texture(std::uint64_t /*address*/, std::size_t /*bytes*/, Type /*type*/,
                            const std::string& array) {
  throw InternalError(array + " cannot be read as a texture on " + name());
}

std::unique_ptr<LaunchGraph> Device::make_graph() { return nullptr; }

void Device::enqueue_copy(const RowCopy& copy, Stream /*stream*/) {
  auto* device = std::bit_cast<std::byte*>(static_cast<std::uintptr_t>(copy.device));
  auto* host = static_cast<std::byte*>(copy.host);
  for (std::size_t row = 0; row < copy.rows; ++row) {
    std::byte *there = device + row * copy.device_pitch, *here = host + row * copy.host_pitch;
    std::memcpy(copy.to_device ? there : here, copy.to_device ? here : there, copy.row_bytes);
  }
}

std::shared_ptr<void> Device::pinned_memory(std::size_t bytes) {
  return {allocate_host_memory(bytes), free_host_memory};
}

std::shared_ptr<Device> device_for(const Target& target) {
  switch (target.backend) {
    case Backend::Host:
    case Backend::HostChecked:
    case Backend::GpuEmulator: return cpu_device();
    case Backend::Cuda: return open_cuda_device(target.device);
  }
  throw InternalError("a Target holds no legal Backend");
}

}  // namespace mica
