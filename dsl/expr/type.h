// Scalar and vector element types of Mica programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mica {

/// What a value's bits mean.
enum class TypeCode : std::uint8_t { Bool, Int, UInt, Float, BFloat };

/// The type of an expression: a scalar code and width in bits, times a number of vector lanes.
/// User programs have one lane; more lanes appear only after vectorisation.
///
/// The scalar types are bool, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32 and f64.
struct Type {
  TypeCode code = TypeCode::Int;
  std::uint8_t bits = 32;
  std::uint16_t lanes = 1;

  friend bool operator==(const Type&, const Type&) = default;

  [[nodiscard]] constexpr bool is_bool() const { return code == TypeCode::Bool; }
  [[nodiscard]] constexpr bool is_int() const { return code == TypeCode::Int; }
  [[nodiscard]] constexpr bool is_uint() const { return code == TypeCode::UInt; }
  /// Signed or unsigned integer (not bool).
  [[nodiscard]] constexpr bool is_integer() const { return is_int() || is_uint(); }
  /// i32 or i64: what coordinates, and the sums that bounds are made of, are computed in.
  [[nodiscard]] constexpr bool is_index() const { return is_int() && bits >= 32; }
  /// u32 or u64.
  [[nodiscard]] constexpr bool is_wide_uint() const { return is_uint() && bits >= 32; }
  /// f16, bf16, f32 or f64.
  [[nodiscard]] constexpr bool is_float() const {
    return code == TypeCode::Float || code == TypeCode::BFloat;
  }
  /// f16 or bf16: types that are stored in 16 bits and computed on in f32, each result rounded.
  [[nodiscard]] constexpr bool is_half() const { return is_float() && bits == 16; }
  [[nodiscard]] constexpr bool is_scalar() const { return lanes == 1; }
  /// See undecided_type.
  [[nodiscard]] constexpr bool is_undecided() const { return bits == 0; }
  /// Bytes of one lane in memory (bool takes one byte).
  [[nodiscard]] constexpr int bytes() const { return (bits + 7) / 8; }
  [[nodiscard]] constexpr Type element() const { return {code, bits, 1}; }
  [[nodiscard]] constexpr Type with_lanes(int n) const {
    return {code, bits, static_cast<std::uint16_t>(n)};
  }
};

constexpr Type Bool() { return {TypeCode::Bool, 1, 1}; }
constexpr Type Int(int bits) { return {TypeCode::Int, static_cast<std::uint8_t>(bits), 1}; }
constexpr Type UInt(int bits) { return {TypeCode::UInt, static_cast<std::uint8_t>(bits), 1}; }
constexpr Type Float(int bits) { return {TypeCode::Float, static_cast<std::uint8_t>(bits), 1}; }
/// Of what reads a Func that is not defined yet: the Func's own definition decides it
/// (dsl/check/self_reads.h). No node of a defined Func has it.
constexpr Type undecided_type() { return {TypeCode::Int, 0, 1}; }
constexpr Type BFloat(int bits = 16) { return {TypeCode::BFloat, static_cast<std::uint8_t>(bits), 1}; }

/// "f32", "u8", "bool", "f32x4".
std::string to_string(Type type);
/// The inverse of to_string for scalar types; throws UserError on another word.
Type type_from_string(std::string_view text);
/// True for the scalar types an algorithm may use (see Type).
bool is_user_type(Type type);
/// Bytes of an element of the widest of them; 1 for none.
int widest_bytes(const std::vector<Type>& types);
/// Those types, for messages: "bool, u8, ..., f32 and f64".
std::string user_types();
/// The value of an integer or bool type that has the low bits of `value` (bool: value != 0), sign- or
/// zero-extended to 64 bits; a u64 of 2^63 or more is therefore negative here. A float type is an
/// InternalError.
std::int64_t wrap_to_type(Type type, std::int64_t value);
/// `value` rounded to the float type `type`, nearest with ties to even; f16 and bf16 round through f32
/// as Cast does. Values too large become infinite. An integer type is an InternalError.
double round_to_type(Type type, double value);

/// IEEE 754 binary16 as storage. Conversions round to nearest, ties to even.
struct float16 {
  std::uint16_t bits = 0;
  float16() = default;
  explicit float16(float value);
  explicit operator float() const;
  friend bool operator==(float16, float16) = default;
};

/// bfloat16 as storage: the upper half of an f32. Conversions round to nearest, ties to even.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value);
  explicit operator float() const;
  friend bool operator==(bfloat16, bfloat16) = default;
};

/// The Mica type of a C++ type: `type_of<float>() == Float(32)`.
template <typename T>
constexpr Type type_of();
template <>
constexpr Type type_of<bool>() {
  return Bool();
}
template <>
constexpr Type type_of<std::uint8_t>() {
  return UInt(8);
}
template <>
constexpr Type type_of<std::int8_t>() {
  return Int(8);
}
template <>
constexpr Type type_of<std::uint16_t>() {
  return UInt(16);
}
template <>
constexpr Type type_of<std::int16_t>() {
  return Int(16);
}
template <>
constexpr Type type_of<std::uint32_t>() {
  return UInt(32);
}
template <>
constexpr Type type_of<std::uint64_t>() {
  return UInt(64);
}
template <>
constexpr Type type_of<std::int32_t>() {
  return Int(32);
}
template <>
constexpr Type type_of<std::int64_t>() {
  return Int(64);
}
template <>
constexpr Type type_of<float16>() {
  return Float(16);
}
template <>
constexpr Type type_of<bfloat16>() {
  return BFloat(16);
}
template <>
constexpr Type type_of<float>() {
  return Float(32);
}
template <>
constexpr Type type_of<double>() {
  return Float(64);
}

}  // namespace mica
