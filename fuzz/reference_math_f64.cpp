#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "fuzz/reference_math.h"

namespace mica::test {
namespace {

using std::fma;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::bit_cast<double>(0x7ff8000000000000U);
constexpr std::int64_t kOne = 0x10000000000000;  // 2^52, the exponent's lowest bit

std::int64_t bits_of(double x) { return std::bit_cast<std::int64_t>(x); }
double from_bits(std::int64_t bits) { return std::bit_cast<double>(bits); }
double magnitude(double x) { return from_bits(bits_of(x) & std::numeric_limits<std::int64_t>::max()); }
double flip_sign(double y, std::int64_t sign_source) {
  return from_bits(bits_of(y) ^ (sign_source & std::numeric_limits<std::int64_t>::min()));
}

template <std::size_t N>
double horner(double x, const double (&coefficients)[N]) {
  double sum = coefficients[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = fma(sum, x, coefficients[i]);
  return sum;
}

/// An unevaluated sum; |low| is at most a few ulps of |high|.
struct Pair {
  double high, low;
};

/// e^(x.high + x.low) for -746 <= x.high <= 710.
double exp_in_range(Pair x) {
  const double magic = 0x1.8p52;
  const double t = fma(x.high, 0x1.71547652b82fep+0, magic);
  const double k = t - magic;
  const std::int64_t n = bits_of(t) - bits_of(magic);
  const double exact = fma(k, -0x1.62e42fefa38p-1, x.high);
  const double rest = fma(k, -0x1.ef35793c7673p-45, x.low);
  const double r = exact + rest;
  const double e = (exact - r) + rest;
  const double q =
      horner(r, {0x1.000000000000bp-1, 0x1.555555555550fp-3, 0x1.55555555502a0p-5, 0x1.1111111122b4ap-7,
                 0x1.6c16c1852c01cp-10, 0x1.a01a014498ae6p-13, 0x1.a01997c656a0fp-16,
                 0x1.71deec62e8918p-19, 0x1.28af42a60c9fap-22, 0x1.add773f1864b3p-26});
  const double p = fma(r * r, q, r);
  const double y = 1.0 + (p + fma(e, p, e));
  const std::int64_t n1 = n >> 1;
  return y * from_bits((n1 + 1023) << 52) * from_bits((n - n1 + 1023) << 52);
}

struct Quadrant {
  Pair r;          ///< |x| minus the nearest multiple of pi/2
  std::int64_t q;  ///< the multiple, modulo 4 (low two bits)
};

/// Bits of 2/pi after the binary point, behind 64 zero bits.
constexpr std::array<std::uint64_t, 20> kTwoOverPi = {0,
                                                      0xa2f9836e4e441529,
                                                      0xfc2757d1f534ddc0,
                                                      0xdb6295993c439041,
                                                      0xfe5163abdebbc561,
                                                      0xb7246e3a424dd2e0,
                                                      0x06492eea09d1921c,
                                                      0xfe1deb1cb129a73e,
                                                      0xe88235f52ebb4484,
                                                      0xe99c7026b45f7e41,
                                                      0x3991d639835339f4,
                                                      0x9c845f8bbdf9283b,
                                                      0x1ff897ffde05980f,
                                                      0xef2f118b5a0a6d1f,
                                                      0x6d367ecf27cb09b7,
                                                      0x4f463f669e5fea2d,
                                                      0x7527bac7ebe5f17b,
                                                      0x3d0739f78a5292ea,
                                                      0x6bfb5fb11f8d5d08,
                                                      0x56033046fc7b6bab};

Quadrant reduce(double a) {
  if (!(a >= 0x1.921fb54442d18p-1)) return {{a, 0.0}, 0};
  const std::uint64_t bits = static_cast<std::uint64_t>(bits_of(a));
  const std::uint64_t m = (bits & 0xfffffffffffffU) | 0x10000000000000U;
  const std::uint64_t m0 = m & 0xffffffffU, m1 = m >> 32;
  const std::uint64_t offset = (bits >> 52) - 1013;
  const std::uint64_t word = offset / 64, shift = offset % 64;
  std::uint64_t p[6];  // 32 bits each, p[5] first in the product
  for (std::uint64_t j = 0; j < 3; ++j) {
    const std::uint64_t next = kTwoOverPi.at(word + j + 1);
    const std::uint64_t window = (kTwoOverPi.at(word + j) << shift) | ((next >> 1) >> (63 - shift));
    p[5 - 2 * j] = window >> 32;
    p[4 - 2 * j] = window & 0xffffffffU;
  }
  // Column j of the product holds 32 bits of weight 2^(32 j).
  std::uint64_t columns[6];
  std::uint64_t carry = 0;
  for (int j = 0; j < 6; ++j) {
    const std::uint64_t a0 = m0 * p[j];
    const std::uint64_t sum = (a0 & 0xffffffffU) + (j > 0 ? m1 * p[j - 1] : 0) + carry;
    columns[j] = sum & 0xffffffffU;
    carry = (sum >> 32) + (a0 >> 32);
  }
  const std::uint64_t top = (columns[5] << 32) | columns[4];
  const std::uint64_t next = (columns[3] << 32) | columns[2];
  const std::int64_t fraction = static_cast<std::int64_t>((top << 2) | (next >> 62));
  const std::int64_t q = static_cast<std::int64_t>(top >> 62) + (fraction < 0 ? 1 : 0);
  const double h = static_cast<double>(fraction);
  const double tail = static_cast<double>(static_cast<std::int64_t>((next << 2) >> 11)) * 0x1p-53;
  // Saturates where h is 2^63.
  const std::int64_t back =
      h >= 0x1p63 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(h);
  const double rest = static_cast<double>(fraction - back) + tail;
  const double high = h + rest;
  const double low = (h - high) + rest;
  const double rh = high * 0x1.921fb54442d18p-64;
  const double rl = fma(high, 0x1.921fb54442d18p-64, -rh) +
                    fma(high, 0x1.1a62633145c07p-118, low * 0x1.921fb54442d18p-64);
  return {{rh, rl}, q};
}

/// sin of r + q*pi/2.
double sin_of(const Quadrant& at) {
  const double r = at.r.high, low = at.r.low;
  const double z = r * r;
  const double half = z * 0.5;
  const double w = 1.0 - half;
  const double s = horner(z, {-0x1.5555555555548p-3, 0x1.111111110f75dp-7, -0x1.a01a019bf22f2p-13,
                              0x1.71de355f1c731p-19, -0x1.ae5e548d98501p-26, 0x1.5d8e3faa69bb0p-33});
  const double sine = r + fma(r * z, s, low * w);
  const double c = horner(z, {0x1.555555555554ap-5, -0x1.6c16c16c14e4ap-10, 0x1.a01a019c689eep-16,
                              -0x1.27e4f7d9024a5p-22, 0x1.1ee9cccc4021dp-29, -0x1.8f9f6dc0b2518p-37});
  const double cosine = w + (((1.0 - w) - half) + fma(z * z, c, -(r * low)));
  const double y = (at.q & 1) != 0 ? cosine : sine;
  return flip_sign(y, static_cast<std::int64_t>(static_cast<std::uint64_t>(at.q) << 62));
}

/// log of a positive finite x as an unevaluated sum with a relative error below 2^-66.
Pair log_pair(double x) {
  const bool subnormal = x < 0x1p-1022;
  const std::int64_t bits = bits_of(subnormal ? x * 0x1p54 : x);
  const std::int64_t e = (bits - 0x3fe6a09e667f3bcd) >> 52;
  const double m = from_bits(bits - e * kOne);
  const double k = static_cast<double>(e - (subnormal ? 54 : 0));
  // s = (m - 1)/(m + 1); log m = 2 atanh s = 2s (1 + z (1/3 + z Q(z))), z = s^2.
  const double f = m - 1.0;
  const double d = m + 1.0;
  const double d_low = m - (d - 1.0);
  const double inverse = 1.0 / d;
  const double s = f * inverse;
  const double s_low = fma(-s, d_low, fma(-s, d, f)) * inverse;
  const double z = s * s;
  const double z_low = fma(s + s, s_low, fma(s, s, -z));
  const double t = z * horner(z, {0x1.9999999999995p-3, 0x1.2492492493150p-3, 0x1.c71c71c56444fp-4,
                                  0x1.745d183dec639p-4, 0x1.3b135fff863dfp-4, 0x1.112112a7d433ep-4,
                                  0x1.de26213628c94p-5, 0x1.eb76255ddc6b8p-5});
  const double third = 0x1.5555555555555p-2;
  const double c = third + t;
  const double c_low = ((third - c) + t) + 0x1.5555555555555p-56;
  const double w = z * c;
  const double w_low = fma(z, c, -w) + fma(z, c_low, z_low * c);
  const double u = s * w;
  const double u_low = fma(s, w, -u) + fma(s, w_low, s_low * w);
  const double l = s + u;
  const double l_low = ((s - l) + u) + (u_low + s_low);
  const double k_high = k * 0x1.62e42fefa38p-1;  // exact: 42 bits times 11
  const double twice = l + l;
  const double high = k_high + twice;
  const double low = ((k_high - high) + twice) + fma(k, 0x1.ef35793c7673p-45, l_low + l_low);
  return {high, low};
}

}  // namespace

double reference_exp(double x) {
  if (x != x) return kNan;
  if (x > 710.0) return kInf;
  if (x < -746.0) return 0.0;
  return exp_in_range({x, 0.0});
}

double reference_log(double x) {
  if (x == 0.0) return -kInf;
  if (!(x > 0.0)) return kNan;
  if (x == kInf) return kInf;
  const bool subnormal = x < 0x1p-1022;
  const std::int64_t bits = bits_of(subnormal ? x * 0x1p54 : x);
  const std::int64_t e = (bits - 0x3fe6a09e667f3bcd) >> 52;
  const double f = from_bits(bits - e * kOne) - 1.0;
  const double k = static_cast<double>(e - (subnormal ? 54 : 0));
  const double s = f / (f + 2.0);
  const double z = s * s;
  const double r = z * horner(z, {0x1.5555555555594p-1, 0x1.999999997f72dp-2, 0x1.249249423c734p-2,
                                  0x1.c71c51d50fa2ap-3, 0x1.7466486178ecdp-3, 0x1.39a0ddfa994c2p-3,
                                  0x1.2f0d5e2c92795p-3});
  const double half = 0.5 * f * f;
  const double t = fma(s, half + r, k * 0x1.abc9e3b39803fp-56);
  return fma(k, 0x1.62e42fefa39efp-1, f - (half - t));
}

double reference_sin(double x) {
  const double a = magnitude(x);
  if (!(a < kInf)) return kNan;
  return flip_sign(sin_of(reduce(a)), bits_of(x));
}

double reference_cos(double x) {
  const double a = magnitude(x);
  if (!(a < kInf)) return kNan;
  Quadrant at = reduce(a);
  at.q += 1;
  return sin_of(at);
}

double reference_tanh(double x) {
  if (x != x) return kNan;
  const double a = magnitude(x);
  double y = 0;
  if (a < 0.5625) {
    const double z = a * a;
    y = fma(a * z,
            horner(z, {-0x1.555555555554bp-2, 0x1.1111111110255p-3, -0x1.ba1ba1b9310d2p-5,
                       0x1.664f48485e724p-6, -0x1.226e2ce5a6c96p-7, 0x1.d6d243717f239p-9,
                       -0x1.7d8b650886c30p-10, 0x1.345f3a4251efcp-11, -0x1.e7fcf7b74986bp-13,
                       0x1.594e385ff96a7p-14, -0x1.3cd4e90c7b026p-16}),
            a);
  } else {
    const double b = a > 20.0 ? 20.0 : a;
    y = 1.0 - 2.0 / (exp_in_range({b + b, 0.0}) + 1.0);
  }
  return flip_sign(y, bits_of(x));
}

double reference_pow(double x, double y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (x == -1.0 && magnitude(y) == kInf) return 1.0;
  if (x != x || y != y) return kNan;
  const bool integer = std::floor(y) == y;
  const double half = y * 0.5;
  const bool odd = integer && std::floor(half) != half;
  const double a = magnitude(x);
  if (x < 0.0 && a < kInf && !integer) return kNan;
  Pair log{0.0, 0.0};
  if (a == 0.0) {
    log.high = -kInf;
  } else if (a == kInf) {
    log.high = kInf;
  } else {
    log = log_pair(a);
  }
  const double t = y * log.high;
  double power = 0;
  if (t > 710.0) {
    power = kInf;
  } else if (t >= -746.0) {
    power = exp_in_range({t, fma(y, log.low, fma(y, log.high, -t))});
  }
  return odd ? flip_sign(power, bits_of(x)) : power;
}

}  // namespace mica::test
