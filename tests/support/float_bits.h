// The bits of f32 and f64.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace mica::test {

/// An unsigned integer as wide as `Float`.
template <typename Float>
using BitsOf = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;

/// Two NaNs are the same, whatever their bits.
template <typename Float>
bool same_number(Float a, Float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<BitsOf<Float>>(a) == std::bit_cast<BitsOf<Float>>(b);
}

}  // namespace mica::test
