#include "codegen/passes/math/exact_quotient.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mica::passes {
namespace {

template <typename Float>
constexpr int kBits = std::numeric_limits<Float>::digits;

/// value / 2^halvings modulo an odd number; both are below 2^62.
std::uint64_t halved(std::uint64_t value, int halvings, std::uint64_t modulus) {
  for (int i = 0; i < halvings; ++i) value = value % 2 == 0 ? value / 2 : (value + modulus) / 2;
  return value;
}

/// 1/odd in two parts.
template <typename Float>
Reciprocal<Float> parts_of(Float odd) {
  Float high = Float{1} / odd;
  if (std::fma(-high, odd, Float{1}) < 0) high = std::nextafter(high, Float{0});
  const Float left = std::fma(-high, odd, Float{1});  // exact, as that of every rounded quotient
  return {high, left / odd, Float{0}};
}

/// Is x / odd what it should be for every x of kBits bits?
template <typename Float>
bool is_exact(std::uint64_t odd, const Reciprocal<Float>& parts) {
  constexpr int p = kBits<Float>;
  if (odd < (std::uint64_t{1} << (p - 3))) return true;
  constexpr std::uint64_t kNearest = 17;
  const std::uint64_t first = std::uint64_t{1} << (p - 1), end = std::uint64_t{1} << p;
  const auto divisor = static_cast<Float>(odd);
  const int bits = std::bit_width(odd);
  for (std::uint64_t apart = 1; apart <= kNearest; apart += 2) {
    for (const std::uint64_t remainder : {apart, odd - apart}) {
      // Of x * 2^shift, which is a quotient's numerator in units of half an ulp.
      for (int shift = bits - 1; shift <= bits + 2; ++shift) {
        std::uint64_t x = halved(remainder, shift, odd);
        if (x < first) x += (first - x + odd - 1) / odd * odd;
        for (; x < end; x += odd) {
          const auto value = static_cast<Float>(x);
          if (std::fma(value, parts.high, value * parts.low) != value / divisor) return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

template <typename Float>
std::optional<Reciprocal<Float>> exact_reciprocal(Float divisor) {
  using Limits = std::numeric_limits<Float>;
  if (!std::isnormal(divisor)) return std::nullopt;
  int exponent = 0;
  const Float fraction = std::frexp(std::abs(divisor), &exponent);
  auto odd = static_cast<std::uint64_t>(std::ldexp(fraction, kBits<Float>));
  const int zeros = std::countr_zero(odd);
  odd >>= zeros;
  exponent += zeros - kBits<Float>;
  if (odd == 1) return std::nullopt;
  Reciprocal<Float> parts = parts_of(static_cast<Float>(odd));
  const Float nearest = parts.low;
  // What is a little more or less than 1/c may round all quotients rightly where 1/c itself does not.
  bool is_found = is_exact(odd, parts);
  for (const Float beside : {Float{0}, Float{1}}) {
    if (is_found) break;
    parts.low = std::nextafter(nearest, beside);
    is_found = is_exact(odd, parts);
  }
  if (!is_found) return std::nullopt;
  parts.high = std::ldexp(parts.high, -exponent);
  parts.low = std::ldexp(parts.low, -exponent);
  if (!std::isnormal(parts.high) || !std::isnormal(parts.low)) return std::nullopt;
  int size = 0;
  std::frexp(parts.low, &size);  // low >= 2^(size - 1)
  constexpr int kLargestLeast = -40;
  const int least = Limits::min_exponent - 1 - (size - 1);
  if (least > kLargestLeast) return std::nullopt;
  parts.least = std::max(std::ldexp(Float{1}, least), Limits::min());
  if (divisor < 0) {
    parts.high = -parts.high;
    parts.low = -parts.low;
  }
  return parts;
}

template std::optional<Reciprocal<float>> exact_reciprocal(float divisor);
template std::optional<Reciprocal<double>> exact_reciprocal(double divisor);

}  // namespace mica::passes
