// The members of AnyBuffer that deal with the two sides of its memory (runtime/buffer/buffer.h).
#include <bit>

#include "runtime/buffer/buffer.h"
#include "runtime/buffer/buffer_layout.h"
#include "runtime/buffer/buffer_storage.h"
#include "runtime/run/device.h"

namespace mica {

namespace {

bool runs_in_host_memory(const Target& target) { return target.backend != Backend::Cuda; }

BufferStorage& storage_of(const AnyBuffer& buffer) {
  if (!buffer.defined()) throw UserError("an undefined buffer has no memory: give it extents first");
  return *buffer.storage();
}

std::int64_t byte_offset(const AnyBuffer& buffer) { return buffer.offset() * buffer.type().bytes(); }

/// Address of the element at the mins on the host; null for no elements.
void* on_host(const AnyBuffer& buffer, MemoryUse use) {
  auto* start = static_cast<std::byte*>(storage_of(buffer).host(use));
  return start == nullptr || buffer.elements() == 0 ? nullptr : start + byte_offset(buffer);
}

/// Do the views share memory when the elements at their mins stand at these addresses?
bool views_meet(const AnyBuffer& a, std::uint64_t a_address, const AnyBuffer& b,
                std::uint64_t b_address) {
  const auto distance = static_cast<std::int64_t>(b_address - a_address);
  const std::int64_t a_bytes = a.type().bytes();
  const std::int64_t b_bytes = b.type().bytes();
  const ElementRange a_range = element_range(a.dims());
  const ElementRange b_range = element_range(b.dims());
  const bool apart = (a_range.last + 1) * a_bytes <= distance + b_range.first * b_bytes ||
                     distance + (b_range.last + 1) * b_bytes <= a_range.first * a_bytes;
  if (apart) return false;
  bool comparable = a_bytes == b_bytes && distance % a_bytes == 0 && a.dimensions() == b.dimensions();
  for (int d = 0; comparable && d < a.dimensions(); ++d) {
    const bool free_stride = a.extent(d) == 1 && b.extent(d) == 1;
    comparable = free_stride || a.stride(d) == b.stride(d);
  }
  return !comparable || boxes_meet(a.dims(), b.dims(), distance / a_bytes);
}

}  // namespace

void* AnyBuffer::host_data() const { return on_host(*this, MemoryUse::Read); }

void* AnyBuffer::host_data_for_write() { return on_host(*this, MemoryUse::Write); }

void* AnyBuffer::host_data_for_overwrite() {
  return on_host(*this, covers_storage() ? MemoryUse::Overwrite : MemoryUse::Write);
}

// Nothing is copied over what the user wrote.
void AnyBuffer::set_host_dirty() { (void)storage_of(*this).host(MemoryUse::Overwrite); }

std::uint64_t AnyBuffer::device_data(const Target& target, bool for_write, bool overwrites_all) const {
  MemoryUse use = for_write ? MemoryUse::Write : MemoryUse::Read;
  if (for_write && overwrites_all && covers_storage()) use = MemoryUse::Overwrite;
  if (runs_in_host_memory(target)) return std::bit_cast<std::uintptr_t>(on_host(*this, use));
  const std::uint64_t start = storage_of(*this).device(device_for(target), use);
  return start == 0 || elements() == 0 ? 0 : start + static_cast<std::uint64_t>(byte_offset(*this));
}

bool AnyBuffer::host_dirty() const { return storage_of(*this).host_dirty(); }

bool AnyBuffer::device_dirty() const { return storage_of(*this).device_dirty(); }

void AnyBuffer::copy_to_host() const { (void)storage_of(*this).host(MemoryUse::Read); }

void AnyBuffer::copy_to_device(const Target& target) const { (void)device_data(target, false); }

void AnyBuffer::device_free() const { storage_of(*this).device_free(); }

bool AnyBuffer::overlaps(const AnyBuffer& other) const {
  if (elements() == 0 || other.elements() == 0) return false;
  if (storage_ == other.storage_) {
    // Any common origin will do: the storage's start stands at address 0 here.
    return views_meet(*this, static_cast<std::uint64_t>(byte_offset(*this)), other,
                      static_cast<std::uint64_t>(byte_offset(other)));
  }
  const auto meet_at = [&](std::uint64_t start, std::uint64_t other_start) {
    return start != 0 && other_start != 0 &&
           views_meet(*this, start + static_cast<std::uint64_t>(byte_offset(*this)), other,
                      other_start + static_cast<std::uint64_t>(byte_offset(other)));
  };
  if (meet_at(std::bit_cast<std::uintptr_t>(storage_->host_address()),
              std::bit_cast<std::uintptr_t>(other.storage_->host_address()))) {
    return true;
  }
  const Device* device = storage_->device_in_use();
  return device != nullptr && device == other.storage_->device_in_use() &&
         meet_at(storage_->device_address(), other.storage_->device_address());
}

}  // namespace mica
