#include "runtime/cuda/cuda_device.h"

#include <map>
#include <mutex>
#include <utility>

#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_graph.h"
#include "runtime/cuda/cuda_memory_pool.h"
#include "runtime/cuda/cuda_textures.h"

namespace mica {

namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(std::shared_ptr<CudaContext> context)
      : context_(std::move(context)), pool_(context_), textures_(context_) {}

  std::uint64_t allocate(std::size_t bytes, Stream stream) override {
    return pool_.allocate(bytes, stream);
  }

  void release(std::uint64_t address, std::size_t, Stream stream) override {
    pool_.release(address, stream);
  }

  void copy_to_device(std::uint64_t to, const void* from, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    const CudaContext::Scope scope(*context_);
    const cuda::Driver& driver = context_->driver();
    cuda::Result result = driver.cuMemcpyHtoDAsync_v2(to, from, bytes, context_->stream(stream));
    if (result != cuda::kSuccess) {
      throw driver.error("cuMemcpyHtoDAsync_v2", result, cuda::bytes_text(bytes) + " to the GPU");
    }
    // From page-locked memory the GPU may still read after the call.
    synchronize(stream);
  }

  void copy_to_host(void* to, std::uint64_t from, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    const CudaContext::Scope scope(*context_);
    const cuda::Driver& driver = context_->driver();
    const cuda::Result result = driver.cuMemcpyDtoHAsync_v2(to, from, bytes, context_->stream(stream));
    if (result != cuda::kSuccess) {
      throw driver.error("cuMemcpyDtoHAsync_v2", result, cuda::bytes_text(bytes) + " from the GPU");
    }
  }

  void enqueue_copy(const RowCopy& copy, Stream stream) override {
    if (copy.row_bytes == 0 || copy.rows == 0) return;
    const CudaContext::Scope scope(*context_);
    const cuda::Driver& driver = context_->driver();
    const cuda::StreamHandle on = context_->stream(stream);
    const auto fail = [&](const char* call, cuda::Result result) {
      if (result == cuda::kSuccess) return;
      throw driver.error(call, result,
                         cuda::bytes_text(copy.row_bytes * copy.rows) +
                             (copy.to_device ? " to the GPU" : " from the GPU"));
    };
    if (copy.rows == 1) {
      if (copy.to_device) {
        fail("cuMemcpyHtoDAsync_v2",
             driver.cuMemcpyHtoDAsync_v2(copy.device, copy.host, copy.row_bytes, on));
      } else {
        fail("cuMemcpyDtoHAsync_v2",
             driver.cuMemcpyDtoHAsync_v2(copy.host, copy.device, copy.row_bytes, on));
      }
      return;
    }
    cuda::Copy2d rows;
    rows.row_bytes = copy.row_bytes;
    rows.rows = copy.rows;
    const auto on_device = [&](auto& side) {
      side.type = cuda::kMemoryDevice;
      side.device = copy.device;
      side.pitch = copy.device_pitch;
    };
    const auto on_host = [&](auto& side) {
      side.type = cuda::kMemoryHost;
      side.host = copy.host;
      side.pitch = copy.host_pitch;
    };
    if (copy.to_device) {
      on_host(rows.from);
      on_device(rows.to);
    } else {
      on_device(rows.from);
      on_host(rows.to);
    }
    fail("cuMemcpy2DAsync_v2", driver.cuMemcpy2DAsync_v2(&rows, on));
  }

  std::shared_ptr<void> pinned_memory(std::size_t bytes) override {
    if (bytes == 0) return nullptr;
    const CudaContext::Scope scope(*context_);
    const cuda::Driver& driver = context_->driver();
    void* memory = nullptr;
    const cuda::Result result = driver.cuMemHostAlloc(&memory, bytes, cuda::kHostPortable);
    if (result != cuda::kSuccess) {
      throw driver.error("cuMemHostAlloc", result,
                         cuda::bytes_text(bytes) + " of page-locked host memory");
    }
    return {memory, [context = context_](void* given_back) {
              // Errors say that the process ends or that the context is already broken.
              try {
                const CudaContext::Scope in(*context);
                (void)context->driver().cuMemFreeHost(given_back);
              } catch (const DeviceError&) {
              }
            }};
  }

  void synchronize(Stream stream) override {
    const CudaContext::Scope scope(*context_);
    const cuda::Driver& driver = context_->driver();
    driver.call(driver.cuStreamSynchronize, context_->stream(stream));
  }

  TextureView texture(std::uint64_t address, std::size_t bytes, Type type,
                      const std::string& array) override {
    return textures_.get(address, bytes, type, array);
  }

  std::unique_ptr<LaunchGraph> make_graph() override { return make_cuda_graph(context_); }

  [[nodiscard]] std::string name() const override {
    const GpuFacts& facts = context_->facts();
    return facts.name + ", sm_" + std::to_string(facts.sm) + ", " +
           std::to_string(facts.multiprocessors) + " SMs";
  }

 private:
  const std::shared_ptr<CudaContext> context_;
  CudaMemoryPool pool_;
  CudaTextures textures_;
};

}  // namespace

int cuda_device_count(std::string* why_none) {
  try {
    const std::shared_ptr<const cuda::Driver> driver = cuda::process_driver();
    int count = 0;
    driver->call(driver->cuDeviceGetCount, &count);
    if (count == 0 && why_none != nullptr) *why_none = "the NVIDIA driver sees no GPU";
    return count;
  } catch (const DeviceError& failure) {
    if (why_none != nullptr) *why_none = failure.what();
    return 0;
  }
}

std::shared_ptr<Device> make_cuda_device(std::shared_ptr<CudaContext> context) {
  return std::make_shared<CudaDevice>(std::move(context));
}

std::shared_ptr<Device> open_cuda_device(int ordinal) {
  struct Open {
    std::mutex mutex;
    std::map<int, std::shared_ptr<Device>> by_ordinal;
  };
  // Never destroyed: buffers with static lifetime give their memory back through it.
  static Open& open = *new Open;
  const std::lock_guard lock(open.mutex);
  std::shared_ptr<Device>& device = open.by_ordinal[ordinal];
  if (device == nullptr) device = make_cuda_device(cuda_context(ordinal));
  return device;
}

}  // namespace mica
