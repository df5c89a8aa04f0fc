#include "schedules/tune/trial_data.h"

#include <cmath>
#include <cstring>

#include "dsl/expr/mix.h"

namespace mica::tuning {
namespace {

/// values[i] = make(64 bits without a pattern).
template <typename T, typename Make>
void fill(void* data, std::size_t count, std::uint64_t seed, const Make& make) {
  auto* values = static_cast<T*>(data);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = make(mixed(seed * kMixStep + i + 1));
  }
}

/// Of [-1, 1).
template <typename T>
void fill_floats(void* data, std::size_t count, std::uint64_t seed) {
  fill<T>(data, count, seed, [](std::uint64_t bits) {
    return static_cast<T>(static_cast<double>(bits >> 11) * 0x1p-52 - 1.0);
  });
}

/// Numbers of 16 bits of magnitudes from 1/16 to 2: a sign, one of the exponents before that of 2, any
/// fraction.
void fill_halves(void* data, std::size_t count, std::uint64_t seed, Type type) {
  const int fraction = type.code == TypeCode::BFloat ? 7 : 10;
  const unsigned bias = type.code == TypeCode::BFloat ? 127 : 15;
  fill<std::uint16_t>(data, count, seed, [&](std::uint64_t bits) {
    const auto sign = static_cast<unsigned>(bits >> 63) << 15;
    const unsigned exponent = bias - static_cast<unsigned>(bits >> 32) % 5;
    const unsigned rest = static_cast<unsigned>(bits) & ((1U << fraction) - 1);
    return static_cast<std::uint16_t>(sign | exponent << fraction | rest);
  });
}

template <typename T>
void fill_integers(void* data, std::size_t count, std::uint64_t seed, std::uint64_t mask) {
  fill<T>(data, count, seed, [&](std::uint64_t bits) { return static_cast<T>(bits & mask); });
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

/// The same of numbers of 16 bits.
bool same_halves(const void* x, const void* y, std::size_t count, Type type) {
  const unsigned infinity = type.code == TypeCode::BFloat ? 0x7f80 : 0x7c00;
  const auto* const a = static_cast<const std::uint16_t*>(x);
  const auto* const b = static_cast<const std::uint16_t*>(y);
  const auto is_nan = [&](std::uint16_t bits) { return (bits & 0x7fffU) > infinity; };
  for (std::size_t i = 0; i < count; ++i) {
    if (a[i] != b[i] && !(is_nan(a[i]) && is_nan(b[i]))) return false;
  }
  return true;
}

}  // namespace

void fill_random(AnyBuffer& buffer, std::uint64_t seed) {
  void* data = buffer.host_data_for_write();
  const std::size_t n = span(buffer);
  constexpr std::uint64_t kSmall = 0x3fff;  // room for sums of three in 16 bits
  const Type type = buffer.type();
  if (type.is_half()) return fill_halves(data, n, seed, type);
  if (type == Float(32)) return fill_floats<float>(data, n, seed);
  if (type == Float(64)) return fill_floats<double>(data, n, seed);
  if (type.is_bool()) return fill_integers<std::uint8_t>(data, n, seed, 1);
  if (type.bytes() == 1) return fill_integers<std::uint8_t>(data, n, seed, 0x3f);
  if (type.bytes() == 2) return fill_integers<std::uint16_t>(data, n, seed, kSmall);
  if (type.bytes() == 4) return fill_integers<std::uint32_t>(data, n, seed, kSmall);
  fill_integers<std::uint64_t>(data, n, seed, kSmall);
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
  if (a.type().is_half()) return same_halves(x, y, count, a.type());
  if (a.type() == Float(32)) return same_but_nans<float>(x, y, count);
  return a.type() == Float(64) && same_but_nans<double>(x, y, count);
}

std::int64_t bytes_of(const AnyBuffer& buffer) { return buffer.elements() * buffer.type().bytes(); }

}  // namespace mica::tuning
