#include "schedules/tune/occupancy.h"

#include <algorithm>

namespace mica::tuning {
namespace {

constexpr int kWarp = 32, kRegisterUnit = 256, kSharedUnit = 128, kSystemShared = 1024, kMostBlocks = 32;

int round_up(int n, int unit) { return (n + unit - 1) / unit * unit; }

int warps_of(const KernelInfo& kernel) {
  const auto& b = kernel.shape.block;
  return (static_cast<int>(b[0] * b[1] * b[2]) + kWarp - 1) / kWarp;
}

}  // namespace

int resident_blocks(const KernelInfo& kernel, const GpuFacts& gpu) {
  if (kernel.registers < 0 || gpu.max_threads_per_sm == 0) return -1;
  const int warps = warps_of(kernel);
  const int by_threads = gpu.max_threads_per_sm / kWarp / warps;
  const int registers_a_warp = round_up(std::max(kernel.registers, 1) * kWarp, kRegisterUnit);
  const int by_registers = gpu.registers_per_sm / registers_a_warp / warps;
  const int shared = static_cast<int>(kernel.shape.shared_bytes) + kernel.static_shared_bytes;
  const int by_shared = gpu.max_shared_per_sm / round_up(shared + kSystemShared, kSharedUnit);
  return std::min({by_threads, by_registers, by_shared, kMostBlocks});
}

double occupancy(const KernelInfo& kernel, const GpuFacts& gpu) {
  const int blocks = resident_blocks(kernel, gpu);
  if (blocks < 0) return -1;
  return static_cast<double>(blocks * warps_of(kernel) * kWarp) / gpu.max_threads_per_sm;
}

}  // namespace mica::tuning
