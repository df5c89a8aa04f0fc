#include "runtime/device.h"

#include <map>
#include <mutex>

#include "dsl/diagnostics.h"
#include "runtime/cpu_device.h"
#include "runtime/cuda_device.h"

namespace mica {

namespace {

/// The GPUs opened so far. It is never destroyed, so that buffers with static lifetime can still
/// give their memory back.
struct OpenGpus {
  std::mutex mutex;
  std::map<int, std::shared_ptr<Device>> by_ordinal;
};

OpenGpus& open_gpus() {
  static OpenGpus* const gpus = new OpenGpus;
  return *gpus;
}

std::shared_ptr<Device> gpu(int ordinal) {
  OpenGpus& gpus = open_gpus();
  const std::lock_guard lock(gpus.mutex);
  std::shared_ptr<Device>& device = gpus.by_ordinal[ordinal];
  if (device == nullptr) device = open_cuda_device(ordinal);
  return device;
}

}  // namespace

std::shared_ptr<Device> device_for(const Target& target) {
  switch (target.backend) {
    case Backend::Host:
    case Backend::GpuEmulator: return cpu_device();
    case Backend::Cuda: return gpu(target.device);
  }
  throw InternalError("a Target holds no legal Backend");
}

}  // namespace mica
