#include "fuzz/reference_math.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace mica::test {
namespace {

using std::fma;

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::bit_cast<float>(0x7fc00000U);

std::int32_t bits_of(float x) { return std::bit_cast<std::int32_t>(x); }
float from_bits(std::int32_t bits) { return std::bit_cast<float>(bits); }
float magnitude(float x) { return from_bits(bits_of(x) & 0x7fffffff); }
/// `y` with its sign bit flipped where `sign_source` has one set.
float flip_sign(float y, std::int32_t sign_source) {
  return from_bits(bits_of(y) ^ (sign_source & std::numeric_limits<std::int32_t>::min()));
}

/// coefficients[0] + x*(coefficients[1] + x*(...)).
template <typename T, std::size_t N>
T horner(T x, const T (&coefficients)[N]) {
  T sum = coefficients[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = fma(sum, x, coefficients[i]);
  return sum;
}

/// e^x for -104 <= x <= 89; other arguments give some number, NaN gives NaN.
float exp_in_range(float x) {
  const float magic = 0x1.8p23F;
  const float t = fma(x, 0x1.715476p+0F, magic);
  const float k = t - magic;
  const std::int32_t n = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits_of(t)) -
                                                   static_cast<std::uint32_t>(bits_of(magic)));
  float r = fma(k, -0x1.62e43p-1F, x);
  r = fma(k, 0x1.05c61p-29F, r);
  const float q =
      horner(r, {0x1.fffff8p-2F, 0x1.55548ep-3F, 0x1.555b96p-5F, 0x1.123bdp-7F, 0x1.685352p-10F});
  const float y = 1.0F + fma(r * r, q, r);
  const std::int32_t n1 = n >> 1;
  const std::int32_t n2 =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(n) - static_cast<std::uint32_t>(n1));
  const float s1 = from_bits(static_cast<std::int32_t>((static_cast<std::uint32_t>(n1) + 127U) << 23));
  const float s2 = from_bits(static_cast<std::int32_t>((static_cast<std::uint32_t>(n2) + 127U) << 23));
  return y * s1 * s2;
}

struct Quadrant {
  float r;         ///< |x| minus the nearest multiple of pi/2, |r| <= pi/4
  std::int32_t q;  ///< the multiple, modulo 4 (low two bits)
};

/// Bits of 2/pi after the binary point, behind 32 zero bits.
constexpr std::array<std::uint32_t, 8> kTwoOverPi = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                                     0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

Quadrant reduce(float a) {
  if (!(a >= 0x1.921fb6p-1F)) return {a, 0};
  if (!(a < kInf)) return {a, 0};
  const std::uint32_t bits = static_cast<std::uint32_t>(bits_of(a));
  const std::uint64_t m = (bits & 0x7fffffU) | 0x800000U;
  const std::uint32_t offset = (bits >> 23) - 120;  // of the first bit of 2/pi that counts, in the table
  const std::uint32_t word = offset / 32, shift = offset % 32;
  std::uint64_t p[3];  // p[0] first
  for (std::uint32_t j = 0; j < 3; ++j) {
    const std::uint64_t pair =
        (std::uint64_t{kTwoOverPi.at(word + j)} << 32) | kTwoOverPi.at(word + j + 1);
    p[j] = (pair >> (32 - shift)) & 0xffffffffU;
  }
  const std::uint64_t low = m * p[2];
  const std::uint64_t middle = m * p[1] + (low >> 32);
  const std::uint64_t high = m * p[0] + (middle >> 32);
  const std::uint64_t product = (high << 32) | (middle & 0xffffffffU);  // quarter turns times 2^62
  const std::int64_t fraction = static_cast<std::int64_t>(product << 2);
  const std::int32_t q = static_cast<std::int32_t>(product >> 62) + (fraction < 0 ? 1 : 0);
  return {static_cast<float>(static_cast<double>(fraction) * 0x1.921fb54442d18p-64), q};
}

/// sin of r + q*pi/2.
float sin_of(Quadrant at) {
  const float r = at.r;
  const float z = r * r;
  const float sine =
      fma(r * z, horner(z, {-0x1.555556p-3F, 0x1.111166p-7F, -0x1.a04a74p-13F, 0x1.7864ccp-19F}), r);
  const float c = horner(z, {0x1.55554ap-5F, -0x1.6c0c2ap-10F, 0x1.99e912p-16F});
  const float cosine = fma(z, fma(z, c, -0.5F), 1.0F);
  const float y = (at.q & 1) != 0 ? cosine : sine;
  return flip_sign(y, static_cast<std::int32_t>(static_cast<std::uint32_t>(at.q) << 30));
}

}  // namespace

float reference_exp(float x) {
  if (x != x) return kNan;
  if (x > 89.0F) return kInf;
  if (x < -104.0F) return 0.0F;
  return exp_in_range(x);
}

float reference_log(float x) {
  if (x == 0.0F) return -kInf;
  if (!(x > 0.0F)) return kNan;
  if (x == kInf) return kInf;
  const bool subnormal = x < 0x1p-126F;
  const std::int32_t bits = bits_of(subnormal ? x * 0x1p23F : x);
  const std::int32_t k = (bits - 0x3f3504f3) >> 23;
  const float f = from_bits(bits - k * 0x800000) - 1.0F;
  const float kf = static_cast<float>(k - (subnormal ? 23 : 0));
  const float p = horner(f, {0x1.555564p-2F, -0x1.00023cp-2F, 0x1.99986p-3F, -0x1.546790p-3F,
                             0x1.236438p-3F, -0x1.0e6826p-3F, 0x1.025beap-3F, -0x1.2d3636p-4F});
  const float z = f * f;
  float s = fma(z, f * p, kf * -0x1.05c61p-29F);
  s = fma(z, -0.5F, s);
  return fma(kf, 0x1.62e43p-1F, f + s);
}

float reference_sin(float x) {
  const float a = magnitude(x);
  if (!(a < kInf)) return kNan;
  return flip_sign(sin_of(reduce(a)), bits_of(x));
}

float reference_cos(float x) {
  const float a = magnitude(x);
  if (!(a < kInf)) return kNan;
  Quadrant at = reduce(a);
  at.q += 1;
  return sin_of(at);
}

float reference_tanh(float x) {
  if (x != x) return kNan;
  const float a = magnitude(x);
  float y = 0;
  if (a < 0.5625F) {
    const float z = a * a;
    y = fma(
        a * z,
        horner(z, {-0x1.555548p-2F, 0x1.110c62p-3F, -0x1.b906e2p-5F, 0x1.581e06p-6F, -0x1.94a5bap-8F}),
        a);
  } else {
    const float b = a > 10.0F ? 10.0F : a;
    y = 1.0F - 2.0F / (exp_in_range(b + b) + 1.0F);
  }
  return flip_sign(y, bits_of(x));
}

float reference_pow(float x, float y) {
  if (y == 0.0F || x == 1.0F) return 1.0F;
  if (x == -1.0F && magnitude(y) == kInf) return 1.0F;
  if (x != x || y != y) return kNan;
  const bool integer = std::floor(y) == y;
  const float half = y * 0.5F;
  const bool odd = integer && std::floor(half) != half;
  const float a = magnitude(x);
  if (x < 0.0F && a < kInf && !integer) return kNan;
  const double m = static_cast<double>(a);
  double log2 = 0;
  if (a == 0.0F) {
    log2 = -std::numeric_limits<double>::infinity();
  } else if (a == kInf) {
    log2 = std::numeric_limits<double>::infinity();
  } else {
    const std::int64_t bits = std::bit_cast<std::int64_t>(m);
    const std::int64_t k = (bits - 0x3fe6a09e667f3bcd) >> 52;
    const double f = std::bit_cast<double>(bits - k * 0x10000000000000) - 1.0;
    const double p = horner(
        f, {0x1.71547652b886bp+0, -0x1.7154765288ab9p-1, 0x1.ec709dbe42b8dp-2, -0x1.715476becc364p-2,
            0x1.2776c8b5f577bp-2, -0x1.ec705a9aac894p-3, 0x1.a61575ad533c6p-3, -0x1.715cab4164dbep-3,
            0x1.4889ade7edd4fp-3, -0x1.2715d295d2b3fp-3, 0x1.08914c62d7d18p-3, -0x1.eb99f2b791cd6p-4,
            0x1.028fe79382d0bp-3, -0x1.f40694c536a38p-4, 0x1.f823aacd59788p-5});
    log2 = fma(f, p, static_cast<double>(k));
  }
  double t = static_cast<double>(y) * log2;
  if (t > 200.0) t = 200.0;
  if (t < -200.0) t = -200.0;
  const double magic = 0x1.8p52;
  const double rounded = t + magic;
  const double r = t - (rounded - magic);
  const std::int64_t n = std::bit_cast<std::int64_t>(rounded) - std::bit_cast<std::int64_t>(magic);
  const double e = horner(r, {0x1.ffffffffff72dp-1, 0x1.62e42fef862dfp-1, 0x1.ebfbdff940ac5p-3,
                              0x1.c6b08dd44332cp-5, 0x1.3b2ab5b2350c1p-7, 0x1.5d87485c11efcp-10,
                              0x1.430aeb059298cp-13, 0x1.00dac18bd9c58p-16, 0x1.619174a2c1a16p-20});
  const float z = static_cast<float>(e * std::bit_cast<double>((n + 1023) << 52));
  return odd ? flip_sign(z, bits_of(x)) : z;
}

}  // namespace mica::test
