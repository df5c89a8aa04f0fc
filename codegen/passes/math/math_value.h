// Arithmetic on expression nodes as written, for the formulas of math functions: no operator folds,
// reorders or promotes, so the nodes that come out are the roundings of the formula.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "dsl/expr/expr.h"

namespace mica::passes {

/// An expression with node-making operators. Both operands have one type; a number takes the type
/// (and the lanes) of the other operand.
class MathValue {
 public:
  MathValue(Expr e) : e_(std::move(e)) {}  // NOLINT: a value is its expression
  [[nodiscard]] const Expr& expr() const { return e_; }
  [[nodiscard]] Type type() const { return e_.type(); }

  /// `number` in this value's type and lanes.
  template <typename N>
  requires std::integral<N> || std::floating_point<N>
  [[nodiscard]] MathValue constant(N number) const {
    if (type().is_float()) return make_const(type(), static_cast<double>(number));
    return make_const(type(), static_cast<std::int64_t>(number));
  }
  /// The quiet NaN 0x7fc00000 or 0x7ff8000000000000 in this value's lanes.
  [[nodiscard]] MathValue quiet_nan() const;
  [[nodiscard]] MathValue infinity() const;

  /// Same bits, same width.
  [[nodiscard]] MathValue as_int() const;
  [[nodiscard]] MathValue as_float() const;
  /// Value conversion to `element` in the same lanes.
  [[nodiscard]] MathValue to(Type element) const;
  [[nodiscard]] MathValue floor() const;

 private:
  Expr e_;
};

MathValue binary(BinaryOp op, const MathValue& a, const MathValue& b);
MathValue compare(CompareOp op, const MathValue& a, const MathValue& b);
MathValue fma(const MathValue& a, const MathValue& b, const MathValue& c);
MathValue select(const MathValue& condition, const MathValue& if_true, const MathValue& if_false);
MathValue operator-(const MathValue& a);

inline MathValue operator+(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::Add, a, b);
}
inline MathValue operator-(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::Sub, a, b);
}
inline MathValue operator*(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::Mul, a, b);
}
inline MathValue operator/(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::Div, a, b);
}
inline MathValue operator&(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::BitAnd, a, b);
}
inline MathValue operator|(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::BitOr, a, b);
}
inline MathValue operator^(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::BitXor, a, b);
}
inline MathValue operator&&(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::And, a, b);
}
inline MathValue operator||(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::Or, a, b);
}
inline MathValue operator==(const MathValue& a, const MathValue& b) {
  return compare(CompareOp::Eq, a, b);
}
inline MathValue operator!=(const MathValue& a, const MathValue& b) {
  return compare(CompareOp::Ne, a, b);
}
inline MathValue operator<(const MathValue& a, const MathValue& b) {
  return compare(CompareOp::Lt, a, b);
}
inline MathValue operator>(const MathValue& a, const MathValue& b) {
  return compare(CompareOp::Gt, a, b);
}
inline MathValue operator>=(const MathValue& a, const MathValue& b) {
  return compare(CompareOp::Ge, a, b);
}
inline MathValue operator<<(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::Shl, a, b);
}
inline MathValue operator>>(const MathValue& a, const MathValue& b) {
  return binary(BinaryOp::Shr, a, b);
}

template <typename N>
concept Number = std::integral<N> || std::floating_point<N>;
// clang-format off
template <Number N> MathValue operator+(const MathValue& a, N b) { return a + a.constant(b); }
template <Number N> MathValue operator+(N a, const MathValue& b) { return b.constant(a) + b; }
template <Number N> MathValue operator-(const MathValue& a, N b) { return a - a.constant(b); }
template <Number N> MathValue operator-(N a, const MathValue& b) { return b.constant(a) - b; }
template <Number N> MathValue operator*(const MathValue& a, N b) { return a * a.constant(b); }
template <Number N> MathValue operator/(N a, const MathValue& b) { return b.constant(a) / b; }
template <Number N> MathValue operator&(const MathValue& a, N b) { return a & a.constant(b); }
template <Number N> MathValue operator|(const MathValue& a, N b) { return a | a.constant(b); }
template <Number N> MathValue operator==(const MathValue& a, N b) { return a == a.constant(b); }
template <Number N> MathValue operator!=(const MathValue& a, N b) { return a != a.constant(b); }
template <Number N> MathValue operator<(const MathValue& a, N b) { return a < a.constant(b); }
template <Number N> MathValue operator>(const MathValue& a, N b) { return a > a.constant(b); }
template <Number N> MathValue operator>=(const MathValue& a, N b) { return a >= a.constant(b); }
template <Number N> MathValue operator<<(const MathValue& a, N b) { return a << a.constant(b); }
template <Number N> MathValue operator>>(const MathValue& a, N b) { return a >> a.constant(b); }
// clang-format on

/// coefficients[0] + x*(coefficients[1] + x*(...)), one fma a degree.
MathValue horner(const MathValue& x, std::initializer_list<double> coefficients);
/// `y` with its sign bit flipped where the integer `sign_source` of its width is negative.
MathValue flip_sign(const MathValue& y, const MathValue& sign_source);
/// |x| by clearing the sign bit.
MathValue magnitude(const MathValue& x);
/// Names shared subexpressions: let() gives a variable to use any number of times, finish() wraps a
/// result in the Lets made so far. All names start with `prefix` and a dot.
class MathLets {
 public:
  explicit MathLets(std::string prefix) : prefix_(std::move(prefix)) {}
  MathValue let(const std::string& name, const MathValue& value);
  [[nodiscard]] Expr finish(const MathValue& result) const;

 private:
  std::string prefix_;
  std::vector<std::pair<std::string, Expr>> lets_;
};

/// words[index + j] for j in [0, count), lane by lane and without memory: a select for each bit of
/// `index`, which must lie in [0, words.size() - count]; other indices give some words.
std::vector<MathValue> pick_words(MathLets& lets, std::vector<MathValue> words, const MathValue& index,
                                  int count);

/// Sign and special values of x^y, as C99 Annex F has them, around `power` = |x|^y; `x` and
/// `y` are variables. Makes the Lets.
Expr finish_pow(MathLets& lets, const MathValue& x, const MathValue& y, const MathValue& power);

}  // namespace mica::passes
