#include "runtime/cuda/cuda_context.h"

#include <array>
#include <map>
#include <mutex>
#include <utility>

namespace mica {

namespace {

/// The context of `device` that the calling thread has made current, or null.
cuda::ContextHandle current_context_of(const cuda::Driver& driver, cuda::DeviceId device) {
  cuda::ContextHandle current = nullptr;
  driver.call(driver.cuCtxGetCurrent, &current);
  if (current == nullptr) return nullptr;
  cuda::DeviceId owner = -1;
  driver.call(driver.cuCtxGetDevice, &owner);
  return owner == device ? current : nullptr;
}

}  // namespace

CudaContext::Scope::Scope(const CudaContext& context) : driver_(*context.driver_) {
  cuda::ContextHandle current = nullptr;
  driver_.call(driver_.cuCtxGetCurrent, &current);
  if (current == context.context_) return;
  driver_.call(driver_.cuCtxPushCurrent_v2, context.context_);
  pushed_ = true;
}

CudaContext::Scope::~Scope() {
  cuda::ContextHandle popped = nullptr;
  if (pushed_) (void)driver_.cuCtxPopCurrent_v2(&popped);
}

CudaContext::CudaContext(std::shared_ptr<const cuda::Driver> driver, int ordinal)
    : driver_(std::move(driver)), ordinal_(ordinal) {
  if (const cuda::Result result = driver_->cuDeviceGet(&device_, ordinal); result != cuda::kSuccess) {
    int count = 0;
    (void)driver_->cuDeviceGetCount(&count);
    throw driver_->error("cuDeviceGet", result,
                         "asked for GPU number " + std::to_string(ordinal) + ", counted from 0; there " +
                             (count == 1 ? "is 1" : "are " + std::to_string(count)));
  }
  read_facts();
  context_ = current_context_of(*driver_, device_);
  if (context_ == nullptr) {
    if (const cuda::Result result = driver_->cuDevicePrimaryCtxRetain(&context_, device_);
        result != cuda::kSuccess) {
      throw driver_->error("cuDevicePrimaryCtxRetain", result,
                           "opening " + facts_.name + ", GPU number " + std::to_string(ordinal_));
    }
    retained_ = true;
  }
  try {
    const Scope scope(*this);
    driver_->call(driver_->cuStreamCreate, &own_stream_, unsigned{cuda::kStreamDefault});
  } catch (const DeviceError&) {
    if (retained_) (void)driver_->cuDevicePrimaryCtxRelease_v2(device_);
    throw;
  }
}

CudaContext::~CudaContext() {
  // Errors say that the process ends or that the context is already broken: nothing is left to give
  // back then.
  try {
    const Scope scope(*this);
    (void)driver_->cuStreamDestroy_v2(own_stream_);
  } catch (const DeviceError&) {
  }
  if (retained_) (void)driver_->cuDevicePrimaryCtxRelease_v2(device_);
}

void CudaContext::read_facts() {
  const auto attribute = [this](cuda::DeviceAttribute which) {
    int value = 0;
    driver_->call(driver_->cuDeviceGetAttribute, &value, int{which}, device_);
    return value;
  };
  std::array<char, 256> name{};
  driver_->call(driver_->cuDeviceGetName, name.data(), static_cast<int>(name.size() - 1), device_);
  std::size_t memory = 0;
  driver_->call(driver_->cuDeviceTotalMem_v2, &memory, device_);
  facts_.name = name.data();
  facts_.sm = 10 * attribute(cuda::kComputeCapabilityMajor) + attribute(cuda::kComputeCapabilityMinor);
  facts_.ptx_version = ptx_version_of_driver(driver_->version());
  facts_.driver_version = driver_->version();
  facts_.multiprocessors = attribute(cuda::kMultiprocessorCount);
  facts_.max_shared_per_block = attribute(cuda::kMaxSharedPerBlock);
  facts_.max_shared_per_block_optin = attribute(cuda::kMaxSharedPerBlockOptin);
  facts_.max_shared_per_sm = attribute(cuda::kMaxSharedPerMultiprocessor);
  facts_.max_threads_per_sm = attribute(cuda::kMaxThreadsPerMultiprocessor);
  facts_.registers_per_sm = attribute(cuda::kMaxRegistersPerMultiprocessor);
  facts_.l2_bytes = attribute(cuda::kL2CacheBytes);
  facts_.max_texture_elements = attribute(cuda::kMaxTexture1dLinearWidth);
  facts_.texture_alignment = attribute(cuda::kTextureAlignment);
  facts_.total_memory = static_cast<std::int64_t>(memory);
}

std::shared_ptr<CudaContext> cuda_context(int ordinal) {
  struct Open {
    std::mutex mutex;
    std::map<int, std::shared_ptr<CudaContext>> by_ordinal;
  };
  // Never destroyed: buffers with static lifetime give their memory back through it.
  static Open& open = *new Open;
  const std::lock_guard lock(open.mutex);
  std::shared_ptr<CudaContext>& context = open.by_ordinal[ordinal];
  if (context == nullptr) context = std::make_shared<CudaContext>(cuda::process_driver(), ordinal);
  return context;
}

}  // namespace mica
