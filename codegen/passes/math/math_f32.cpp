#include "codegen/passes/math/math_f32.h"

#include "codegen/passes/math/math_value.h"

// Coefficients: least squares of the relative error over 200 Chebyshev points of the interval, in
// 60-digit decimals; each is rounded to the format before those of higher degree are fitted again.
namespace mica::passes {
namespace {

/// x*2^n for -150 <= n <= 128 by two multiplications, so that a subnormal result is rounded once
/// more at most.
MathValue scale(const MathValue& x, const MathValue& n, const MathValue& half_n) {
  const MathValue first = ((half_n + 127) << 23).as_float();
  const MathValue second = (((n - half_n) + 127) << 23).as_float();
  return x * first * second;
}

/// e^x for -104 <= x <= 89: x = n*ln 2 + r, |r| <= ln(2)/2, e^r = 1 + r + r^2 q(r).
MathValue exp_in_range(MathLets& lets, const MathValue& x) {
  const MathValue magic = x.constant(0x1.8p23);  // adding it rounds to an integer in the low bits
  const MathValue t = lets.let("t", fma(x, x.constant(0x1.715476p+0), magic));
  const MathValue k = lets.let("k", t - magic);
  const MathValue n = lets.let("n", t.as_int() - std::int64_t{0x4b400000});
  const MathValue r =
      lets.let("r", fma(k, x.constant(0x1.05c61p-29), fma(k, x.constant(-0x1.62e43p-1), x)));
  const MathValue q =
      horner(r, {0x1.fffff8p-2, 0x1.55548ep-3, 0x1.555b96p-5, 0x1.123bdp-7, 0x1.685352p-10});
  const MathValue y = 1.0 + fma(r * r, q, r);
  const MathValue half_n = lets.let("half_n", n >> 1);
  return scale(y, n, half_n);
}

Expr exp_f32(const Expr& argument, MathLets lets) {
  const MathValue x = lets.let("x", argument);
  const MathValue y = exp_in_range(lets, x);
  const MathValue high = select(x > 89.0, x.infinity(), y);
  return lets.finish(select(x == x, select(x < -104.0, x.constant(0.0), high), x.quiet_nan()));
}

/// x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f - f^2/2 + f^3 p(f).
Expr log_f32(const Expr& argument, MathLets lets) {
  const MathValue x = lets.let("x", argument);
  const MathValue subnormal = lets.let("subnormal", x < 0x1p-126);
  const MathValue bits = lets.let("bits", select(subnormal, x * 0x1p23, x).as_int());
  const MathValue k = lets.let("k", (bits - std::int64_t{0x3f3504f3}) >> 23);
  const MathValue f = lets.let("f", (bits - (k << 23)).as_float() - 1.0);
  const MathValue kf =
      lets.let("kf", (k - select(subnormal, k.constant(23), k.constant(0))).to(Float(32)));
  const MathValue p = horner(f, {0x1.555564p-2, -0x1.00023cp-2, 0x1.99986p-3, -0x1.54679p-3,
                                 0x1.236438p-3, -0x1.0e6826p-3, 0x1.025beap-3, -0x1.2d3636p-4});
  const MathValue z = lets.let("z", f * f);
  const MathValue s = fma(z, f * p, kf * -0x1.05c61p-29);
  const MathValue y = fma(kf, x.constant(0x1.62e43p-1), f + fma(z, x.constant(-0.5), s));
  const MathValue finite = select(x == x.infinity(), x, y);
  return lets.finish(select(x == 0.0, -x.infinity(), select(x > 0.0, finite, x.quiet_nan())));
}

/// |x| = q*pi/2 + r with |r| <= pi/4, for finite |x|; q matters modulo 4.
struct Quadrant {
  MathValue r, q;
};

/// Payne and Hanek's reduction in integers. |x| = m*2^e with a 24-bit m; bits of 2/pi of weight
/// above 2^(1-e) contribute multiples of 4 and are left out, the next 96 are multiplied by m:
///
///      2/pi  ....|  p0  |  p1  |  p2  |....      window of 96 bits, found by its bit offset
///   m * that = quadrant (2 bits) . fraction (62 bits kept; no float comes within 2^-30 of 0)
Quadrant reduce(MathLets& lets, const MathValue& a) {
  const Type word = UInt(32).with_lanes(a.type().lanes);
  std::vector<MathValue> table;  // 2/pi behind 32 zero bits
  for (const std::int64_t bits : {0x00000000LL, 0xa2f9836eLL, 0x4e441529LL, 0xfc2757d1LL, 0xf534ddc0LL,
                                  0xdb629599LL, 0x3c439041LL, 0xfe5163abLL}) {
    table.emplace_back(make_const(word, bits));
  }
  const MathValue bits = lets.let("bits", a.as_int());
  const MathValue m = lets.let("m", ((bits & 0x7fffff) | 0x800000).to(Int(64)));
  const MathValue offset = lets.let("offset", (bits >> 23) - 120);
  const std::vector<MathValue> words = pick_words(lets, table, lets.let("word", offset >> 5), 4);
  const MathValue left = lets.let("left", (offset & 31).to(UInt(32)));
  const MathValue right = lets.let("right", 31 - left);
  const auto window = [&](std::size_t j) {
    return ((words[j] << left) | ((words[j + 1] >> 1) >> right)).to(Int(64));
  };
  const MathValue low = m * window(2);
  const MathValue middle = lets.let("middle", m * window(1) + (low >> 32));
  const MathValue high = m * window(0) + (middle >> 32);
  const MathValue product = lets.let("product", (high << 32) | (middle & 0xffffffffLL));
  const MathValue fraction = lets.let("fraction", product << 2);
  const MathValue q = (product >> 62) - (fraction >> 63);
  const MathValue r = (fraction.to(Float(64)) * 0x1.921fb54442d18p-64).to(Float(32));
  const MathValue large = lets.let("large", a >= 0x1.921fb6p-1);
  return {lets.let("r", select(large, r, a)), select(large, q.to(Int(32)), bits.constant(0))};
}

/// sin(r + q*pi/2): the odd polynomial for even q, the even one for odd q, negated in two quadrants.
MathValue sin_of(MathLets& lets, const MathValue& r, const MathValue& q) {
  const MathValue z = lets.let("z", r * r);
  const MathValue sine =
      fma(r * z, horner(z, {-0x1.555556p-3, 0x1.111166p-7, -0x1.a04a74p-13, 0x1.7864ccp-19}), r);
  const MathValue c = horner(z, {0x1.55554ap-5, -0x1.6c0c2ap-10, 0x1.99e912p-16});
  const MathValue cosine = fma(z, fma(z, c, z.constant(-0.5)), z.constant(1.0));
  return flip_sign(select((q & 1) != 0, cosine, sine), q << 30);
}

Expr sin_f32(const Expr& argument, MathLets lets) {
  const MathValue x = lets.let("x", argument);
  const MathValue a = lets.let("a", magnitude(x));
  const Quadrant at = reduce(lets, a);
  const MathValue y = sin_of(lets, at.r, lets.let("q", at.q));
  return lets.finish(select(a < a.infinity(), flip_sign(y, x.as_int()), x.quiet_nan()));
}

Expr cos_f32(const Expr& argument, MathLets lets) {
  const MathValue a = lets.let("a", magnitude(argument));
  const Quadrant at = reduce(lets, a);
  const MathValue y = sin_of(lets, at.r, lets.let("q", at.q + 1));
  return lets.finish(select(a < a.infinity(), y, a.quiet_nan()));
}

/// x + x^3 p(x^2) below 9/16, 1 - 2/(e^(2x) + 1) above, on |x|.
Expr tanh_f32(const Expr& argument, MathLets lets) {
  const MathValue x = lets.let("x", argument);
  const MathValue a = lets.let("a", magnitude(x));
  const MathValue z = lets.let("z", a * a);
  const MathValue small =
      fma(a * z,
          horner(z, {-0x1.555548p-2, 0x1.110c62p-3, -0x1.b906e2p-5, 0x1.581e06p-6, -0x1.94a5bap-8}), a);
  const MathValue b = lets.let("b", select(a > 10.0, a.constant(10.0), a));  // tanh 10 rounds to 1
  const MathValue twice = lets.let("twice", b + b);
  const MathValue large = 1.0 - 2.0 / (exp_in_range(lets, twice) + 1.0);
  const MathValue y = flip_sign(select(a < 0.5625, small, large), x.as_int());
  return lets.finish(select(x == x, y, x.quiet_nan()));
}

}  // namespace

Expr math_f32(UnaryOp op, const Expr& x, const std::string& prefix) {
  switch (op) {
    case UnaryOp::Exp: return exp_f32(x, MathLets(prefix));
    case UnaryOp::Log: return log_f32(x, MathLets(prefix));
    case UnaryOp::Sin: return sin_f32(x, MathLets(prefix));
    case UnaryOp::Cos: return cos_f32(x, MathLets(prefix));
    case UnaryOp::Tanh: return tanh_f32(x, MathLets(prefix));
    case UnaryOp::Neg:
    case UnaryOp::Not:
    case UnaryOp::BitNot:
    case UnaryOp::Abs:
    case UnaryOp::Sqrt:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round: break;
  }
  throw InternalError("math_f32 of an operation that is no math function");
}

/// 2^(y log2 |x|) in f64, where the logarithm's relative error below 2^-40 leaves an error below
/// 2^-32 in the power; the last conversion rounds once, to subnormals and infinity too.
Expr pow_f32(const Expr& base, const Expr& exponent, const std::string& prefix) {
  MathLets lets(prefix);
  const MathValue x = lets.let("x", base);
  const MathValue y = lets.let("y", exponent);
  const MathValue a = lets.let("a", magnitude(x));
  const MathValue m = lets.let("m", a.to(Float(64)));
  const MathValue bits = lets.let("bits", m.as_int());
  const MathValue k = lets.let("k", (bits - 0x3fe6a09e667f3bcdLL) >> 52);
  const MathValue f = lets.let("f", (bits - (k << 52)).as_float() - 1.0);
  const MathValue p = horner(
      f, {0x1.71547652b886bp+0, -0x1.7154765288ab9p-1, 0x1.ec709dbe42b8dp-2, -0x1.715476becc364p-2,
          0x1.2776c8b5f577bp-2, -0x1.ec705a9aac894p-3, 0x1.a61575ad533c6p-3, -0x1.715cab4164dbep-3,
          0x1.4889ade7edd4fp-3, -0x1.2715d295d2b3fp-3, 0x1.08914c62d7d18p-3, -0x1.eb99f2b791cd6p-4,
          0x1.028fe79382d0bp-3, -0x1.f40694c536a38p-4, 0x1.f823aacd59788p-5});
  const MathValue log2 = select(a == 0.0, -m.infinity(),
                                select(a == a.infinity(), m.infinity(), fma(f, p, k.to(Float(64)))));
  const MathValue t = lets.let("t", y.to(Float(64)) * log2);
  const MathValue below = lets.let("below", select(t > 200.0, t.constant(200.0), t));
  const MathValue within = lets.let("within", select(below < -200.0, t.constant(-200.0), below));
  const MathValue rounded = lets.let("rounded", within + 0x1.8p52);
  const MathValue r = lets.let("r", within - (rounded - 0x1.8p52));
  const MathValue n = rounded.as_int() - 0x4338000000000000LL;
  const MathValue e = horner(r, {0x1.ffffffffff72dp-1, 0x1.62e42fef862dfp-1, 0x1.ebfbdff940ac5p-3,
                                 0x1.c6b08dd44332cp-5, 0x1.3b2ab5b2350c1p-7, 0x1.5d87485c11efcp-10,
                                 0x1.430aeb059298cp-13, 0x1.00dac18bd9c58p-16, 0x1.619174a2c1a16p-20});
  const MathValue power = (e * ((n + 1023) << 52).as_float()).to(Float(32));
  return finish_pow(lets, x, y, power);
}

}  // namespace mica::passes
