// What of a run's shapes decides which variant serves it, for Executable and for exported pipelines: in
// the words that C and C++ share. An array is given by its symbols, min, extent and stride of each
// dimension; coordinates that are null are all 0.
#pragma once

#ifdef __cplusplus
#include <cstdint>

#include "runtime/run/evaluate.h"
namespace mica::shape_rules {
using Value = HostValue;
using std::int64_t;
#else
#include "runtime/export/exported.h"
#endif

enum { kSymbolsOfDimension = 3 };

static inline int64_t min_of(const Value* array, int64_t d) { return array[3 * d].i; }
static inline int64_t extent_of(const Value* array, int64_t d) { return array[3 * d + 1].i; }
static inline int64_t stride_of(const Value* array, int64_t d) { return array[3 * d + 2].i; }

// Has the array no elements?
static inline bool is_empty(const Value* array, int64_t dimensions) {
  for (int64_t d = 0; d < dimensions; ++d) {
    if (extent_of(array, d) == 0) return true;
  }
  return false;
}

// The stride after that of a dimension of `extent` elements, which is padded to a multiple of `align`;
// 2^63 - 1 where it is more than 64 bits hold.
static inline int64_t next_stride(int64_t stride, int64_t extent, int64_t align) {
  const int64_t multiple = align > 1 ? align : 1;
  int64_t padded = (extent + multiple - 1) / multiple * multiple;
  if (padded < 1) padded = 1;
  int64_t product = 0;
  return __builtin_mul_overflow(stride, padded, &product) ? INT64_MAX : product;
}

// The largest flat element offset from `origin` that an element of the array can have, either sign.
static inline int64_t largest_offset(const Value* array, int64_t dimensions, const Value* origin) {
  if (is_empty(array, dimensions)) return 0;
  int64_t sum = 0;
  for (int64_t d = 0; d < dimensions; ++d) {
    const int64_t first = min_of(array, d) - (origin ? origin[d].i : 0);
    const int64_t last = first + extent_of(array, d) - 1;
    const int64_t low = first < 0 ? -first : first;
    const int64_t high = last < 0 ? -last : last;
    const int64_t stride = stride_of(array, d);
    int64_t product = 0;
    if (__builtin_mul_overflow(low > high ? low : high, stride < 0 ? -stride : stride, &product) ||
        __builtin_add_overflow(sum, product, &sum)) {
      return INT64_MAX;
    }
  }
  return sum;
}

// Elements from the one at the mins to `origin`.
static inline int64_t offset_of(const Value* array, int64_t dimensions, const Value* origin) {
  int64_t offset = 0;
  for (int64_t d = 0; d < dimensions; ++d) {
    offset += ((origin ? origin[d].i : 0) - min_of(array, d)) * stride_of(array, d);
  }
  return offset;
}

// PlanAlignment: does the element at `at` stand at a multiple of `bytes`, as do all strides but the
// first? `address`: of the element at the mins, or what a multiple of `bytes` leaves of it.
static inline bool is_aligned(const Value* array, int64_t dimensions, const Value* at,
                              int64_t element_bytes, int64_t bytes, int64_t address) {
  for (int64_t d = 1; d < dimensions; ++d) {
    if (extent_of(array, d) > 1 && stride_of(array, d) * element_bytes % bytes != 0) return false;
  }
  return (address + offset_of(array, dimensions, at) * element_bytes) % bytes == 0;
}

#ifdef __cplusplus
}  // namespace mica::shape_rules
#endif
