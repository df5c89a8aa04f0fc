#include "codegen/passes/math/math_value.h"

#include <limits>

namespace mica::passes {

MathValue MathValue::quiet_nan() const {
  const Type bits = Int(type().bits).with_lanes(type().lanes);
  const std::int64_t pattern = type().bits == 64 ? 0x7ff8000000000000 : 0x7fc00000;
  return MathValue(make_const(bits, pattern)).as_float();
}
MathValue MathValue::infinity() const { return constant(std::numeric_limits<double>::infinity()); }
MathValue MathValue::as_int() const {
  return make_expr(Int(type().bits).with_lanes(type().lanes), Reinterpret{e_});
}
MathValue MathValue::as_float() const {
  return make_expr(Float(type().bits).with_lanes(type().lanes), Reinterpret{e_});
}
MathValue MathValue::to(Type element) const {
  return make_expr(element.with_lanes(type().lanes), Cast{e_});
}
MathValue MathValue::floor() const { return make_expr(type(), Unary{UnaryOp::Floor, e_}); }

MathValue binary(BinaryOp op, const MathValue& a, const MathValue& b) {
  internal_check(a.type() == b.type(), "a math formula mixes types");
  return make_expr(a.type(), Binary{op, a.expr(), b.expr()});
}
MathValue compare(CompareOp op, const MathValue& a, const MathValue& b) {
  internal_check(a.type() == b.type(), "a math formula mixes types");
  return make_expr(Bool().with_lanes(a.type().lanes), Compare{op, a.expr(), b.expr()});
}
MathValue fma(const MathValue& a, const MathValue& b, const MathValue& c) {
  internal_check(a.type() == b.type() && a.type() == c.type(), "a math formula mixes types");
  return make_expr(a.type(), Fma{a.expr(), b.expr(), c.expr()});
}
MathValue select(const MathValue& condition, const MathValue& if_true, const MathValue& if_false) {
  internal_check(if_true.type() == if_false.type(), "a math formula mixes types");
  return make_expr(if_true.type(), Select{condition.expr(), if_true.expr(), if_false.expr()});
}
MathValue operator-(const MathValue& a) { return make_expr(a.type(), Unary{UnaryOp::Neg, a.expr()}); }

MathValue horner(const MathValue& x, std::initializer_list<double> coefficients) {
  const double* last = coefficients.end() - 1;
  MathValue sum = x.constant(*last);
  while (last != coefficients.begin()) sum = fma(sum, x, x.constant(*--last));
  return sum;
}

MathValue flip_sign(const MathValue& y, const MathValue& sign_source) {
  const MathValue sign = sign_source & (std::int64_t{1} << 63 >> (64 - y.type().bits));
  return (y.as_int() ^ sign).as_float();
}

MathValue magnitude(const MathValue& x) {
  return (x.as_int() & (std::numeric_limits<std::int64_t>::max() >> (64 - x.type().bits))).as_float();
}

MathValue MathLets::let(const std::string& name, const MathValue& value) {
  const std::string full = prefix_ + "." + name;
  for (const auto& [bound, ignored] : lets_) {
    internal_check(bound != full, "a math formula binds a name twice");
  }
  lets_.emplace_back(full, value.expr());
  return make_var(lets_.back().first, value.type());
}

Expr MathLets::finish(const MathValue& result) const {
  Expr e = result.expr();
  for (auto it = lets_.rbegin(); it != lets_.rend(); ++it) {
    e = make_expr(e.type(), Let{it->first, it->second, e});
  }
  return e;
}

std::vector<MathValue> pick_words(MathLets& lets, std::vector<MathValue> words, const MathValue& index,
                                  int count) {
  const auto at = [&](int j) { return words[static_cast<std::size_t>(j)]; };
  int bit = 0;
  while ((2 << bit) <= static_cast<int>(words.size()) - count) ++bit;
  for (; bit >= 0; --bit) {
    const int step = 1 << bit;
    const std::string level = "words" + std::to_string(step);
    const MathValue set = lets.let(level, (index & step) != 0);
    const int size = static_cast<int>(words.size());
    std::vector<MathValue> next;
    for (int j = 0; j < count + step - 1 && j < size; ++j) {
      next.push_back(j + step < size
                         ? lets.let(level + "." + std::to_string(j), select(set, at(j + step), at(j)))
                         : at(j));
    }
    words = std::move(next);
  }
  return words;
}

Expr finish_pow(MathLets& lets, const MathValue& x, const MathValue& y, const MathValue& power) {
  const MathValue half = lets.let("half", y * 0.5);
  const MathValue integer = lets.let("integer", y.floor() == y);
  const MathValue odd = lets.let("odd", integer && half.floor() != half);
  const MathValue magnitude_only = lets.let("power", power);
  const MathValue signed_power = select(odd, flip_sign(magnitude_only, x.as_int()), magnitude_only);
  // A negative finite x has powers with integers only.
  const MathValue real = integer || x >= 0.0 || x == -x.infinity();
  const MathValue numbers = x == x && y == y;
  const MathValue result = select(numbers && real, signed_power, x.quiet_nan());
  const MathValue unit_power = x == -1.0 && magnitude(y) == y.infinity();
  const MathValue one = y == 0.0 || x == 1.0 || unit_power;
  return lets.finish(select(one, x.constant(1.0), result));
}

}  // namespace mica::passes
