#include "runtime/buffer/buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "dsl/expr/names.h"
#include "runtime/buffer/buffer_layout.h"
#include "runtime/buffer/buffer_storage.h"

namespace mica {

namespace {

// Bytes of a line of a GPU's caches, and of a sector, the least that its memory is asked for.
constexpr std::int64_t kLine = 128, kSector = 32;
constexpr std::int64_t kLargestHalo = std::int64_t{1} << 30;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

bool has_own_memory(const Target& target) {
  switch (target.backend) {
    case Backend::Host:
    case Backend::HostChecked:
    case Backend::GpuEmulator: return false;
    case Backend::Cuda: return true;
  }
  throw InternalError("a Target holds no legal Backend");
}

/// Copies the elements of one view to another of the same extents.
void copy_elements(std::byte* to, const std::vector<BufferDim>& to_dims, const std::byte* from,
                   const std::vector<BufferDim>& from_dims, std::size_t d, std::int64_t bytes) {
  const std::int64_t extent = from_dims[d].extent;
  if (d == 0 && to_dims[0].stride == 1 && from_dims[0].stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(extent * bytes));
    return;
  }
  for (std::int64_t i = 0; i < extent; ++i) {
    std::byte* to_element = to + i * to_dims[d].stride * bytes;
    const std::byte* from_element = from + i * from_dims[d].stride * bytes;
    if (d == 0) {
      std::memcpy(to_element, from_element, static_cast<std::size_t>(bytes));
    } else {
      copy_elements(to_element, to_dims, from_element, from_dims, d - 1, bytes);
    }
  }
}

}  // namespace

AnyBuffer::AnyBuffer(AnyBuffer&& other) noexcept
    : type_(std::exchange(other.type_, {})),
      dims_(std::exchange(other.dims_, {})),
      offset_(std::exchange(other.offset_, 0)),
      storage_(std::exchange(other.storage_, {})) {}

AnyBuffer& AnyBuffer::operator=(AnyBuffer&& other) noexcept {
  AnyBuffer taken(std::move(other));
  std::swap(type_, taken.type_);
  dims_.swap(taken.dims_);
  std::swap(offset_, taken.offset_);
  storage_.swap(taken.storage_);
  return *this;
}

AnyBuffer::AnyBuffer(Type type, const std::vector<std::int64_t>& extents)
    : AnyBuffer(type, dense_dims(extents)) {}

AnyBuffer::AnyBuffer(Type type, const std::vector<BufferDim>& dims) : type_(type), dims_(dims) {
  StorageLayout layout = layout_of(type, dims);
  offset_ = layout.offset;
  storage_ = std::make_shared<BufferStorage>(std::move(layout));
}

AnyBuffer AnyBuffer::wrap_host(Type type, void* host, const std::vector<BufferDim>& dims,
                               std::shared_ptr<void> owner) {
  StorageLayout layout = layout_of(type, dims);
  if (host == nullptr && layout.span > 0) {
    throw UserError("a null pointer cannot be wrapped as a buffer of " + to_string(type) + " " +
                    describe_box(dims) + ": pass the address of the element at the mins");
  }
  AnyBuffer buffer;
  buffer.type_ = type;
  buffer.dims_ = dims;
  buffer.offset_ = layout.offset;
  auto* start = static_cast<std::byte*>(host) - layout.offset * layout.element_bytes;
  buffer.storage_ =
      std::make_shared<BufferStorage>(std::move(layout), static_cast<void*>(start), std::move(owner));
  return buffer;
}

AnyBuffer AnyBuffer::wrap_device(Type type, std::uint64_t device_ptr, const std::vector<BufferDim>& dims,
                                 const Target& target, std::shared_ptr<void> owner) {
  if (!has_own_memory(target)) {
    return wrap_host(type, std::bit_cast<void*>(static_cast<std::uintptr_t>(device_ptr)), dims,
                     std::move(owner));
  }
  StorageLayout layout = layout_of(type, dims);
  if (device_ptr == 0 && layout.span > 0) {
    throw UserError("device address 0 cannot be wrapped as a buffer of " + to_string(type) + " " +
                    describe_box(dims) + ": pass the address of the element at the mins");
  }
  AnyBuffer buffer;
  buffer.type_ = type;
  buffer.dims_ = dims;
  buffer.offset_ = layout.offset;
  const std::uint64_t start =
      device_ptr - static_cast<std::uint64_t>(layout.offset * layout.element_bytes);
  buffer.storage_ =
      std::make_shared<BufferStorage>(std::move(layout), device_for(target), start, std::move(owner));
  return buffer;
}

AnyBuffer AnyBuffer::pinned(Type type, const std::vector<BufferDim>& dims, const Target& target) {
  const StorageLayout layout = layout_of(type, dims);
  const std::shared_ptr<void> memory = device_for(target)->pinned_memory(layout.bytes());
  void* at_mins = static_cast<std::byte*>(memory.get()) + layout.offset * layout.element_bytes;
  return wrap_host(type, layout.span > 0 ? at_mins : nullptr, dims, memory);
}

AnyBuffer AnyBuffer::with_halo(Type type, const std::vector<std::int64_t>& extents,
                               const std::vector<std::int64_t>& halo) {
  if (halo.size() != extents.size()) {
    throw UserError("with_halo was given " + counted(extents.size(), "extent") + " and " +
                    counted(halo.size(), "halo") + ": give one halo for each dimension");
  }
  std::vector<std::int64_t> padded;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (halo[d] < 0 || halo[d] > kLargestHalo) {
      throw UserError("with_halo: the halo of dimension " + std::to_string(d) + " is " +
                      std::to_string(halo[d]) + ": it must be from 0 to 2^30");
    }
    // An extent that no buffer can have is reported by layout_of.
    padded.push_back(std::min(extents[d], INT64_MAX - 4 * kLargestHalo) + 2 * halo[d]);
  }
  const auto elements = [&](std::int64_t bytes) {
    return std::max<std::int64_t>(1, bytes / std::max(1, type.bytes()));
  };
  // What lies behind a row and what lies before the next one share a sector where they can: rows of
  // their own lines would have two that hold little else, which each sweep reads.
  const std::int64_t line = elements(kLine);
  std::vector<std::int64_t> pitches = padded;
  if (!pitches.empty()) pitches[0] = round_up(pitches[0], halo[0] > 0 ? elements(kSector) : line);
  std::vector<BufferDim> dims = dense_dims(pitches);
  for (std::size_t d = 0; d < dims.size(); ++d) {
    dims[d].min = -halo[d];
    dims[d].extent = padded[d];
  }
  StorageLayout layout = layout_of(type, dims);
  if (layout.span > 0) {
    // Elements in front of the first row, so that interior index 0 falls on an aligned address, and
    // behind the last one, so that every row can be read in whole lines from there on.
    const std::int64_t from_interior = padded[0] - halo[0];
    layout.offset = round_up(halo[0], line) - halo[0];
    layout.span += layout.offset + round_up(from_interior, line) - from_interior;
  }
  AnyBuffer buffer;
  buffer.type_ = type;
  buffer.dims_ = dims;
  buffer.offset_ = layout.offset;
  buffer.storage_ = std::make_shared<BufferStorage>(std::move(layout));
  return buffer;
}

const BufferDim& AnyBuffer::dim(int d) const {
  if (d < 0 || d >= dimensions()) {
    throw UserError("dimension " + std::to_string(d) + " was asked of a buffer that has " +
                    std::to_string(dimensions()) + ", numbered from 0");
  }
  return dims_[static_cast<std::size_t>(d)];
}

std::int64_t AnyBuffer::elements() const { return defined() ? count_elements(dims_) : 0; }

AnyBuffer AnyBuffer::cropped(const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) const {
  if (ranges.size() != dims_.size()) {
    throw UserError("a crop of " + describe() + " needs " + std::to_string(dims_.size()) +
                    " ranges {min, extent}, not " + std::to_string(ranges.size()));
  }
  AnyBuffer crop = *this;
  for (std::size_t d = 0; d < ranges.size(); ++d) {
    const auto [min, extent] = ranges[d];
    const BufferDim& dim = dims_[d];
    if (extent < 0 || min < dim.min || extent > dim.extent || min > dim.min + (dim.extent - extent)) {
      throw UserError("a crop to min " + std::to_string(min) + ", extent " + std::to_string(extent) +
                      " in dimension " + std::to_string(d) + " sticks out of " + describe());
    }
    crop.dims_[d].min = min;
    crop.dims_[d].extent = extent;
    crop.offset_ += (min - dim.min) * dim.stride;
  }
  return crop;
}

AnyBuffer AnyBuffer::translated(const std::vector<std::int64_t>& mins) const {
  if (mins.size() != dims_.size()) {
    throw UserError("translated was given " + std::to_string(mins.size()) + " mins for " + describe() +
                    ": give one for each dimension");
  }
  AnyBuffer moved = *this;
  for (std::size_t d = 0; d < mins.size(); ++d) moved.dims_[d].min = mins[d];
  (void)layout_of(type_, moved.dims_);  // mins within range
  return moved;
}

AnyBuffer AnyBuffer::copy() const {
  if (!defined()) return {};
  std::vector<BufferDim> dims = dims_;
  std::int64_t stride = 1;
  for (BufferDim& dim : dims) {
    dim.stride = stride;
    stride *= std::max<std::int64_t>(dim.extent, 1);
  }
  AnyBuffer made(type_, dims);
  if (elements() > 0) {
    copy_elements(static_cast<std::byte*>(made.host_data_for_overwrite()), dims,
                  static_cast<const std::byte*>(host_data()), dims_, dims_.size() - 1, type_.bytes());
  }
  return made;
}

bool AnyBuffer::covers_storage() const {
  return storage_ != nullptr && elements() == storage_->layout().elements();
}

AnyBuffer AnyBuffer::widened(std::int64_t before, std::int64_t after) const {
  if (!defined() || storage_->is_users() || dims_.front().stride != 1) return {};
  AnyBuffer wide = *this;
  wide.offset_ -= before;
  wide.dims_.front().min -= before;
  wide.dims_.front().extent += before + after;
  std::int64_t last = wide.offset_;
  for (const BufferDim& dim : wide.dims_) {
    if (dim.extent < 1 || dim.stride < 1) return {};
    last += (dim.extent - 1) * dim.stride;
  }
  return wide.offset_ >= 0 && last < storage_->layout().span ? wide : AnyBuffer();
}

void AnyBuffer::require_type(Type type) const {
  if (type_ != type) {
    throw UserError("a buffer of " + describe() + " is used as a Buffer of " + to_string(type) +
                    " elements: use Buffer<T> with T for " + to_string(type_));
  }
}

void AnyBuffer::require_coordinates(std::initializer_list<std::int64_t> at) const {
  if (at.size() != dims_.size()) {
    throw UserError(counted(at.size(), "coordinate") + (at.size() == 1 ? " was" : " were") +
                    " given for " + describe() + ", which has " + counted(dims_.size(), "dimension"));
  }
  std::size_t d = 0;
  for (const std::int64_t i : at) {
    const BufferDim& dim = dims_[d];
    if (i < dim.min || i >= dim.min + dim.extent) {
      throw UserError("coordinate " + std::to_string(d) + " is " + std::to_string(i) + ", outside " +
                      std::to_string(dim.min) + ".." + std::to_string(dim.min + dim.extent - 1) +
                      " of " + describe());
    }
    ++d;
  }
}

std::string AnyBuffer::describe() const {
  return defined() ? to_string(type_) + " " + describe_box(dims_) : "an undefined buffer";
}

AnyBuffer& Realization::operator[](std::size_t i) {
  if (i >= buffers_.size()) {
    throw UserError("element " + std::to_string(i) + " was asked of a Realization of " +
                    counted(buffers_.size(), "buffer") + ", numbered from 0");
  }
  return buffers_[i];
}

const AnyBuffer& Realization::only() const {
  if (buffers_.size() != 1) {
    throw UserError("a Realization of " + std::to_string(buffers_.size()) +
                    " buffers is used as one: pick an element with [i]");
  }
  return buffers_.front();
}

}  // namespace mica
