// The language's arithmetic.
//
// Operands are promoted to one type (dsl/promote.h): a float wins over an integer, the wider over the
// narrower, signed over unsigned at the wider width; a literal takes the other operand's type.
// Comparisons and && || ! give bool. Arithmetic of integer constants is done at once, and adding the
// constant 0 or multiplying by 1 returns an integer operand unchanged; of float operations only the
// negation of a constant is done at once.
//
// All functions here throw a UserError for an undefined operand, arithmetic on bools, and a type that
// the operation does not take; the message says what to write instead.
#pragma once

#include <iosfwd>
#include <vector>

#include "dsl/expr.h"

namespace mica {

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
/// Integers round toward minus infinity; division by zero gives 0. Floats are IEEE.
Expr operator/(Expr a, Expr b);
/// The remainder of floor division (it has the divisor's sign); by zero gives 0. Integers only.
Expr operator%(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator!(Expr a);
Expr operator~(Expr a);
/// Bitwise on integers; on bools as &&, ||, != and !.
Expr operator&(Expr a, Expr b);
Expr operator|(Expr a, Expr b);
Expr operator^(Expr a, Expr b);
/// The result has a's type, into which b is converted. Shift by 0 <= b < bits; other amounts are a
/// UserError when constant, and taken modulo bits else.
Expr operator<<(Expr a, Expr b);
Expr operator>>(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr& operator+=(Expr& a, Expr b);
Expr& operator-=(Expr& a, Expr b);
Expr& operator*=(Expr& a, Expr b);
Expr& operator/=(Expr& a, Expr b);

/// IEEE 754-2019 minimum / maximum on floats: NaN if either operand is NaN, and -0 < +0.
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
template <typename... Rest>
requires(sizeof...(Rest) > 0 && (std::convertible_to<Rest, Expr> && ...)) Expr
    min(Expr a, Expr b, Rest... rest) {
  return min(min(std::move(a), std::move(b)), rest...);
}
template <typename... Rest>
requires(sizeof...(Rest) > 0 && (std::convertible_to<Rest, Expr> && ...)) Expr
    max(Expr a, Expr b, Rest... rest) {
  return max(max(std::move(a), std::move(b)), rest...);
}
/// max(min(value, high), low).
Expr clamp(Expr value, Expr low, Expr high);
/// The magnitude, in the operand's own type (the lowest signed integer maps to itself).
Expr abs(Expr a);
/// `if_true` where `condition`, else `if_false`; both are evaluated.
Expr select(Expr condition, Expr if_true, Expr if_false);
/// select(c1, v1, c2, v2, ..., otherwise).
template <typename... Rest>
requires(sizeof...(Rest) > 1 && (std::convertible_to<Rest, Expr> && ...)) Expr
    select(Expr condition, Expr value, Expr next_condition, Rest... rest) {
  return select(std::move(condition), std::move(value), select(std::move(next_condition), rest...));
}
/// Conversion; see Cast for the rules of each direction; to bool it is `value != 0`. A cast literal
/// keeps the type it was cast to: `cast(Int(32), 1) + u8expr` is i32, where `1 + u8expr` is u8. A scalar
/// `type` converts each lane of a vector.
Expr cast(Type type, Expr value);
template <typename T>
Expr cast(Expr value) {
  return cast(type_of<T>(), std::move(value));
}
/// a*b + c with a single rounding. Floats only.
Expr fma(Expr a, Expr b, Expr c);
/// Keeps the written order and rounding of `value`: no reordering, no contraction to fma.
Expr strict(Expr value);

/// values[index]; the first for an index below 0, the last for one beyond. All are evaluated. UserError
/// for no values or an index that is no integer.
Expr mux(Expr index, const std::vector<Expr>& values);
/// Linear interpolation: `zero` at weight 0, `one` at the greatest weight. Floats: a float weight from 0
/// to 1, zero*(1 - weight) + one*weight. Integers of up to 16 bits, wider ones in f64: a float weight,
/// computed in f32 and rounded to even; of u8 and u16 also a weight of the same type, whose greatest
/// value stands for 1, computed exactly and rounded.
Expr lerp(Expr zero, Expr one, Expr weight);

// Float functions; an integer operand is converted, to f64 if it is an i64, else to f32. sqrt is
// correctly rounded. exp, log, sin, cos, pow and tanh are within 2 ulp, and their bits are the same on
// every target.
Expr sqrt(Expr a);
Expr floor(Expr a);
Expr ceil(Expr a);
/// To the nearest integer, ties to even.
Expr round(Expr a);
Expr exp(Expr a);
Expr log(Expr a);
Expr sin(Expr a);
Expr cos(Expr a);
Expr tanh(Expr a);
Expr pow(Expr base, Expr exponent);

/// The expression as text, up to a few lines of it; the name of a Var; the type.
std::ostream& operator<<(std::ostream& out, const Expr& e);
std::ostream& operator<<(std::ostream& out, const Var& v);
std::ostream& operator<<(std::ostream& out, const Type& type);

}  // namespace mica
