// How far coordinates may reach, and how large definitions may be. Loops and indices are computed in 32
// bits; within these limits the arithmetic that Mica adds to the user's own (tiles rounded up, offsets
// from a box's min, taps) cannot overflow.
#pragma once

#include <array>
#include <cstdint>

namespace mica {

/// Buffers, inputs, Funcs and reduction domains have 1 to so many dimensions.
constexpr int kMaxDimensions = 6;
/// Coordinates of an element; those of dimensions that an array does not have are 0.
using Coordinates = std::array<std::int64_t, kMaxDimensions>;
/// A dimension's min, of a buffer or of a Func's box, lies within -kLargestMin ... kLargestMin.
constexpr std::int64_t kLargestMin = std::int64_t{1} << 28;
/// A dimension has at most so many points; so has a fused loop iterations.
constexpr std::int64_t kLargestExtent = (std::int64_t{1} << 30) - 1;
/// The product of the factors that take one dimension apart is at most this.
constexpr std::int64_t kLargestFactor = std::int64_t{1} << 28;
/// Distinct operations, selects, casts, calls and reads a point of a Func that is compiled, with all
/// that is computed inline in it.
constexpr std::int64_t kMostOperations = 131'072;
/// Distinct nodes of a definition as it is written, before anything is folded.
constexpr std::int64_t kMostNodes = 4 * kMostOperations;

}  // namespace mica
