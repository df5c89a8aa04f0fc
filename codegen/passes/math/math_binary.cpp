#include "codegen/passes/math/math_binary.h"

#include "codegen/passes/math/math_value.h"

// Coefficients: see math_f32.cpp.
namespace mica::passes {
namespace {

MathValue modulo(const MathValue& a, const MathValue& b) { return binary(BinaryOp::Mod, a, b); }

// ---- atan2 -------------------------------------------------------------------------------------------

/// atan(n/d) for 0 <= n <= d, 0 < d: of t = n/d below 7/16; above it 1/2 or 1 is taken off first,
///
///   atan(n/d) = atan(c) + atan((n - c*d)/(d + c*n)),
///
/// with exact differences and |t| below 7/16 again; atan t = t + t^3 p(t^2).
MathValue atan_of_quotient(MathLets& lets, const MathValue& n, const MathValue& d) {
  const MathValue middle = lets.let("middle", n > d * 0.4375);
  const MathValue top = lets.let("top", n > d * 0.6875);
  const auto choose = [&](const MathValue& of_1, const MathValue& of_half, const MathValue& of_0) {
    return select(top, of_1, select(middle, of_half, of_0));
  };
  const MathValue twice = lets.let("twice", n + n);
  const MathValue t = lets.let("t", choose(n - d, twice - d, n) / choose(n + d, (d + d) + n, d));
  const MathValue z = lets.let("z", t * t);
  const MathValue p = horner(
      z, {-0x1.5555555555505p-2, 0x1.999999998dd75p-3, -0x1.2492491fbe30bp-3, 0x1.c71c6fc9f3c92p-4,
          -0x1.745cda06160b6p-4, 0x1.3b0f07ee2bd00p-4, -0x1.10d51448f58b4p-4, 0x1.ddd217c963cccp-5,
          -0x1.97737edf433c1p-5, 0x1.2ab4ae68a969ap-5, -0x1.09c28016cefacp-6});
  const MathValue zero = t.constant(0.0);
  const MathValue high =
      choose(t.constant(0x1.921fb54442d18p-1), t.constant(0x1.dac670561bb4fp-2), zero);
  const MathValue low =
      choose(t.constant(0x1.1a62633145c07p-55), t.constant(0x1.a2b7f222f65e2p-56), zero);
  return high + (t + fma(t * z, p, low));
}

/// On f64.
MathValue atan2_of(MathLets& lets, const MathValue& y, const MathValue& x) {
  const MathValue a = lets.let("a", magnitude(y)), b = lets.let("b", magnitude(x));
  const MathValue steep = lets.let("steep", a > b);
  const MathValue less = lets.let("less", select(steep, b, a)),
                  more = lets.let("more", select(steep, a, b));
  // Two infinities are as two ones; 0/0 is as 0/1. Large numbers are made smaller, so that twice one
  // stays finite.
  const MathValue infinite = lets.let("infinite", less == less.infinity());
  const MathValue factor =
      lets.let("factor", select(more > 0x1p1000, more.constant(0x1p-64), more.constant(1.0)));
  const MathValue one = more.constant(1.0);
  const MathValue n = lets.let("n", select(infinite, one, less * factor));
  const MathValue d = lets.let("d", select(infinite || more == 0.0, one, more * factor));
  const MathValue angle = lets.let("angle", atan_of_quotient(lets, n, d));
  const MathValue turned = 0x1.921fb54442d18p+0 - (angle - 0x1.1a62633145c07p-54);
  const MathValue right = lets.let("right", select(steep, turned, angle));
  const MathValue left = 0x1.921fb54442d18p+1 - (right - 0x1.1a62633145c07p-53);
  const MathValue is_left = x.as_int() < 0;
  const MathValue result = flip_sign(select(is_left, left, right), y.as_int());
  return select(x == x && y == y, result, x.quiet_nan());
}

// ---- fmod --------------------------------------------------------------------------------------------

/// |value| = mantissa * 2^(exponent - bias), for a finite value; both integers, the first i64.
struct Parts {
  MathValue mantissa, exponent;
};
Parts parts_of(MathLets& lets, const std::string& name, const MathValue& magnitude_bits, int digits) {
  const std::int64_t first = std::int64_t{1} << digits;  // of the least normal number
  const MathValue field = lets.let(name + ".field", magnitude_bits >> digits);
  const MathValue digit = magnitude_bits & (first - 1);
  const MathValue whole = select(field == 0, digit, digit | first);
  return {lets.let(name + ".mantissa", whole.to(Int(64))),
          lets.let(name + ".exponent", select(field == 0, field.constant(1), field))};
}

/// a * 2^shift modulo n, for a and n below 2^24 and a shift below 7*39.
MathValue shifted_modulo_f32(MathLets& lets, const MathValue& a, const MathValue& shift,
                             const MathValue& n) {
  constexpr int kSteps = 7, kBits = 39;  // a product has up to 63 bits
  MathValue rest = a;
  for (int step = 0; step < kSteps; ++step) {
    const std::string name = std::to_string(step);
    const MathValue left = lets.let("left" + name, shift - std::int64_t{step * kBits});
    const MathValue some = select(left > kBits, left.constant(kBits), left);
    const MathValue bits = select(left < 0, left.constant(0), some);
    rest = lets.let("rest" + name, modulo(rest << bits, n));
  }
  return rest;
}

/// The same for numbers below 2^53 and a shift below 2^11: the power of two modulo n by squares. A
/// product modulo n is what is left, in 64 bits that wrap, when n times the quotient that f64 gives is
/// taken away; that quotient is off by less than 8.
MathValue shifted_modulo_f64(MathLets& lets, const MathValue& a, const MathValue& shift,
                             const MathValue& n) {
  constexpr int kBits = 11;
  const MathValue inverse = lets.let("inverse", 1.0 / n.to(Float(64)));
  const auto product = [&](const std::string& name, const MathValue& u, const MathValue& v) {
    const MathValue quotient = (u.to(Float(64)) * v.to(Float(64)) * inverse).to(Int(64));
    return lets.let(name, modulo(u * v - quotient * n, n));
  };
  MathValue power = lets.let("power", modulo(n.constant(1), n));
  for (int bit = kBits - 1; bit >= 0; --bit) {
    const std::string name = std::to_string(bit);
    const MathValue square = product("square" + name, power, power);
    const MathValue is_set = (shift & (std::int64_t{1} << bit)) != 0;
    const MathValue next = lets.let("next" + name, select(is_set, square + square, square));
    power = lets.let("power" + name, select(next >= n, next - n, next));
  }
  return product("rest", lets.let("reduced", modulo(a, n)), power);
}

/// `whole` * 2^(exponent - bias), which the format has.
MathValue put_together(MathLets& lets, const MathValue& whole, const MathValue& exponent, Type type,
                       int digits) {
  const int middle = type.bits == 64 ? 1023 : 127;  // the exponent of 1
  const MathValue n = lets.let("n", exponent - std::int64_t{middle + digits});
  const MathValue half = lets.let("half", n >> 1);
  const auto power = [&](const MathValue& k) {
    return ((k + std::int64_t{middle}) << digits).as_float();
  };
  return whole.to(type) * power(half) * power(n - half);
}

}  // namespace

Expr expand_atan2(const Expr& y, const Expr& x, const std::string& prefix) {
  MathLets lets(prefix);
  const Type f64 = Float(64);
  if (x.type().bits == 64) {
    return lets.finish(atan2_of(lets, lets.let("y", y), lets.let("x", x)));
  }
  // One rounding of what f64 gives.
  const MathValue wide =
      atan2_of(lets, lets.let("y", MathValue(y).to(f64)), lets.let("x", MathValue(x).to(f64)));
  return lets.finish(wide.to(Float(32)));
}

Expr expand_fmod(const Expr& dividend, const Expr& divisor, const std::string& prefix) {
  MathLets lets(prefix);
  const bool is_f64 = dividend.type().bits == 64;
  const int digits = is_f64 ? 52 : 23;
  const MathValue x = lets.let("x", dividend), y = lets.let("y", divisor);
  const MathValue a = lets.let("a", magnitude(x)), b = lets.let("b", magnitude(y));
  const Parts of_a = parts_of(lets, "a", lets.let("a.bits", a.as_int()), digits);
  const Parts of_b = parts_of(lets, "b", lets.let("b.bits", b.as_int()), digits);
  const MathValue shift = lets.let("shift", (of_a.exponent - of_b.exponent).to(Int(64)));
  const MathValue rest = is_f64 ? shifted_modulo_f64(lets, of_a.mantissa, shift, of_b.mantissa)
                                : shifted_modulo_f32(lets, of_a.mantissa, shift, of_b.mantissa);
  const MathValue result =
      select(a < b, a, put_together(lets, rest, of_b.exponent, x.type().element(), digits));
  const MathValue some = a < a.infinity() && b > 0.0;  // false of NaNs
  return lets.finish(select(some, flip_sign(result, x.as_int()), x.quiet_nan()));
}

}  // namespace mica::passes
