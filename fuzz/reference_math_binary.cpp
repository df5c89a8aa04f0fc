#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "fuzz/reference_math.h"

namespace mica::test {
namespace {

template <typename F>
F quiet_nan() {
  return std::numeric_limits<F>::quiet_NaN();
}

/// atan(n/d) for 0 <= n <= d, 0 < d.
double atan_of_quotient(double n, double d) {
  double numerator = n, denominator = d, high = 0, low = 0;
  if (n > d * 0.6875) {
    numerator = n - d;
    denominator = n + d;
    high = 0x1.921fb54442d18p-1;
    low = 0x1.1a62633145c07p-55;
  } else if (n > d * 0.4375) {
    numerator = (n + n) - d;
    denominator = (d + d) + n;
    high = 0x1.dac670561bb4fp-2;
    low = 0x1.a2b7f222f65e2p-56;
  }
  constexpr double coefficients[] = {-0x1.5555555555505p-2, 0x1.999999998dd75p-3,  -0x1.2492491fbe30bp-3,
                                     0x1.c71c6fc9f3c92p-4,  -0x1.745cda06160b6p-4, 0x1.3b0f07ee2bd00p-4,
                                     -0x1.10d51448f58b4p-4, 0x1.ddd217c963cccp-5,  -0x1.97737edf433c1p-5,
                                     0x1.2ab4ae68a969ap-5,  -0x1.09c28016cefacp-6};
  const double t = numerator / denominator, z = t * t;
  double p = 0;
  for (std::size_t i = std::size(coefficients); i-- > 0;) {
    p = i + 1 == std::size(coefficients) ? coefficients[i] : std::fma(p, z, coefficients[i]);
  }
  return high + (t + std::fma(t * z, p, low));
}

/// a = mantissa * 2^exponent, for a finite a >= 0 of a format with `digits` after the first.
template <typename F, typename Bits>
struct Split {
  std::uint64_t mantissa;
  int exponent;
  Split(F a, int digits) {
    const Bits bits = std::bit_cast<Bits>(a);
    const Bits field = bits >> digits;
    mantissa = bits & ((Bits{1} << digits) - 1);
    if (field != 0) mantissa |= std::uint64_t{1} << digits;
    exponent = field == 0 ? 1 : static_cast<int>(field);
  }
};

/// One bit of the quotient after the other.
template <typename F, typename Bits>
F remainder_of(F x, F y, int digits) {
  const F a = std::fabs(x), b = std::fabs(y);
  if (!(a < std::numeric_limits<F>::infinity()) || !(b > 0)) return quiet_nan<F>();
  if (a < b) return x;
  const Split<F, Bits> of_a(a, digits), of_b(b, digits);
  std::uint64_t rest = of_a.mantissa % of_b.mantissa;
  for (int i = of_b.exponent; i < of_a.exponent; ++i) rest = 2 * rest % of_b.mantissa;
  const int bias = std::numeric_limits<F>::max_exponent - 1 + digits;
  return std::copysign(std::ldexp(static_cast<F>(rest), of_b.exponent - bias), x);
}

}  // namespace

double reference_atan2(double y, double x) {
  if (x != x || y != y) return quiet_nan<double>();
  const double a = std::fabs(y), b = std::fabs(x);
  const double less = a > b ? b : a, more = a > b ? a : b;
  double angle = 0;
  if (less == std::numeric_limits<double>::infinity()) {
    angle = atan_of_quotient(1, 1);
  } else if (more != 0) {
    const double factor = more > 0x1p1000 ? 0x1p-64 : 1;
    angle = atan_of_quotient(less * factor, more * factor);
  }
  if (a > b) angle = 0x1.921fb54442d18p+0 - (angle - 0x1.1a62633145c07p-54);
  if (std::signbit(x)) angle = 0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c07p-53);
  return std::signbit(y) ? -angle : angle;
}

float reference_atan2(float y, float x) {
  return static_cast<float>(reference_atan2(static_cast<double>(y), static_cast<double>(x)));
}

float reference_fmod(float a, float b) { return remainder_of<float, std::uint32_t>(a, b, 23); }
double reference_fmod(double a, double b) { return remainder_of<double, std::uint64_t>(a, b, 52); }

}  // namespace mica::test
