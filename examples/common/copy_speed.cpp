#include "examples/common/copy_speed.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/run/gpu_timer.h"

namespace mica::examples {

double copy_bandwidth(const Target& target, std::size_t bytes) {
  constexpr int kRuns = 21;
  const std::size_t half = bytes / 2;
  if (target.backend == Backend::Cuda) return device_copy_bandwidth(target, half, kRuns) * 1e9;
  return host_copy_bandwidth(half, kRuns);
}

}  // namespace mica::examples
