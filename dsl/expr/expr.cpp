#include "dsl/expr/expr.h"

#include <cstdint>

#include <fmt/format.h>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/float_mode.h"
#include "dsl/expr/names.h"

namespace mica {
namespace {

Expr int_imm(Type type, std::int64_t value) { return make_expr(type, IntImm{value}); }
Expr float_imm(Type type, double value) { return make_expr(type, FloatImm{value}); }

Expr broadcast(Type type, Expr scalar) {
  return type.is_scalar() ? scalar : make_expr(type, Broadcast{std::move(scalar)});
}

// `value` as `type`, of a signed or an unsigned integer of C++.
template <typename Integer>
Expr constant(Type type, Integer value) {
  const Type element = type.element();
  if (!element.is_float()) {
    return broadcast(type, int_imm(element, wrap_to_type(element, static_cast<std::int64_t>(value))));
  }
  // Rounding to f64 first would round twice for the narrower types.
  const double rounded =
      element.bits == 64 ? to_f64(value) : round_to_type(element, to_f64(to_f32(value)));
  return broadcast(type, float_imm(element, rounded));
}

}  // namespace

void Expr::undefined(const SourceLocation& where) {
  throw UserError("use of an undefined Expr; assign a value to it before it is used", where);
}

Expr Expr::from_bool(bool value) { return int_imm(Bool(), value ? 1 : 0); }
Expr::Expr(std::int8_t value) : Expr(int_imm(Int(8), value)) {}
Expr::Expr(std::uint8_t value) : Expr(int_imm(UInt(8), value)) {}
Expr::Expr(std::int16_t value) : Expr(int_imm(Int(16), value)) {}
Expr::Expr(std::uint16_t value) : Expr(int_imm(UInt(16), value)) {}
Expr::Expr(std::uint32_t value) : Expr(int_imm(UInt(32), value)) {}
Expr::Expr(std::int32_t value) : Expr(int_imm(Int(32), value)) {}
Expr::Expr(std::uint64_t value) : Expr(int_imm(UInt(64), static_cast<std::int64_t>(value))) {}
Expr::Expr(std::int64_t value) : Expr(int_imm(Int(64), value)) {}
Expr::Expr(float value) : Expr(float_imm(Float(32), to_f64(value))) {}
Expr::Expr(double value) : Expr(float_imm(Float(64), value)) {}
Expr::Expr(float16 value) : Expr(float_imm(Float(16), to_f64(static_cast<float>(value)))) {}
Expr::Expr(bfloat16 value) : Expr(float_imm(BFloat(), to_f64(static_cast<float>(value)))) {}

Expr make_const(Type type, std::int64_t value) { return constant(type, value); }
Expr make_const(Type type, std::uint64_t value) { return constant(type, value); }

Expr make_const(Type type, double value) {
  const DefaultFloatMode mode;
  const Type element = type.element();
  if (element.is_float()) return broadcast(type, float_imm(element, round_to_type(element, value)));
  if (element.is_bool()) return broadcast(type, int_imm(element, value != 0 ? 1 : 0));
  return broadcast(type, int_imm(element, to_integer(element, value)));
}

Expr make_var(const std::string& name, Type type) { return make_expr(type, VarRef{name}); }
Expr make_symbol(const std::string& array, BufferField field, std::size_t d, Type type) {
  return make_expr(type, VarRef{symbol_name(array, field, d), {}, field});
}

const std::int64_t* as_int(const Expr& e) {
  if (const auto* imm = e.as<IntImm>()) return &imm->value;
  if (const auto* vector = e.as<Broadcast>()) return as_int(vector->value);
  return nullptr;
}

bool is_const(const Expr& e, std::int64_t value) {
  const std::int64_t* constant = as_int(e);
  return constant != nullptr && *constant == value;
}

Var::Var(std::string name, CallSite at) : name_(std::move(name)) {
  if (name_.empty()) throw UserError("a Var needs a name: Var x(\"x\"), or none: Var x", at);
}

Var::Var() : unnamed_(std::make_shared<char>()) {
  name_ = fmt::format("v#{:x}", reinterpret_cast<std::uintptr_t>(unnamed_.get()));
}

}  // namespace mica
