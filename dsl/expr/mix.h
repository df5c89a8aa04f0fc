// Mixing of bits, for hashes and for numbers without a pattern.
#pragma once

#include <cstdint>

namespace mica {

/// The finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood: Fast splittable pseudorandom number
/// generators, OOPSLA 2014): each bit of the result depends on each of `x`.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}
/// By how much SplitMix64 counts on.
inline constexpr std::uint64_t kMixStep = 0x9e3779b97f4a7c15U;
/// What `state` becomes when `bits` are added to it.
constexpr std::uint64_t mixed(std::uint64_t state, std::uint64_t bits) {
  return mixed(state + bits + kMixStep);
}

}  // namespace mica
