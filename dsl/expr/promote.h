// The type that two operands meet in.
#pragma once

#include "dsl/expr/expr.h"

namespace mica {

/// The common type of two non-literal operands: a float wins over an integer, the wider float over the
/// narrower (f16 with bf16 gives f32), of integers the wider width, signed if either is (u32 with i32
/// gives i32, which has the same bits).
/// Both must be numbers (no bools), of one lane.
Type promoted_type(Type a, Type b);

/// True for a constant node that no cast gave its type.
bool is_literal(const Expr& e);

/// Converts both operands of the operation written `op` to one type, and a scalar to the other's lanes.
///
/// A literal takes the other operand's type:
///  - beside a float it is rounded to that float type; too large a value is a UserError;
///  - an integer beside an integer type that holds it takes that type; else both are converted to the
///    first of i16, i32, i64 that holds the value and all of the type (u8 + 300 is i16); a value that
///    i64 does not hold and a u64 beside a negative one are a UserError, as no type holds both;
///  - a float literal beside an integer keeps its own type, and the integer is converted.
/// Two operands of which neither is a literal meet in promoted_type. So do two literals, but for
/// integers that it does not hold: those meet in the unsigned type of its width, else as an operand and
/// a literal do (0xffffffffu / 2 is u32, 0xffffffffu - -1 is i64).
///
/// UserErrors: an undefined operand; a bool beside a number.
void match_types(const char* op, Expr& a, Expr& b);

/// `e` as `type`: itself, a constant of that type if it is a literal, or a Cast.
Expr converted(Type type, const Expr& e);
/// `e`, or a Broadcast of it if it is a scalar and `lanes` is more than 1.
Expr to_lanes(int lanes, const Expr& e);
/// Throws UserError if `e` is undefined; `op` names the operation in the message.
void require_defined(const char* op, const Expr& e);

}  // namespace mica
