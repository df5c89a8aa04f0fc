// Correctly rounded quotients by a constant, without a division.
//
//   x / c  =  fma(x, high, x * low)       high + low = 1/c, high rounded toward zero
//
// is what a division gives, for all x but small ones (N. Brisebarre, J.-M. Muller, S. K. Raina:
// Accelerating Correctly Rounded Floating-Point Division When the Divisor Is Known in Advance, IEEE
// Transactions on Computers 53(8), 2004, whose high is rounded to nearest). Why, of p bits: the sum
// before its one rounding is within 2^(2-2p) of the quotient, relatively, as low < 2^(1-p) high. Let c
// be C * 2^s, C odd. A quotient differs from each number halfway between two floats by an odd multiple
// of 1/(2C) ulp, so a C below 2^(p-3) is too small for a wrong rounding. Of larger ones the few x whose
// quotient is within 17/(2C) ulp of such a number are found from their remainders modulo C, and tried:
// with the nearest low, and with its neighbours, whose sums are within 2^(3-2p), that is 16/(2C) ulp.
// Zeros, infinities and NaNs come out right, as both parts have the divisor's sign.
#pragma once

#include <optional>

namespace mica::passes {

/// The two parts of 1/c, of the bits of `Float`.
template <typename Float>
struct Reciprocal {
  Float high, low;
  /// The least |x| for which x * low has all its bits: a power of two. Below, but for 0, x / c may
  /// differ.
  Float least;
};

/// Nothing where some quotient would be rounded wrongly, where `least` would be larger than 2^-40, and
/// for infinities, NaN and powers of two, which a multiplication divides by.
template <typename Float>
std::optional<Reciprocal<Float>> exact_reciprocal(Float divisor);

extern template std::optional<Reciprocal<float>> exact_reciprocal(float divisor);
extern template std::optional<Reciprocal<double>> exact_reciprocal(double divisor);

}  // namespace mica::passes
