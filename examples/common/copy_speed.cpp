#include "examples/common/copy_speed.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/cpu/cpu_device.h"
#include "runtime/run/gpu_timer.h"

namespace mica::examples {
namespace {

struct CopyJob {
  char* to;
  const char* from;
  std::size_t chunk;
};

void copy_chunk(std::int64_t i, void* closure) {
  const auto& job = *static_cast<const CopyJob*>(closure);
  const std::size_t at = static_cast<std::size_t>(i) * job.chunk;
  std::memcpy(job.to + at, job.from + at, job.chunk);
}

double host_copy_seconds(std::size_t bytes) {
  constexpr std::int64_t kChunks = 16;
  const std::size_t chunk = bytes / kChunks + 1;
  std::vector<char> from(chunk * kChunks, 1), to(chunk * kChunks, 2);
  CopyJob job{to.data(), from.data(), chunk};
  std::vector<double> times;
  for (int i = 0; i < 21; ++i) {
    const auto start = std::chrono::steady_clock::now();
    mica_parallel_for(copy_chunk, 0, kChunks, &job);
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return times[10];
}

}  // namespace

double copy_bandwidth(const Target& target, std::size_t bytes) {
  const std::size_t half = bytes / 2;
  if (target.backend == Backend::Cuda) return device_copy_bandwidth(target, half, 21) * 1e9;
  return 2.0 * static_cast<double>(half) / host_copy_seconds(half);
}

}  // namespace mica::examples
