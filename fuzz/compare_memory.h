// Bit-by-bit comparison of buffers, and of memory that must not have been touched, as text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/buffer/buffer.h"

namespace mica::test {

/// Empty when both buffers hold the same bits over the same box; any NaN equals any NaN. Otherwise the
/// first differing coordinates with both values in decimal and hex, and the number of differences.
std::string differing_bits(const AnyBuffer& expected, const AnyBuffer& actual);

/// "0.5 (0x3f000000)" for an element in memory.
std::string describe_element(Type type, const void* at);

/// Dimensions of `box` inside memory that has `margin` points around it and `row_padding` elements after
/// each row; the first dimension is the fastest, or the last if `transposed`.
std::vector<BufferDim> poisoned_dims(const std::vector<std::pair<std::int64_t, std::int64_t>>& box,
                                     std::int64_t margin, std::int64_t row_padding, bool transposed);

/// Host memory for one output: a view `crop` of the given box in a larger, poisoned allocation that
/// has a margin of points on each side and unused elements at the ends of rows.
class PoisonedOutput {
 public:
  /// `box` is (min, extent) of each dimension; the rest as in poisoned_dims.
  PoisonedOutput(Type type, const std::vector<std::pair<std::int64_t, std::int64_t>>& box,
                 std::int64_t margin = 3, std::int64_t row_padding = 2, bool transposed = false);
  [[nodiscard]] AnyBuffer& crop() { return crop_; }
  [[nodiscard]] const AnyBuffer& crop() const { return crop_; }
  /// Empty when every byte outside the crop is still the poison that the constructor wrote; otherwise
  /// how many are not, and where the first is.
  [[nodiscard]] std::string writes_outside() const;

 private:
  std::vector<std::byte> bytes_;
  AnyBuffer whole_;
  AnyBuffer crop_;
};

/// The byte that poisoned memory is filled with: floats of it are NaN, integers improbable.
std::byte poison_byte(Type type);

}  // namespace mica::test
