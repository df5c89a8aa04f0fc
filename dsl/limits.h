// How far the coordinates of an array reach.
#pragma once

#include <cstdint>

namespace mica {

/// The largest magnitude of a dimension's min.
constexpr std::int64_t kLargestMin = std::int64_t{1} << 28;
/// The largest extent of a dimension: sums of a min, an extent and offsets fit 32 bits.
constexpr std::int64_t kLargestExtent = (std::int64_t{1} << 30) - 1;

}  // namespace mica
