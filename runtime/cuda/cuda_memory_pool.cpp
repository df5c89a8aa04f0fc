#include "runtime/cuda/cuda_memory_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace mica {

namespace {

constexpr std::size_t kSmallestBlock = 512;                    // bytes
constexpr std::size_t kLargestStep = std::size_t{2} << 20;     // bytes: a page of GPU memory
constexpr std::size_t kLargestRequest = std::size_t{1} << 48;  // bytes; larger ones always fail

constexpr const char* kWhatFreesMemory =
    "; give device copies back with device_free() or compute a smaller box at a time";

}  // namespace

CudaMemoryPool::CudaMemoryPool(std::shared_ptr<const CudaContext> context)
    : context_(std::move(context)),
      keep_at_most_(static_cast<std::size_t>(context_->facts().total_memory) / 4) {}

CudaMemoryPool::~CudaMemoryPool() {
  try {
    trim();
  } catch (const DeviceError&) {
    // The process ends or the context is broken: the driver takes the memory back by itself.
  }
}

std::size_t CudaMemoryPool::block_bytes(std::size_t bytes) {
  if (bytes <= kSmallestBlock) return kSmallestBlock;
  if (bytes > kLargestRequest) return bytes;
  const std::size_t step = std::clamp(std::bit_floor(bytes) / 8, kSmallestBlock, kLargestStep);
  return (bytes + step - 1) / step * step;
}

cuda::Address CudaMemoryPool::allocate(std::size_t bytes, Stream stream) {
  const std::size_t size = block_bytes(bytes);
  const CudaContext::Scope scope(*context_);
  const cuda::Driver& driver = context_->driver();
  const std::lock_guard lock(mutex_);
  if (const cuda::Address kept = take_kept(size, stream); kept != 0) return kept;
  cuda::Address address = 0;
  cuda::Result result = driver.cuMemAlloc_v2(&address, size);
  if (result == cuda::kErrorOutOfMemory && !kept_.empty()) {
    drop_all();
    result = driver.cuMemAlloc_v2(&address, size);
  }
  if (result != cuda::kSuccess) {
    std::size_t free = 0, total = 0;
    (void)driver.cuMemGetInfo_v2(&free, &total);
    throw driver.error("cuMemAlloc_v2", result,
                       "asked for " + cuda::bytes_text(bytes) + ", " + cuda::bytes_text(free) +
                           " free of " + cuda::bytes_text(total) + ", " +
                           cuda::bytes_text(in_use_bytes_) + " in use by Mica" +
                           (result == cuda::kErrorOutOfMemory ? kWhatFreesMemory : ""));
  }
  in_use_.emplace(address, size);
  in_use_bytes_ += size;
  return address;
}

void CudaMemoryPool::release(cuda::Address address, Stream stream) {
  const std::lock_guard lock(mutex_);
  const auto block = in_use_.find(address);
  internal_check(block != in_use_.end(), "release of an address that was not allocated");
  const std::size_t size = block->second;
  in_use_.erase(block);
  in_use_bytes_ -= size;
  try {
    const CudaContext::Scope scope(*context_);
    const cuda::Driver& driver = context_->driver();
    KeptBlock kept{address, stream.handle, nullptr, false};
    bool ordered = stream.handle == nullptr;
    if (!ordered && driver.cuEventCreate(&kept.ready, cuda::kEventDisableTiming) == cuda::kSuccess) {
      ordered = driver.cuEventRecord(kept.ready, context_->stream(stream)) == cuda::kSuccess;
    }
    if (!ordered) (void)driver.cuCtxSynchronize();
    if (!ordered || kept_bytes_ + size > keep_at_most_) {
      drop(kept);
      return;
    }
    kept_.emplace(size, kept);
    kept_bytes_ += size;
  } catch (const DeviceError&) {
    // The context could not be made current. Should it be possible again, the block is there.
    kept_.emplace(size, KeptBlock{address, stream.handle, nullptr, stream.handle != nullptr});
    kept_bytes_ += size;
  }
}

void CudaMemoryPool::trim() {
  const CudaContext::Scope scope(*context_);
  const std::lock_guard lock(mutex_);
  drop_all();
}

std::size_t CudaMemoryPool::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_bytes_;
}

std::size_t CudaMemoryPool::bytes_kept() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

cuda::Address CudaMemoryPool::take_kept(std::size_t size, Stream stream) {
  const cuda::Driver& driver = context_->driver();
  // At most a quarter of a block stays unused. Blocks of the same stream come first: they need no
  // question to the driver.
  const auto begin = kept_.lower_bound(size);
  const auto end = kept_.upper_bound(size + size / 3);
  auto found = std::find_if(begin, end, [&](const Kept::value_type& block) {
    return block.second.stream == stream.handle && !block.second.after_everything;
  });
  if (found == end) {
    found = std::find_if(begin, end,
                         [&](const Kept::value_type& block) { return may_serve(block.second, stream); });
  }
  if (found == end) return 0;
  const auto [bytes, block] = *found;
  if (block.ready != nullptr) {
    // A user's stream may have been destroyed since and its handle given to a new stream, which the
    // old work does not precede: so the event is waited for even under the same handle.
    if (driver.cuStreamWaitEvent(context_->stream(stream), block.ready, 0) != cuda::kSuccess) return 0;
    (void)driver.cuEventDestroy_v2(block.ready);
  }
  kept_.erase(found);
  kept_bytes_ -= bytes;
  in_use_.emplace(block.address, bytes);
  in_use_bytes_ += bytes;
  return block.address;
}

bool CudaMemoryPool::may_serve(const KeptBlock& block, Stream stream) const {
  const cuda::Driver& driver = context_->driver();
  if (block.after_everything) return driver.cuCtxSynchronize() == cuda::kSuccess;
  if (block.stream == stream.handle) return true;
  return block.ready != nullptr ? driver.cuEventQuery(block.ready) == cuda::kSuccess
                                : driver.cuStreamQuery(context_->stream({})) == cuda::kSuccess;
}

void CudaMemoryPool::drop(const KeptBlock& block) {
  const cuda::Driver& driver = context_->driver();
  if (block.ready != nullptr) {
    (void)driver.cuEventSynchronize(block.ready);
    (void)driver.cuEventDestroy_v2(block.ready);
  } else if (block.after_everything) {
    (void)driver.cuCtxSynchronize();
  } else {
    (void)driver.cuStreamSynchronize(context_->stream({}));
  }
  (void)driver.cuMemFree_v2(block.address);
}

void CudaMemoryPool::drop_all() {
  for (const auto& [bytes, block] : kept_) drop(block);
  kept_.clear();
  kept_bytes_ = 0;
}

}  // namespace mica
