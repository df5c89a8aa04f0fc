#include "bench/data.h"

#include <cmath>
#include <cstring>
#include <type_traits>

#include "dsl/expr/diagnostics.h"

namespace mica::bench {
namespace {

// A 64-bit mix (D. Lemire's and S. Vigna's splitmix64 constants), so that data has no pattern.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <typename T>
void fill(void* data, std::size_t count, std::uint64_t seed) {
  auto* values = static_cast<T*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mix(seed * 0x9e3779b97f4a7c15ULL + i + 1);
    if constexpr (std::is_floating_point_v<T>) {
      values[i] = static_cast<T>(static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
    } else {
      values[i] = static_cast<T>(bits & 0x3fff);  // room for sums of three
    }
  }
}

// Elements from the first to the last of a buffer's box, padding between rows included.
std::size_t span(const AnyBuffer& b) {
  std::int64_t last = 0;
  for (const auto& d : b.dims()) last += (d.extent - 1) * d.stride;
  return static_cast<std::size_t>(last + 1);
}

/// NaNs are equal to each other (dsl/expr/rounding.h).
template <typename T>
bool same_but_nans(const void* x, const void* y, std::size_t count) {
  const T* const a = static_cast<const T*>(x);
  const T* const b = static_cast<const T*>(y);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::memcmp(a + i, b + i, sizeof(T)) != 0 && !(std::isnan(a[i]) && std::isnan(b[i])))
      return false;
  }
  return true;
}

}  // namespace

void fill_random(AnyBuffer& buffer, std::uint64_t seed) {
  void* data = buffer.host_data_for_write();
  const std::size_t n = span(buffer);
  if (buffer.type() == Float(32))
    fill<float>(data, n, seed);
  else if (buffer.type() == Float(64))
    fill<double>(data, n, seed);
  else if (buffer.type() == UInt(16))
    fill<std::uint16_t>(data, n, seed);
  else
    throw InternalError("a benchmark of an element type without random data");
}

void poison(AnyBuffer& buffer) {
  std::memset(buffer.host_data_for_write(), 0xCD,
              span(buffer) * static_cast<std::size_t>(buffer.type().bytes()));
}

bool same_bits(const AnyBuffer& a, const AnyBuffer& b) {
  const void* x = a.host_data();
  const void* y = b.host_data();
  const std::size_t count = span(a);
  if (std::memcmp(x, y, count * static_cast<std::size_t>(a.type().bytes())) == 0) return true;
  if (a.type() == Float(32)) return same_but_nans<float>(x, y, count);
  return a.type() == Float(64) && same_but_nans<double>(x, y, count);
}

std::int64_t bytes_of(const AnyBuffer& buffer) { return buffer.elements() * buffer.type().bytes(); }

}  // namespace mica::bench
