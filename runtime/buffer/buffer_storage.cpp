#include "runtime/buffer/buffer_storage.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <utility>

#include "runtime/cpu/cpu_device.h"

namespace mica {

namespace {

// Memory of Mica's own has phase 0 on both sides (devices align to 256 bytes).
static_assert(kHostAlignment % kAddressPeriod == 0);

std::int64_t phase_of(std::uint64_t address) {
  return static_cast<std::int64_t>(address % kAddressPeriod);
}

/// Calls fn(first element, count) for every run of neighbouring elements of the layout's view; one
/// run if the view has no gaps.
void for_each_run(const StorageLayout& layout,
                  const std::function<void(std::int64_t, std::int64_t)>& fn) {
  if (layout.elements() == layout.span) {
    fn(0, layout.span);
    return;
  }
  std::vector<BufferDim> dims = layout.dims;
  std::sort(dims.begin(), dims.end(), [](const BufferDim& a, const BufferDim& b) {
    return std::abs(a.stride) < std::abs(b.stride);
  });
  std::int64_t start = layout.offset;  // the lowest address: negative strides are walked upward
  for (BufferDim& dim : dims) {
    if (dim.stride < 0) {
      start += (dim.extent - 1) * dim.stride;
      dim.stride = -dim.stride;
    }
  }
  std::int64_t run = 1;
  std::size_t first_outer = 0;
  while (first_outer < dims.size() &&
         (dims[first_outer].extent == 1 || dims[first_outer].stride == run)) {
    run *= dims[first_outer].extent;
    ++first_outer;
  }
  const std::function<void(std::size_t, std::int64_t)> walk = [&](std::size_t outer, std::int64_t at) {
    if (outer == first_outer) {
      fn(at, run);
      return;
    }
    const BufferDim& dim = dims[outer - 1];
    for (std::int64_t i = 0; i < dim.extent; ++i) walk(outer - 1, at + i * dim.stride);
  };
  walk(dims.size(), start);
}

}  // namespace

std::size_t StorageLayout::bytes() const {
  return static_cast<std::size_t>(span) * static_cast<std::size_t>(element_bytes);
}

std::int64_t StorageLayout::elements() const {
  std::int64_t product = 1;
  for (const BufferDim& dim : dims) product *= dim.extent;
  return product;
}

BufferStorage::BufferStorage(StorageLayout layout, Lifetime lifetime, Stream stream)
    : layout_(std::move(layout)), lifetime_(lifetime), stream_(stream) {}

BufferStorage::BufferStorage(StorageLayout layout, void* host, std::shared_ptr<void> owner)
    : layout_(std::move(layout)),
      owner_(std::move(owner)),
      user_host_(true),
      host_phase_(phase_of(std::bit_cast<std::uintptr_t>(host))),
      state_(kHostDirty),
      host_(host) {}

BufferStorage::BufferStorage(StorageLayout layout, std::shared_ptr<Device> device, std::uint64_t address,
                             std::shared_ptr<void> owner)
    : layout_(std::move(layout)),
      owner_(std::move(owner)),
      user_device_(true),
      device_phase_(phase_of(address)),
      state_(kDeviceDirty),
      device_(std::move(device)),
      address_(address) {}

BufferStorage::~BufferStorage() {
  try {
    if (device_ != nullptr && !user_device_) device_->release(address_, layout_.bytes(), stream_);
    if (user_device_ && owner_ != nullptr && queued()) device_->synchronize({});
  } catch (const Error&) {
    // The device is gone, and its memory with it.
  }
  void* host = host_.load();
  if (host == nullptr || user_host_) return;
  if (lifetime_ == Lifetime::Temporary) {
    cpu_device()->release(std::bit_cast<std::uintptr_t>(host), layout_.bytes(), {});
  } else {
    free_host_memory(host);
  }
}

void* BufferStorage::host(MemoryUse use) {
  void* const made = host_.load(std::memory_order_acquire);
  const unsigned state = state_.load(std::memory_order_acquire);
  const bool up_to_date = (state & kDeviceDirty) == 0;
  const bool marked = use == MemoryUse::Read || (state & kHostDirty) != 0;
  if (made != nullptr && up_to_date && marked) return made;

  const std::lock_guard lock(mutex_);
  if (layout_.bytes() == 0) return nullptr;
  make_host_memory();
  if (device_dirty() && use != MemoryUse::Overwrite) download();
  if (use != MemoryUse::Read) {
    state_.fetch_or(kHostDirty);
    state_.fetch_and(~kDeviceDirty);
  }
  return host_.load();
}

std::uint64_t BufferStorage::device(const std::shared_ptr<Device>& device, MemoryUse use,
                                    Stream stream) {
  const std::lock_guard lock(mutex_);
  if (layout_.bytes() == 0) return 0;
  if (device_ != nullptr && device_ != device) {
    if (user_device_) {
      throw UserError("a buffer wraps device memory of " + device_->name() + " and is used on " +
                      device->name() + ": copy() it first");
    }
    if (use == MemoryUse::Overwrite) state_.fetch_and(~kDeviceDirty);
    leave_device();
  }
  if (device_ == nullptr) make_device_memory(device, stream);
  if (host_dirty() && use != MemoryUse::Overwrite) upload(stream);
  if (use != MemoryUse::Read) {
    state_.fetch_or(kDeviceDirty);
    state_.fetch_and(~kHostDirty);
  }
  if (stream.handle == nullptr) state_.fetch_or(kQueued);
  return address_;
}

void BufferStorage::device_free() {
  const std::lock_guard lock(mutex_);
  if (device_ == nullptr) return;
  if (user_device_) {
    make_host_memory();
    if (device_dirty()) download();
  } else {
    leave_device();
  }
}

std::uint64_t BufferStorage::device_address() const {
  const std::lock_guard lock(mutex_);
  return address_;
}

const Device* BufferStorage::device_in_use() const {
  const std::lock_guard lock(mutex_);
  return device_.get();
}

void BufferStorage::make_host_memory() {
  if (host_.load() != nullptr) return;
  if (lifetime_ == Lifetime::Temporary) {
    host_.store(
        std::bit_cast<void*>(static_cast<std::uintptr_t>(cpu_device()->allocate(layout_.bytes(), {}))));
  } else {
    host_.store(allocate_host_memory(layout_.bytes()));
  }
}

void BufferStorage::make_device_memory(const std::shared_ptr<Device>& device, Stream stream) {
  address_ = device->allocate(layout_.bytes(), stream_);
  device_ = device;
  if (stream.handle == stream_.handle) return;
  // A buffer's memory is made in the order of the device's own stream; another may use it only then.
  try {
    device->synchronize(stream_);
  } catch (const Error&) {
    device->release(address_, layout_.bytes(), stream_);  // the next use must wait too
    device_ = nullptr;
    address_ = 0;
    throw;
  }
}

void BufferStorage::upload(Stream stream) {
  const auto* from = static_cast<const std::byte*>(host_.load());
  const auto element = static_cast<std::int64_t>(layout_.element_bytes);
  if (user_device_) {
    for_each_run(layout_, [&](std::int64_t first, std::int64_t count) {
      device_->copy_to_device(address_ + static_cast<std::uint64_t>(first * element),
                              from + first * element, static_cast<std::size_t>(count * element), stream);
    });
  } else {
    device_->copy_to_device(address_, from, layout_.bytes(), stream);
  }
  state_.fetch_and(~kHostDirty);
}

void BufferStorage::download() {
  auto* to = static_cast<std::byte*>(host_.load());
  const bool gaps = layout_.elements() != layout_.span;
  if (user_host_ && gaps) {
    std::vector<std::byte> copy(layout_.bytes());
    device_->copy_to_host(copy.data(), address_, copy.size(), stream_);
    device_->synchronize(stream_);
    const auto element = static_cast<std::int64_t>(layout_.element_bytes);
    for_each_run(layout_, [&](std::int64_t first, std::int64_t count) {
      std::memcpy(to + first * element, copy.data() + first * element,
                  static_cast<std::size_t>(count * element));
    });
  } else {
    device_->copy_to_host(to, address_, layout_.bytes(), stream_);
    device_->synchronize(stream_);
  }
  state_.fetch_and(~(kDeviceDirty | kQueued));
}

void BufferStorage::leave_device() {
  if (device_dirty()) {
    make_host_memory();
    download();
  }
  if (host_.load() != nullptr) state_.fetch_or(kHostDirty);
  device_->release(address_, layout_.bytes(), stream_);
  device_ = nullptr;
  address_ = 0;
  state_.fetch_and(~kQueued);
}

}  // namespace mica
