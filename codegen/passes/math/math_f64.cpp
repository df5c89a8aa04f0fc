#include "codegen/passes/math/math_f64.h"

#include <array>

#include "codegen/passes/math/math_value.h"

// Coefficients: see math_f32.cpp.
namespace mica::passes {
namespace {

/// An unevaluated sum; |low| is at most a few ulps of |high|.
struct Pair {
  MathValue high, low;
};

/// e^(x.high + x.low) for -746 <= x.high <= 710: x = n*ln 2 + r + e with |r| <= ln(2)/2;
/// e^r = 1 + r + r^2 q(r); ln 2's upper part has 42 bits, so n times it is exact.
MathValue exp_in_range(MathLets& lets, const Pair& x) {
  const MathValue magic = x.high.constant(0x1.8p52);  // adding it rounds to an integer in the low bits
  const MathValue t = lets.let("t", fma(x.high, magic.constant(0x1.71547652b82fep+0), magic));
  const MathValue k = lets.let("k", t - magic);
  const MathValue n = lets.let("n", t.as_int() - 0x4338000000000000LL);
  const MathValue exact = lets.let("exact", fma(k, k.constant(-0x1.62e42fefa38p-1), x.high));
  const MathValue rest = lets.let("rest", fma(k, k.constant(-0x1.ef35793c7673p-45), x.low));
  const MathValue r = lets.let("r", exact + rest);
  const MathValue e = lets.let("e", (exact - r) + rest);
  const MathValue q =
      horner(r, {0x1.000000000000bp-1, 0x1.555555555550fp-3, 0x1.55555555502a0p-5, 0x1.1111111122b4ap-7,
                 0x1.6c16c1852c01cp-10, 0x1.a01a014498ae6p-13, 0x1.a01997c656a0fp-16,
                 0x1.71deec62e8918p-19, 0x1.28af42a60c9fap-22, 0x1.add773f1864b3p-26});
  const MathValue p = lets.let("p", fma(r * r, q, r));
  const MathValue y = 1.0 + (p + fma(e, p, e));
  const MathValue half_n = lets.let("half_n", n >> 1);
  return y * ((half_n + 1023) << 52).as_float() * (((n - half_n) + 1023) << 52).as_float();
}

Expr exp_f64(const Expr& argument, MathLets lets) {
  const MathValue x = lets.let("x", argument);
  const MathValue y = exp_in_range(lets, {x, x.constant(0.0)});
  const MathValue high = select(x > 710.0, x.infinity(), y);
  return lets.finish(select(x == x, select(x < -746.0, x.constant(0.0), high), x.quiet_nan()));
}

/// x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2).
struct Split {
  MathValue bits, exponent;  ///< bits of 1 + f are bits - (exponent << 52)
  MathValue k;               ///< as f64
};
Split split(MathLets& lets, const MathValue& x) {
  const MathValue subnormal = lets.let("subnormal", x < 0x1p-1022);
  const MathValue bits = lets.let("bits", select(subnormal, x * 0x1p54, x).as_int());
  const MathValue e = lets.let("exponent", (bits - 0x3fe6a09e667f3bcdLL) >> 52);
  const MathValue k = (e - select(subnormal, e.constant(54), e.constant(0))).to(Float(64));
  return {bits, e, lets.let("kf", k)};
}

/// With s = f/(2 + f): log(1 + f) = 2 atanh s = f - (h - s (h + R(s^2))), h = f^2/2.
Expr log_f64(const Expr& argument, MathLets lets) {
  const MathValue x = lets.let("x", argument);
  const Split parts = split(lets, x);
  const MathValue f = lets.let("f", (parts.bits - (parts.exponent << 52)).as_float() - 1.0);
  const MathValue s = lets.let("s", f / (f + 2.0));
  const MathValue z = lets.let("z", s * s);
  const MathValue r = z * horner(z, {0x1.5555555555594p-1, 0x1.999999997f72dp-2, 0x1.249249423c734p-2,
                                     0x1.c71c51d50fa2ap-3, 0x1.7466486178ecdp-3, 0x1.39a0ddfa994c2p-3,
                                     0x1.2f0d5e2c92795p-3});
  const MathValue h = lets.let("h", f * 0.5 * f);
  const MathValue t = fma(s, h + r, parts.k * 0x1.abc9e3b39803fp-56);
  const MathValue y = fma(parts.k, x.constant(0x1.62e42fefa39efp-1), f - (h - t));
  const MathValue finite = select(x == x.infinity(), x, y);
  return lets.finish(select(x == 0.0, -x.infinity(), select(x > 0.0, finite, x.quiet_nan())));
}

/// Bits of 2/pi after the binary point, behind 64 zero bits.
constexpr std::array<std::uint64_t, 20> kTwoOverPi = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/// |x| = q*pi/2 + r with |r| <= pi/4, for finite |x|; q matters modulo 4.
struct Quadrant {
  Pair r;
  MathValue q;
};

/// Payne and Hanek's reduction in integers, as in math_f32.cpp. |x| = m*2^e with a 53-bit m; a window
/// of 192 bits of 2/pi, the first of weight 2^(1-e), is multiplied by m in columns of 32 bits; the two
/// top bits are the quadrant, the next 126 the fraction (no double comes within 2^-62 of 0).
Quadrant reduce(MathLets& lets, const MathValue& a) {
  const MathValue bits = lets.let("bits", a.as_int());
  const MathValue m = lets.let("m", (bits & 0xfffffffffffffLL) | 0x10000000000000LL);
  const MathValue m0 = lets.let("m0", m & 0xffffffffLL), m1 = lets.let("m1", m >> 32);
  const MathValue offset = lets.let("offset", (bits >> 52) - 1013);
  const MathValue left = lets.let("left", offset & 63), right = lets.let("right", 63 - left);
  std::vector<MathValue> table;
  for (const std::uint64_t word : kTwoOverPi) {
    table.push_back(bits.constant(static_cast<std::int64_t>(word)));
  }
  const std::vector<MathValue> words = pick_words(lets, table, lets.let("word", offset >> 6), 4);
  // Logical shift: i64 shifts in copies of the sign.
  const auto high_half = [](const MathValue& v) { return (v >> 32) & 0xffffffffLL; };
  std::vector<MathValue> p;  // 32 bits each, least first
  for (std::size_t j = 3; j-- > 0;) {
    const MathValue next = (words[j + 1] >> 1) & 0x7fffffffffffffffLL;
    const MathValue window =
        lets.let("window" + std::to_string(j), (words[j] << left) | (next >> right));
    p.push_back(lets.let("p" + std::to_string(4 - 2 * j), window & 0xffffffffLL));
    p.push_back(lets.let("p" + std::to_string(5 - 2 * j), high_half(window)));
  }
  std::vector<MathValue> columns;
  MathValue carry = m.constant(0);
  for (std::size_t j = 0; j < 6; ++j) {
    const std::string name = std::to_string(j);
    const MathValue product = lets.let("product" + name, m0 * p[j]);
    MathValue sum = (product & 0xffffffffLL) + carry;
    if (j > 0) sum = m1 * p[j - 1] + sum;
    columns.push_back(lets.let("sum" + name, sum));
    carry = (columns[j] >> 32) + high_half(product);
  }
  const MathValue top = lets.let("top", (columns[5] << 32) | (columns[4] & 0xffffffffLL));
  const MathValue next = lets.let("next", (columns[3] << 32) | (columns[2] & 0xffffffffLL));
  const MathValue fraction = lets.let("fraction", (top << 2) | ((next >> 62) & 3));
  const MathValue q = (top >> 62) - (fraction >> 63);
  // fraction + tail as high + low, in units of 2^-64 quarter turns.
  const MathValue h = lets.let("h", fraction.to(Float(64)));
  const MathValue tail = (((next << 2) >> 11) & 0x1fffffffffffffLL).to(Float(64)) * 0x1p-53;
  const MathValue rest = lets.let("rest", (fraction - h.to(Int(64))).to(Float(64)) + tail);
  const MathValue high = lets.let("high", h + rest);
  const MathValue low = (h - high) + rest;
  const MathValue unit = h.constant(0x1.921fb54442d18p-64),
                  unit_low = h.constant(0x1.1a62633145c07p-118);
  const MathValue r = lets.let("r_large", high * unit);
  const MathValue r_low = fma(high, unit, -r) + fma(high, unit_low, low * unit);
  const MathValue large = lets.let("large", a >= 0x1.921fb54442d18p-1);
  return {{lets.let("r", select(large, r, a)), lets.let("r_low", select(large, r_low, a.constant(0.0)))},
          select(large, q, q.constant(0))};
}

/// sin(r + q*pi/2), with the low part of r to first order.
MathValue sin_of(MathLets& lets, const Pair& at, const MathValue& q) {
  const MathValue &r = at.high, &low = at.low;
  const MathValue z = lets.let("z", r * r);
  const MathValue half = lets.let("half", z * 0.5);
  const MathValue w = lets.let("w", 1.0 - half);
  const MathValue s = horner(z, {-0x1.5555555555548p-3, 0x1.111111110f75dp-7, -0x1.a01a019bf22f2p-13,
                                 0x1.71de355f1c731p-19, -0x1.ae5e548d98501p-26, 0x1.5d8e3faa69bb0p-33});
  const MathValue sine = r + fma(r * z, s, low * w);
  const MathValue c = horner(z, {0x1.555555555554ap-5, -0x1.6c16c16c14e4ap-10, 0x1.a01a019c689eep-16,
                                 -0x1.27e4f7d9024a5p-22, 0x1.1ee9cccc4021dp-29, -0x1.8f9f6dc0b2518p-37});
  const MathValue cosine = w + (((1.0 - w) - half) + fma(z * z, c, -(r * low)));
  return flip_sign(select((q & 1) != 0, cosine, sine), q << 62);
}

Expr sin_f64(const Expr& argument, MathLets lets) {
  const MathValue x = lets.let("x", argument);
  const MathValue a = lets.let("a", magnitude(x));
  const Quadrant at = reduce(lets, a);
  const MathValue y = sin_of(lets, at.r, lets.let("q", at.q));
  return lets.finish(select(a < a.infinity(), flip_sign(y, x.as_int()), x.quiet_nan()));
}

Expr cos_f64(const Expr& argument, MathLets lets) {
  const MathValue a = lets.let("a", magnitude(argument));
  const Quadrant at = reduce(lets, a);
  const MathValue y = sin_of(lets, at.r, lets.let("q", at.q + 1));
  return lets.finish(select(a < a.infinity(), y, a.quiet_nan()));
}

/// x + x^3 p(x^2) below 9/16, 1 - 2/(e^(2x) + 1) above, on |x|.
Expr tanh_f64(const Expr& argument, MathLets lets) {
  const MathValue x = lets.let("x", argument);
  const MathValue a = lets.let("a", magnitude(x));
  const MathValue z = lets.let("z", a * a);
  const MathValue small =
      fma(a * z,
          horner(z, {-0x1.555555555554bp-2, 0x1.1111111110255p-3, -0x1.ba1ba1b9310d2p-5,
                     0x1.664f48485e724p-6, -0x1.226e2ce5a6c96p-7, 0x1.d6d243717f239p-9,
                     -0x1.7d8b650886c30p-10, 0x1.345f3a4251efcp-11, -0x1.e7fcf7b74986bp-13,
                     0x1.594e385ff96a7p-14, -0x1.3cd4e90c7b026p-16}),
          a);
  const MathValue b = lets.let("b", select(a > 20.0, a.constant(20.0), a));  // tanh 20 rounds to 1
  const MathValue twice = lets.let("twice", b + b);
  const MathValue large = 1.0 - 2.0 / (exp_in_range(lets, {twice, a.constant(0.0)}) + 1.0);
  const MathValue y = flip_sign(select(a < 0.5625, small, large), x.as_int());
  return lets.finish(select(x == x, y, x.quiet_nan()));
}

/// log of a positive finite x as a pair with a relative error below 2^-66:
/// s = (m - 1)/(m + 1), z = s^2, log m = 2 s (1 + z (1/3 + z Q(z))), the first terms in pairs.
Pair log_pair(MathLets& lets, const MathValue& x) {
  const Split parts = split(lets, x);
  const MathValue m = lets.let("m", (parts.bits - (parts.exponent << 52)).as_float());
  const MathValue f = lets.let("f", m - 1.0), d = lets.let("d", m + 1.0);
  const MathValue d_low = m - (d - 1.0);
  const MathValue inverse = lets.let("inverse", 1.0 / d);
  const MathValue s = lets.let("s", f * inverse);
  const MathValue s_low = lets.let("s_low", fma(-s, d_low, fma(-s, d, f)) * inverse);
  const MathValue z = lets.let("z", s * s);
  const MathValue z_low = fma(s + s, s_low, fma(s, s, -z));
  const MathValue t =
      lets.let("zq", z * horner(z, {0x1.9999999999995p-3, 0x1.2492492493150p-3, 0x1.c71c71c56444fp-4,
                                    0x1.745d183dec639p-4, 0x1.3b135fff863dfp-4, 0x1.112112a7d433ep-4,
                                    0x1.de26213628c94p-5, 0x1.eb76255ddc6b8p-5}));
  const MathValue third = z.constant(0x1.5555555555555p-2);
  const MathValue c = lets.let("c", third + t);
  const MathValue c_low = ((third - c) + t) + 0x1.5555555555555p-56;
  const MathValue w = lets.let("w", z * c);
  const MathValue w_low = fma(z, c, -w) + fma(z, c_low, z_low * c);
  const MathValue u = lets.let("u", s * w);
  const MathValue u_low = fma(s, w, -u) + fma(s, w_low, s_low * w);
  const MathValue l = lets.let("l", s + u);
  const MathValue l_low = lets.let("l_low", ((s - l) + u) + (u_low + s_low));
  const MathValue k_high = lets.let("k_high", parts.k * 0x1.62e42fefa38p-1);  // exact: 42 bits by 11
  const MathValue twice = lets.let("twice", l + l);
  const MathValue high = lets.let("log", k_high + twice);
  const MathValue low =
      ((k_high - high) + twice) + fma(parts.k, z.constant(0x1.ef35793c7673p-45), l_low + l_low);
  return {high, low};
}

}  // namespace

Expr math_f64(UnaryOp op, const Expr& x, const std::string& prefix) {
  switch (op) {
    case UnaryOp::Exp: return exp_f64(x, MathLets(prefix));
    case UnaryOp::Log: return log_f64(x, MathLets(prefix));
    case UnaryOp::Sin: return sin_f64(x, MathLets(prefix));
    case UnaryOp::Cos: return cos_f64(x, MathLets(prefix));
    case UnaryOp::Tanh: return tanh_f64(x, MathLets(prefix));
    case UnaryOp::Neg:
    case UnaryOp::Not:
    case UnaryOp::BitNot:
    case UnaryOp::Abs:
    case UnaryOp::Sqrt:
    case UnaryOp::Floor:
    case UnaryOp::Ceil:
    case UnaryOp::Round: break;
  }
  throw InternalError("math_f64 of an operation that is no math function");
}

/// e^(y log |x|), logarithm and product as pairs.
Expr pow_f64(const Expr& base, const Expr& exponent, const std::string& prefix) {
  MathLets lets(prefix);
  const MathValue x = lets.let("x", base);
  const MathValue y = lets.let("y", exponent);
  const MathValue a = lets.let("a", magnitude(x));
  const Pair log = log_pair(lets, a);
  const MathValue none = lets.let("none", a == 0.0), all = lets.let("all", a == a.infinity());
  const MathValue high =
      lets.let("log_high", select(none, -a.infinity(), select(all, a.infinity(), log.high)));
  const MathValue low = select(none || all, a.constant(0.0), log.low);
  const MathValue t = lets.let("product", y * high);
  const MathValue t_low = lets.let("product_low", fma(y, low, fma(y, high, -t)));
  const MathValue power = exp_in_range(lets, {t, t_low});
  const MathValue below = select(t < -746.0, t.constant(0.0), power);
  return finish_pow(lets, x, y, select(t > 710.0, t.infinity(), below));
}

}  // namespace mica::passes
