#include "runtime/buffer/buffer_layout.h"

#include <algorithm>
#include <cstdlib>
#include <string>

namespace mica {

namespace {

// Mins and strides stay below this, so that sums of a few of them fit 64 bits.
constexpr std::int64_t kLargestIndex = std::int64_t{1} << 48;

bool is_index(std::int64_t n) { return -kLargestIndex <= n && n <= kLargestIndex; }

std::string numbered(std::size_t d) { return "dimension " + std::to_string(d); }

void check_dimensions(Type type, const std::vector<BufferDim>& dims) {
  if (dims.empty() || dims.size() > static_cast<std::size_t>(kMaxDimensions)) {
    throw UserError("a buffer has 1 to " + std::to_string(kMaxDimensions) + " dimensions, not " +
                    std::to_string(dims.size()));
  }
  if (!is_user_type(type)) {
    throw UserError("a buffer cannot hold " + to_string(type) + ": legal types are " + user_types());
  }
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].extent < 0) {
      throw UserError(numbered(d) + " of a buffer has extent " + std::to_string(dims[d].extent) +
                      ": it must be 0 or more");
    }
    if (!is_index(dims[d].min) || !is_index(dims[d].extent) || !is_index(dims[d].stride)) {
      throw UserError(numbered(d) + " of a buffer has min " + std::to_string(dims[d].min) + ", extent " +
                      std::to_string(dims[d].extent) + ", stride " + std::to_string(dims[d].stride) +
                      ": none may exceed 2^48");
    }
  }
}

/// Dimensions of more than one index, smallest stride first.
std::vector<BufferDim> by_stride(const std::vector<BufferDim>& dims) {
  std::vector<BufferDim> sorted;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(sorted),
               [](const BufferDim& dim) { return dim.extent > 1; });
  std::stable_sort(sorted.begin(), sorted.end(), [](const BufferDim& a, const BufferDim& b) {
    return std::abs(a.stride) < std::abs(b.stride);
  });
  return sorted;
}

/// Elements from the first to the last of a non-empty view, plus 1.
std::int64_t checked_span(Type type, const std::vector<BufferDim>& dims) {
  std::int64_t span = 1;
  for (const BufferDim& dim : by_stride(dims)) {
    if (std::abs(dim.stride) < span) {
      throw UserError("a buffer of " + describe_box(dims) + " has a stride of " +
                      std::to_string(dim.stride) + " where the faster dimensions span " +
                      std::to_string(span) + " elements: elements would share addresses");
    }
    std::int64_t grown = 0;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(dim.extent - 1, std::abs(dim.stride), &grown) ||
        __builtin_add_overflow(grown, span, &grown) ||
        __builtin_mul_overflow(grown, static_cast<std::int64_t>(type.bytes()), &bytes)) {
      throw UserError("a buffer of " + to_string(type) + " " + describe_box(dims) +
                      " is larger than 2^63 bytes");
    }
    span = grown;
  }
  return span;
}

}  // namespace

std::vector<BufferDim> dense_dims(const std::vector<std::int64_t>& extents) {
  std::vector<BufferDim> dims;
  std::int64_t stride = 1;
  for (const std::int64_t extent : extents) {
    dims.push_back({0, extent, stride});
    // An extent that no buffer can have is reported by layout_of; the stride only has to stay sane.
    if (extent > 0 && __builtin_mul_overflow(stride, extent, &stride)) stride = kLargestIndex + 1;
    stride = std::min(stride, kLargestIndex + 1);
  }
  return dims;
}

StorageLayout layout_of(Type type, const std::vector<BufferDim>& dims) {
  check_dimensions(type, dims);
  StorageLayout layout{type.bytes(), dims, 0, 0};
  if (count_elements(dims) > 0) {
    layout.span = checked_span(type, dims);
    layout.offset = -element_range(dims).first;
  }
  return layout;
}

std::int64_t count_elements(const std::vector<BufferDim>& dims) {
  std::int64_t product = 1;
  for (const BufferDim& dim : dims) {
    if (dim.extent == 0) return 0;
    // A product beyond 64 bits belongs to dimensions that layout_of refuses.
    if (__builtin_mul_overflow(product, dim.extent, &product)) return INT64_MAX;
  }
  return product;
}

ElementRange element_range(const std::vector<BufferDim>& dims) {
  ElementRange range;
  for (const BufferDim& dim : dims) {
    std::int64_t& end = dim.stride < 0 ? range.first : range.last;
    end += (dim.extent - 1) * dim.stride;
  }
  return range;
}

namespace {

/// Is there, for the dimensions up to `d` (smallest stride first), a difference of indices within
/// the two boxes that spans `distance` elements?
bool differences_reach(const std::vector<BufferDim>& a, const std::vector<BufferDim>& b,
                       std::size_t count, std::int64_t distance) {
  if (count == 0) return distance == 0;
  const std::size_t d = count - 1;
  std::int64_t reach = 0;  // what the smaller strides can make up for
  for (std::size_t i = 0; i < d; ++i) {
    reach += (std::max(a[i].extent, b[i].extent) - 1) * std::abs(a[i].stride);
  }
  const std::int64_t stride = std::abs(a[d].stride);
  const std::int64_t toward = a[d].stride < 0 ? -distance : distance;
  // Index of a minus index of b: a's own range [0, extent) less b's.
  const std::int64_t low = std::max(-(b[d].extent - 1), (toward - reach) / stride - 1);
  const std::int64_t high = std::min(a[d].extent - 1, (toward + reach) / stride + 1);
  for (std::int64_t c = low; c <= high; ++c) {
    const std::int64_t left = distance - c * a[d].stride;
    if (std::abs(left) <= reach && differences_reach(a, b, d, left)) return true;
  }
  return false;
}

}  // namespace

bool boxes_meet(const std::vector<BufferDim>& a, const std::vector<BufferDim>& b,
                std::int64_t distance) {
  // Dimensions in which neither view has a second index say nothing, and their strides are free.
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (a[d].extent > 1 || b[d].extent > 1) order.push_back(d);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return std::abs(a[i].stride) < std::abs(a[j].stride);
  });
  std::vector<BufferDim> sorted_a, sorted_b;
  for (const std::size_t d : order) {
    sorted_a.push_back(a[d]);
    sorted_b.push_back(b[d]);
  }
  return differences_reach(sorted_a, sorted_b, sorted_a.size(), distance);
}

std::string describe_box(const std::vector<BufferDim>& dims) {
  std::string text;
  for (const BufferDim& dim : dims) {
    if (!text.empty()) text += " x ";
    text += "[" + std::to_string(dim.min) + ".." + std::to_string(dim.min + dim.extent - 1) + "]";
  }
  return text;
}

}  // namespace mica
