// Copies within a device's memory and their bandwidth: runtime/run/gpu_timer.h.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/run/gpu_timer.h"

namespace mica {

namespace {

// copy16(to, from, count): 16 bytes a thread, the first `count` of them. On large GPUs it is faster than
// the driver's own copy.
constexpr const char* kCopyPtx = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry copy16(.param .u64 p_to, .param .u64 p_from, .param .u64 p_count) {
  .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<9>;
  ld.param.u64 %d1, [p_to]; ld.param.u64 %d2, [p_from]; ld.param.u64 %d3, [p_count];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  cvt.u64.u32 %d4, %r3; mad.wide.u32 %d5, %r1, %r2, %d4;
  setp.ge.u64 %p, %d5, %d3; @%p bra DONE;
  shl.b64 %d6, %d5, 4; add.u64 %d7, %d1, %d6; add.u64 %d8, %d2, %d6;
  ld.global.nc.v4.u32 {%r4, %r5, %r6, %r7}, [%d8];
  st.global.v4.u32 [%d7], {%r4, %r5, %r6, %r7};
DONE:
  ret;
}
)";
constexpr std::uint32_t kCopyThreads = 256;

/// Pool memory for the duration of a measurement.
class Block {
 public:
  Block(Device& device, std::size_t bytes)
      : device_(device), bytes_(bytes), address_(device.allocate(bytes, {})) {}
  ~Block() { device_.release(address_, bytes_, {}); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] std::uint64_t address() const { return address_; }

 private:
  Device& device_;
  const std::size_t bytes_;
  const std::uint64_t address_;
};

/// Milliseconds of one call of `copy`, in the best of `repeats` batches of `copies`. Calls one after
/// another, for some milliseconds on a large GPU: the time of one alone would hold the start of the work
/// too. The first batch brings up the clocks and is not counted.
double best_time(const Target& target, std::size_t copies, int repeats,
                 const std::function<void()>& copy) {
  GpuTimer timer(target);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repeats; ++i) {
    timer.start();
    for (std::size_t c = 0; c < copies; ++c) copy();
    timer.stop();
    if (i > 0) best = std::min(best, timer.milliseconds());
  }
  return best / static_cast<double>(copies);
}

}  // namespace

void device_copy(const Target& target, std::uint64_t to, std::uint64_t from, std::size_t bytes,
                 Stream stream) {
  if (bytes == 0) return;
  if (target.backend != Backend::Cuda) {
    std::memcpy(std::bit_cast<void*>(static_cast<std::uintptr_t>(to)),
                std::bit_cast<void*>(static_cast<std::uintptr_t>(from)), bytes);
    return;
  }
  const std::shared_ptr<CudaContext> context = cuda_context(target.device);
  const CudaContext::Scope scope(*context);
  const cuda::Driver& driver = context->driver();
  const cuda::Result result = driver.cuMemcpyDtoDAsync_v2(to, from, bytes, context->stream(stream));
  if (result != cuda::kSuccess) {
    throw driver.error("cuMemcpyDtoDAsync_v2", result, cuda::bytes_text(bytes) + " on the GPU");
  }
}

double device_copy_bandwidth(const Target& target, std::size_t bytes, int repeats) {
  if (bytes == 0 || repeats < 1) {
    throw UserError("a copy of " + std::to_string(bytes) + " bytes, repeated " +
                    std::to_string(repeats) + " times, has no bandwidth: both must be 1 or more");
  }
  constexpr std::size_t kBatchBytes = std::size_t{4} << 30, kMostCopies = 64;
  const std::size_t copies = std::clamp<std::size_t>(kBatchBytes / bytes, 1, kMostCopies);
  const std::shared_ptr<Device> device = device_for(target);
  const Block from(*device, bytes), to(*device, bytes);
  const auto bandwidth = [](std::size_t copied, double milliseconds) {
    return 2.0 * static_cast<double>(copied) / (milliseconds * 1e-3) / 1e9;
  };
  const double plain = bandwidth(bytes, best_time(target, copies, repeats, [&] {
                                   device_copy(target, to.address(), from.address(), bytes);
                                 }));
  const std::uint64_t count = bytes / 16;
  if (target.backend != Backend::Cuda || count == 0) return plain;

  const auto kernel =
      load_kernels(cuda_context(target.device), KernelCache({}), kCopyPtx, {{"copy16", 0}}, {})
          .front()
          .second;
  std::uint64_t arguments[] = {to.address(), from.address(), count};
  void* const pointers[] = {&arguments[0], &arguments[1], &arguments[2]};
  LaunchShape shape;
  shape.grid[0] = static_cast<std::uint32_t>((count + kCopyThreads - 1) / kCopyThreads);
  shape.block[0] = kCopyThreads;
  const double by_kernel = bandwidth(
      16 * count, best_time(target, copies, repeats, [&] { kernel->launch(shape, pointers, 3, {}); }));
  return std::max(plain, by_kernel);
}

}  // namespace mica
