#include "dsl/expr/promote.h"

#include <algorithm>
#include <cmath>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

// The first signed type that has the value of `literal` and every value of `type`.
Type type_for(const char* op, Type type, const Expr& literal) {
  const std::int64_t value = literal.as<IntImm>()->value;
  for (const int bits : {16, 32, 64}) {
    const bool holds_type = bits > type.bits || (type.is_int() && bits == type.bits);
    if (holds_type && has_value(Int(bits), literal.type(), value)) return Int(bits);
  }
  throw UserError("no integer type holds both " + to_string(literal) + " and all of " + to_string(type) +
                  ", the operands of '" + op + "'; cast one of them to the type that the result is to " +
                  "have, e.g. cast(Int(64), ...)");
}

// The type in which two integer literals meet: of the common width, unsigned if it must be and can be.
Type type_of_literals(const char* op, const Expr& a, const Expr& b) {
  const Type common = promoted_type(a.type(), b.type());
  for (const Type type : {common, UInt(common.bits)}) {
    const auto fits = [&](const Expr& e) { return has_value(type, e.type(), e.as<IntImm>()->value); };
    if (fits(a) && fits(b)) return type;
  }
  return a.type().is_uint() ? type_for(op, b.type(), a) : type_for(op, a.type(), b);
}

// The type in which `literal` and an operand of `other` meet.
Type literal_type(const char* op, const Expr& literal, Type other) {
  if (const auto* imm = literal.as<IntImm>()) {
    if (other.is_float() || has_value(other, literal.type(), imm->value)) return other;
    return type_for(op, other, literal);
  }
  return other.is_float() ? other : literal.type();
}

void check_fits(const char* op, const Expr& literal, Type type) {
  if (!type.is_float()) return;
  const auto* imm = literal.as<FloatImm>();
  if (imm != nullptr && !std::isfinite(imm->value)) return;
  const Expr rounded = converted(type, literal);
  if (std::isfinite(rounded.as<FloatImm>()->value)) return;
  throw UserError(std::string("the literal ") + to_string(literal) + " does not fit " + to_string(type) +
                  ", the type of the other operand of '" + op +
                  "'; cast that operand to a wider float, e.g. cast(Float(64), ...)");
}

}  // namespace

void require_defined(const char* op, const Expr& e) {
  if (e.defined()) return;
  throw UserError(std::string("an operand of '") + op +
                  "' is an undefined Expr; assign a value to it before it is used");
}

bool is_literal(const Expr& e) { return e.as<IntImm>() != nullptr || e.as<FloatImm>() != nullptr; }

Type promoted_type(Type a, Type b) {
  if (a.is_float() != b.is_float()) return a.is_float() ? a : b;
  if (a.is_float()) {
    if (a.bits != b.bits) return a.bits > b.bits ? a : b;
    return a == b ? a : Float(32);
  }
  const int bits = std::max(a.bits, b.bits);
  return a.is_int() || b.is_int() ? Int(bits) : UInt(bits);
}

Expr converted(Type type, const Expr& e) {
  if (e.type() == type) return e;
  if (const auto* imm = e.as<IntImm>()) {
    return e.type().is_uint() ? make_const(type, static_cast<std::uint64_t>(imm->value))
                              : make_const(type, imm->value);
  }
  if (const auto* imm = e.as<FloatImm>()) return make_const(type, imm->value);
  return make_expr(type, Cast{e});
}

Expr to_lanes(int lanes, const Expr& e) {
  if (e.type().lanes == lanes) return e;
  if (!e.type().is_scalar()) {
    throw UserError("operands have " + std::to_string(e.type().lanes) + " and " + std::to_string(lanes) +
                    " lanes: " + brief(e) + "; use scalars, and vectorize() in the schedule");
  }
  return make_expr(e.type().with_lanes(lanes), Broadcast{e});
}

void match_types(const char* op, Expr& a, Expr& b) {
  require_defined(op, a);
  require_defined(op, b);
  const Type left = a.type().element();
  const Type right = b.type().element();
  if (left != right) {
    if (left.is_bool() || right.is_bool()) {
      throw UserError(std::string("'") + op + "' of " + to_string(left) + " and " + to_string(right) +
                      "; make the bool a number first: select(condition, 1, 0)");
    }
    const bool left_literal = is_literal(a);
    const bool right_literal = is_literal(b);
    Type type;
    if (a.as<IntImm>() != nullptr && b.as<IntImm>() != nullptr) {
      type = type_of_literals(op, a, b);
    } else if (left_literal == right_literal) {
      type = promoted_type(left, right);
    } else {
      const Expr& literal = left_literal ? a : b;
      type = literal_type(op, literal, left_literal ? right : left);
      check_fits(op, literal, type);
    }
    a = converted(type.with_lanes(a.type().lanes), a);
    b = converted(type.with_lanes(b.type().lanes), b);
  }
  const int lanes = std::max(a.type().lanes, b.type().lanes);
  if (lanes != 1) {
    a = to_lanes(lanes, a);
    b = to_lanes(lanes, b);
  }
}

}  // namespace mica
