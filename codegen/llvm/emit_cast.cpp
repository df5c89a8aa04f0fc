// Conversions between types, as dsl/expr/expr.h defines them for Cast.
#include <cmath>

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/ops_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;

/// Constants of the integer vector or scalar type of `like`.
Value* number(Value* like, std::uint64_t value) {
  return llvm::ConstantInt::get(like->getType(), value);
}

/// `value` with the same lanes of another element type.
llvm::Type* lanes_of(llvm::Type* like, llvm::Type* element) {
  auto* vector = llvm::dyn_cast<llvm::VectorType>(like);
  return vector == nullptr ? element : llvm::VectorType::get(element, vector->getElementCount());
}

/// An f32's bits halved to 16 with rounding to nearest even: the upper half of `bits`.
Value* narrow_to_bfloat(Builder& b, Value* value) {
  llvm::Type* i32 = lanes_of(value->getType(), b.getInt32Ty());
  llvm::Type* i16 = lanes_of(value->getType(), b.getInt16Ty());
  Value* bits = b.CreateBitCast(value, i32);
  Value* odd = b.CreateAnd(b.CreateLShr(bits, number(bits, 16)), number(bits, 1));
  Value* rounded = b.CreateAdd(bits, b.CreateAdd(odd, number(bits, 0x7fff)));
  // A NaN keeps its upper bits and becomes quiet.
  Value* quiet = b.CreateOr(bits, number(bits, 0x400000));
  Value* result = b.CreateSelect(b.CreateFCmpUNO(value, value), quiet, rounded);
  return b.CreateTrunc(b.CreateLShr(result, number(result, 16)), i16);
}

Value* widen_bfloat(Builder& b, Value* value) {
  Value* wide = b.CreateZExt(value, lanes_of(value->getType(), b.getInt32Ty()));
  return b.CreateBitCast(b.CreateShl(wide, number(wide, 16)),
                         lanes_of(value->getType(), b.getFloatTy()));
}

/// binary32 to binary16, ties to even, in integers. Exponent biases are 127 and 15, fractions have
/// 23 and 10 bits.
Value* narrow_to_half(Builder& b, Value* value) {
  llvm::Type* f32 = value->getType();
  llvm::Type* i32 = lanes_of(f32, b.getInt32Ty());
  Value* bits = b.CreateBitCast(value, i32);
  Value* sign = b.CreateAnd(b.CreateLShr(bits, number(bits, 16)), number(bits, 0x8000));
  Value* magnitude = b.CreateAnd(bits, number(bits, 0x7fffffff));
  // 2^-14 and more: lower the exponent by 112, round the fraction at bit 13. A carry runs into the
  // exponent and, at the largest, makes infinity.
  Value* odd = b.CreateAnd(b.CreateLShr(magnitude, number(bits, 13)), number(bits, 1));
  Value* lowered = b.CreateSub(magnitude, number(bits, 112U << 23));
  Value* normal =
      b.CreateLShr(b.CreateAdd(lowered, b.CreateAdd(odd, number(bits, 0xfff))), number(bits, 13));
  // Below: adding 0.5, whose last bit is worth 2^-24, rounds to the unit of f16's smallest numbers.
  Value* half = llvm::ConstantFP::get(f32, 0.5);
  Value* shifted = b.CreateFAdd(b.CreateBitCast(magnitude, f32), half);
  Value* small = b.CreateSub(b.CreateBitCast(shifted, i32), b.CreateBitCast(half, i32));
  Value* is_small = b.CreateICmpULT(magnitude, number(bits, 113U << 23));
  Value* result = b.CreateSelect(is_small, small, normal);
  Value* is_huge = b.CreateICmpUGE(magnitude, number(bits, 143U << 23));  // 2^16
  result = b.CreateSelect(is_huge, number(bits, 0x7c00), result);
  Value* is_nan = b.CreateICmpUGT(magnitude, number(bits, 0x7f800000));
  result = b.CreateSelect(is_nan, number(bits, 0x7e00), result);
  return b.CreateTrunc(b.CreateOr(result, sign), lanes_of(f32, b.getInt16Ty()));
}

Value* widen_half(Builder& b, Value* value) {
  llvm::Type* i32 = lanes_of(value->getType(), b.getInt32Ty());
  llvm::Type* f32 = lanes_of(value->getType(), b.getFloatTy());
  Value* bits = b.CreateZExt(value, i32);
  Value* sign = b.CreateShl(b.CreateAnd(bits, number(bits, 0x8000)), number(bits, 16));
  Value* magnitude = b.CreateAnd(bits, number(bits, 0x7fff));
  Value* moved = b.CreateShl(magnitude, number(bits, 13));
  Value* is_special = b.CreateICmpUGE(magnitude, number(bits, 0x7c00));
  Value* raised =
      b.CreateAdd(moved, b.CreateSelect(is_special, number(bits, 224U << 23), number(bits, 112U << 23)));
  // Below 2^-14 the fraction counts units of 2^-24.
  Value* counted = b.CreateFMul(b.CreateUIToFP(magnitude, f32), llvm::ConstantFP::get(f32, 0x1p-24));
  Value* is_small = b.CreateICmpULT(magnitude, number(bits, 0x400));
  Value* result = b.CreateSelect(is_small, b.CreateBitCast(counted, i32), raised);
  return b.CreateBitCast(b.CreateOr(result, sign), f32);
}

/// f32 to f16 or bf16.
Value* narrow(Builder& b, const TargetFacts& facts, Type to, Value* value) {
  const bool is_bfloat = to.code == TypeCode::BFloat;
  if (is_bfloat && !facts.narrows_to_bfloat) return narrow_to_bfloat(b, value);
  if (!is_bfloat && !facts.native_half) return narrow_to_half(b, value);
  llvm::Type* element = is_bfloat ? b.getBFloatTy() : b.getHalfTy();
  Value* half = b.CreateFPTrunc(value, lanes_of(value->getType(), element));
  return b.CreateBitCast(half, lanes_of(value->getType(), b.getInt16Ty()));
}

/// f16 or bf16 to f32.
Value* widen(Builder& b, const TargetFacts& facts, Type from, Value* value) {
  if (from.code == TypeCode::BFloat) return widen_bfloat(b, value);
  if (!facts.native_half) return widen_half(b, value);
  Value* half = b.CreateBitCast(value, lanes_of(value->getType(), b.getHalfTy()));
  return b.CreateFPExt(half, lanes_of(value->getType(), b.getFloatTy()));
}

/// `value` where it is greater than `end` (less, with `above`), else `end`, which NaN becomes, too: one
/// instruction.
Value* bounded(Builder& b, Value* value, double end, bool above) {
  Value* limit = llvm::ConstantFP::get(value->getType(), end);
  Value* keeps = above ? b.CreateFCmpOLT(value, limit) : b.CreateFCmpOGT(value, limit);
  return b.CreateSelect(keeps, value, limit);
}

/// A vector of floats to integers: those out of range become the nearest, NaN 0, as in fptosi.sat and
/// fptoui.sat, which LLVM takes apart into lanes. What a conversion makes of a number that is too large
/// is poison, which a select that does not choose it stops; the ends themselves are powers of two or,
/// where the type of the float holds it, the greatest integer.
Value* saturating(Builder& b, Type from, Type to, Value* value) {
  const Type wide = to.bits < 32 ? Int(32).with_lanes(to.lanes) : to;
  llvm::Type* type = register_type(b.getContext(), wide);
  const int bits = to.is_int() ? to.bits - 1 : to.bits;
  const bool holds_greatest = bits <= (from.bits == 64 ? 53 : 24);
  const bool is_signed = to.is_int() || to.bits < 32;
  Value* inside = bounded(b, value, to.is_int() ? -std::ldexp(1.0, bits) : 0.0, false);
  if (holds_greatest) inside = bounded(b, inside, std::ldexp(1.0, bits) - 1.0, true);
  Value* result = is_signed ? b.CreateFPToSI(inside, type) : b.CreateFPToUI(inside, type);
  if (to.is_int()) {
    result = b.CreateSelect(b.CreateFCmpORD(value, value), result, llvm::Constant::getNullValue(type));
  }
  if (!holds_greatest) {
    Value* end = llvm::ConstantFP::get(value->getType(), std::ldexp(1.0, bits));
    const auto greatest = ~std::uint64_t{0} >> (64 - bits);
    result = b.CreateSelect(b.CreateFCmpOGE(value, end), llvm::ConstantInt::get(type, greatest), result);
  }
  return b.CreateTrunc(result, register_type(b.getContext(), to));
}

}  // namespace

llvm::Value* emit_cast(Builder& b, const TargetFacts& facts, Type from, Type to, llvm::Value* value) {
  if (from == to) return value;
  const Type f32 = Float(32).with_lanes(from.lanes);
  if (from.is_half()) return emit_cast(b, facts, f32, to, widen(b, facts, from, value));
  if (to.is_half()) return narrow(b, facts, to, emit_cast(b, facts, from, f32, value));

  llvm::Type* type = register_type(b.getContext(), to);
  if (from.is_float()) {
    if (to.is_float()) return b.CreateFPCast(value, type);
    if (to.is_bool()) {
      return b.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType()));
    }
    if (!facts.native_saturation && !from.is_scalar()) return saturating(b, from, to, value);
    const auto id = to.is_int() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b.CreateIntrinsic(id, {type, value->getType()}, {value});
  }
  if (to.is_bool()) return b.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
  if (to.is_float()) {
    return from.is_int() ? b.CreateSIToFP(value, type) : b.CreateUIToFP(value, type);
  }
  return b.CreateIntCast(value, type, /*isSigned=*/from.is_int());
}

}  // namespace mica::llvm_backend
