// The language's arithmetic.
//
// Operands are promoted to one type (dsl/expr/promote.h): a float wins over an integer, the wider over
// the narrower, signed over unsigned at the wider width; a literal takes the other operand's type.
// Comparisons and && || ! give bool. Arithmetic of integer constants is done at once, and adding the
// constant 0 or multiplying by 1 returns an integer operand unchanged; of float operations only the
// negation of a constant is done at once.
//
// All functions here throw a UserError for an undefined operand, arithmetic on bools, and a type that
// the operation does not take; the message says what to write instead, and stands at the line of the
// first operand.
#pragma once

#include <concepts>
#include <iosfwd>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/expr/expr.h"

namespace mica {

/// An operand of the functions below: an Expr, or what converts to one, and the line of the user's on
/// which it stands, which errors name. Made implicitly.
class Operand {
 public:
  template <typename E>
  requires(std::convertible_to<E&&, Expr> && !std::same_as<std::remove_cvref_t<E>, Operand>)
      Operand(E&& value, CallSite at = CallSite::current())  // NOLINT: operands are written as they are
      : expr_(std::forward<E>(value)), where_(at) {}
  [[nodiscard]] const Expr& expr() const { return expr_; }
  [[nodiscard]] const CallSite& where() const { return where_; }
  /// The Expr, which the operand no longer holds.
  [[nodiscard]] Expr take() { return std::move(expr_); }

 private:
  Expr expr_;
  CallSite where_;
};
namespace detail {
/// The operand as it is, or one made of what converts to it, which stands at `at`.
template <std::convertible_to<Operand> E>
Operand operand_at(E&& operand, const CallSite& at) {
  if constexpr (std::same_as<std::remove_cvref_t<E>, Operand>) {
    return std::forward<E>(operand);
  } else {
    return Operand(std::forward<E>(operand), at);
  }
}
}  // namespace detail

Expr operator+(Operand a, Operand b);
Expr operator-(Operand a, Operand b);
Expr operator*(Operand a, Operand b);
/// Integers round toward minus infinity (unsigned ones toward 0); division by zero gives 0. Floats are
/// IEEE.
Expr operator/(Operand a, Operand b);
/// The remainder of floor division (it has the divisor's sign); by zero gives 0. Integers only: of
/// floats, fmod.
Expr operator%(Operand a, Operand b);
Expr operator-(Operand a);
Expr operator!(Operand a);
Expr operator~(Operand a);
/// Bitwise on integers; on bools as &&, ||, != and !.
Expr operator&(Operand a, Operand b);
Expr operator|(Operand a, Operand b);
Expr operator^(Operand a, Operand b);
/// The result has a's type, into which b is converted. Shift by 0 <= b < bits; other amounts are a
/// UserError when constant, and taken modulo bits else. `>>` copies the sign of signed types, and shifts
/// zeros into unsigned ones.
Expr operator<<(Operand a, Operand b);
Expr operator>>(Operand a, Operand b);
Expr operator&&(Operand a, Operand b);
Expr operator||(Operand a, Operand b);
Expr operator==(Operand a, Operand b);
Expr operator!=(Operand a, Operand b);
Expr operator<(Operand a, Operand b);
Expr operator<=(Operand a, Operand b);
Expr operator>(Operand a, Operand b);
Expr operator>=(Operand a, Operand b);
Expr& operator+=(Expr& a, Operand b);
Expr& operator-=(Expr& a, Operand b);
Expr& operator*=(Expr& a, Operand b);
Expr& operator/=(Expr& a, Operand b);

/// IEEE 754-2019 minimum / maximum on floats: NaN if either operand is NaN, and -0 < +0.
Expr min(Operand a, Operand b);
Expr max(Operand a, Operand b);
template <typename... Rest>
requires(sizeof...(Rest) > 0 && (std::convertible_to<Rest, Operand> && ...)) Expr
    min(Operand a, Operand b, Rest... rest) {
  const CallSite at = a.where();
  return min(Operand(min(std::move(a), std::move(b)), at), detail::operand_at(std::move(rest), at)...);
}
template <typename... Rest>
requires(sizeof...(Rest) > 0 && (std::convertible_to<Rest, Operand> && ...)) Expr
    max(Operand a, Operand b, Rest... rest) {
  const CallSite at = a.where();
  return max(Operand(max(std::move(a), std::move(b)), at), detail::operand_at(std::move(rest), at)...);
}
/// max(min(value, high), low).
Expr clamp(Operand value, Operand low, Operand high);
/// The magnitude, in the operand's own type (the lowest signed integer maps to itself).
Expr abs(Operand a);
/// `if_true` where `condition`, else `if_false`; both are evaluated.
Expr select(Operand condition, Operand if_true, Operand if_false);
/// select(c1, v1, c2, v2, ..., otherwise).
template <typename... Rest>
requires(sizeof...(Rest) > 1 && (std::convertible_to<Rest, Operand> && ...)) Expr
    select(Operand condition, Operand value, Operand next_condition, Rest... rest) {
  const CallSite at = condition.where();
  Expr otherwise = select(std::move(next_condition), detail::operand_at(std::move(rest), at)...);
  return select(std::move(condition), std::move(value), Operand(std::move(otherwise), at));
}
/// Conversion; see Cast for the rules of each direction; to bool it is `value != 0`. A cast literal
/// keeps the type it was cast to: `cast(Int(32), 1) + u8expr` is i32, where `1 + u8expr` is u8. A scalar
/// `type` converts each lane of a vector.
Expr cast(Type type, Operand value);
template <typename T>
Expr cast(Operand value) {
  return cast(type_of<T>(), std::move(value));
}
/// a*b + c with a single rounding. Floats only.
Expr fma(Operand a, Operand b, Operand c);
/// Keeps the written order and rounding of `value`: no reordering, no contraction to fma.
Expr strict(Operand value);

/// values[index]; the first for an index below 0, the last for one beyond. All are evaluated. UserError
/// for no values or an index that is no integer.
Expr mux(Operand index, const std::vector<Expr>& values);
/// Linear interpolation: `zero` at weight 0, `one` at the greatest weight. Floats: a float weight from 0
/// to 1, zero*(1 - weight) + one*weight. Integers of up to 16 bits, wider ones in f64: a float weight,
/// computed in f32 and rounded to even; of u8, u16 and u32 also a weight of the same type, whose
/// greatest value stands for 1, computed exactly and rounded.
Expr lerp(Operand zero, Operand one, Operand weight);

// Float functions; an integer operand is converted, to f64 if it has 64 bits, else to f32. sqrt is
// correctly rounded. exp, log, sin, cos, pow and tanh are within 2 ulp, and their bits are the same on
// every target.
Expr sqrt(Operand a);
Expr floor(Operand a);
Expr ceil(Operand a);
/// To the nearest integer, ties to even.
Expr round(Operand a);
Expr exp(Operand a);
Expr log(Operand a);
Expr sin(Operand a);
Expr cos(Operand a);
Expr tanh(Operand a);
Expr pow(Operand base, Operand exponent);
/// The angle of the point (x, y) from the axis of x, in radians from -pi to pi: within 2 ulp, with the
/// same bits on every target. Signs of zeros count, as in C: atan2(-0, -1) is -pi; a NaN gives NaN.
Expr atan2(Operand y, Operand x);
/// What is left of a when b is subtracted as often as |a| allows: a - b*trunc(a/b) without a rounding,
/// of a's sign, also where it is 0. NaN where a is infinite, b is 0 or either is NaN; a where b is
/// infinite. (For integers, and a remainder of the divisor's sign, see operator%.)
Expr fmod(Operand a, Operand b);

/// The expression as text, up to a few lines of it; the name of a Var; the type.
std::ostream& operator<<(std::ostream& out, const Expr& e);
std::ostream& operator<<(std::ostream& out, const Var& v);
std::ostream& operator<<(std::ostream& out, const Type& type);

}  // namespace mica
