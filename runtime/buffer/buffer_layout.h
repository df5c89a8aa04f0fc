// Checks and arithmetic on the dimensions of buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "dsl/expr/type.h"
#include "runtime/buffer/buffer.h"
#include "runtime/buffer/buffer_storage.h"

namespace mica {

/// The layout of memory that holds exactly the elements of `dims`. UserErrors: 0 or more than
/// kMaxDimensions dimensions, a type that algorithms may not use, a negative extent, elements that
/// share addresses (see AnyBuffer), more bytes or larger indices than 64 bits can count.
StorageLayout layout_of(Type type, const std::vector<BufferDim>& dims);

/// Product of the extents.
std::int64_t count_elements(const std::vector<BufferDim>& dims);

/// The first and last element of a view, in elements relative to the one at the mins.
struct ElementRange {
  std::int64_t first = 0, last = 0;
};
/// Expects at least one element.
ElementRange element_range(const std::vector<BufferDim>& dims);

/// Do two views of equal strides have an element in common? `distance`: elements from `a`'s element
/// at the mins to `b`'s. Both hold at least one element.
bool boxes_meet(const std::vector<BufferDim>& a, const std::vector<BufferDim>& b, std::int64_t distance);

/// "[-1..512] x [0..255]".
std::string describe_box(const std::vector<BufferDim>& dims);

}  // namespace mica
