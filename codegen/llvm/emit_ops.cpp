#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "codegen/llvm/ops_llvm.h"
#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

using llvm::Value;
namespace intrinsic = llvm::Intrinsic;

/// The value of a constant with equal lanes, or null.
const llvm::APInt* constant_of(Value* v) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(v);
  if (constant == nullptr) return nullptr;
  if (constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  auto* integer = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant);
  return integer == nullptr ? nullptr : &integer->getValue();
}

struct Quotient {
  Value* quotient;
  Value* remainder;
};

/// Unsigned quotient and remainder, both 0 for a divisor of 0.
Quotient divide_unsigned(Builder& b, Value* x, Value* y) {
  auto* zero = llvm::Constant::getNullValue(x->getType());
  auto* one = llvm::ConstantInt::get(x->getType(), 1);
  Value* by_zero = b.CreateICmpEQ(y, zero);
  Value* divisor = b.CreateSelect(by_zero, one, y);
  return {b.CreateSelect(by_zero, zero, b.CreateUDiv(x, divisor)),
          b.CreateSelect(by_zero, zero, b.CreateURem(x, divisor))};
}

/// Signed quotient rounded toward minus infinity with its remainder, both 0 for a divisor of 0.
/// The lowest integer by -1 wraps to itself.
Quotient divide_floor(Builder& b, Value* x, Value* y) {
  auto* zero = llvm::Constant::getNullValue(x->getType());
  auto* one = llvm::ConstantInt::get(x->getType(), 1);
  if (const llvm::APInt* c = constant_of(y)) {
    if (c->isPowerOf2() && !c->isNegative()) {
      return {b.CreateAShr(x, llvm::ConstantInt::get(x->getType(), c->logBase2())),
              b.CreateAnd(x, llvm::ConstantInt::get(x->getType(), *c - 1))};
    }
    if (c->isStrictlyPositive()) {
      Value* q = b.CreateSDiv(x, y);
      Value* r = b.CreateSub(x, b.CreateMul(q, y));
      Value* below = b.CreateICmpSLT(r, zero);
      return {b.CreateSub(q, b.CreateSelect(below, one, zero)),
              b.CreateAdd(r, b.CreateSelect(below, y, zero))};
    }
  }
  auto* minus_one = llvm::Constant::getAllOnesValue(x->getType());
  Value* by_zero = b.CreateICmpEQ(y, zero);
  Value* by_minus_one = b.CreateICmpEQ(y, minus_one);
  Value* divisor = b.CreateSelect(b.CreateOr(by_zero, by_minus_one), one, y);
  Value* q = b.CreateSDiv(x, divisor);
  Value* r = b.CreateSRem(x, divisor);
  // The truncated quotient is one too high where the remainder's sign is not the divisor's.
  Value* other_sign = b.CreateICmpSLT(b.CreateXor(r, divisor), zero);
  Value* adjust = b.CreateAnd(b.CreateICmpNE(r, zero), other_sign);
  Value* quotient = b.CreateSub(q, b.CreateSelect(adjust, one, zero));
  Value* remainder = b.CreateAdd(r, b.CreateSelect(adjust, divisor, zero));
  quotient = b.CreateSelect(by_minus_one, b.CreateNeg(x), quotient);
  return {b.CreateSelect(by_zero, zero, quotient), b.CreateSelect(by_zero, zero, remainder)};
}

/// IEEE 754-2019 minimum or maximum by comparisons. For equal operands, which differ at most in the
/// sign of zero, the bits are joined (minimum) or intersected (maximum).
Value* select_minimum(Builder& b, bool minimum, Value* x, Value* y) {
  llvm::Type* type = x->getType();
  llvm::Type* bits = b.getIntNTy(type->getScalarSizeInBits());
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type)) {
    bits = llvm::VectorType::getInteger(vector);
  }
  Value* xi = b.CreateBitCast(x, bits);
  Value* yi = b.CreateBitCast(y, bits);
  Value* equal = b.CreateBitCast(minimum ? b.CreateOr(xi, yi) : b.CreateAnd(xi, yi), type);
  Value* not_a_number = b.CreateFAdd(x, y);
  Value* x_wins = minimum ? b.CreateFCmpOLT(x, y) : b.CreateFCmpOGT(x, y);
  Value* y_wins = minimum ? b.CreateFCmpOGT(x, y) : b.CreateFCmpOLT(x, y);
  Value* result = b.CreateSelect(b.CreateFCmpOEQ(x, y), equal, not_a_number);
  return b.CreateSelect(x_wins, x, b.CreateSelect(y_wins, y, result));
}

Value* float_minimum(Builder& b, const TargetFacts& facts, Type type, bool minimum, Value* x, Value* y) {
  if (type.bits == 64 && !facts.native_f64_minimum) return select_minimum(b, minimum, x, y);
  return b.CreateBinaryIntrinsic(minimum ? intrinsic::minimum : intrinsic::maximum, x, y);
}

Value* float_binary(Builder& b, const TargetFacts& facts, BinaryOp op, Type type, Value* x, Value* y) {
  switch (op) {
    case BinaryOp::Add: return b.CreateFAdd(x, y);
    case BinaryOp::Sub: return b.CreateFSub(x, y);
    case BinaryOp::Mul: return b.CreateFMul(x, y);
    case BinaryOp::Div: return b.CreateFDiv(x, y);
    case BinaryOp::Min: return float_minimum(b, facts, type, true, x, y);
    case BinaryOp::Max: return float_minimum(b, facts, type, false, x, y);
    case BinaryOp::Pow:
    case BinaryOp::Atan2:
    case BinaryOp::Fmod:
      throw InternalError("a math function reached a back end; the pass expand_math replaces it");
    case BinaryOp::Mod:
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
    case BinaryOp::Shl:
    case BinaryOp::Shr: break;
  }
  throw InternalError("an integer operation on " + to_string(type) + " reached a back end");
}

/// The shift amount modulo the width.
Value* shift_amount(Builder& b, Type type, Value* y) {
  return b.CreateAnd(y, llvm::ConstantInt::get(y->getType(), type.bits - 1U));
}

Value* integer_binary(Builder& b, BinaryOp op, Type type, Value* x, Value* y) {
  const bool is_signed = type.is_int();
  switch (op) {
    case BinaryOp::Add: return b.CreateAdd(x, y);
    case BinaryOp::Sub: return b.CreateSub(x, y);
    case BinaryOp::Mul: return b.CreateMul(x, y);
    case BinaryOp::Div: return (is_signed ? divide_floor(b, x, y) : divide_unsigned(b, x, y)).quotient;
    case BinaryOp::Mod: return (is_signed ? divide_floor(b, x, y) : divide_unsigned(b, x, y)).remainder;
    case BinaryOp::Min:
      if (type.is_bool()) return b.CreateAnd(x, y);
      return b.CreateBinaryIntrinsic(is_signed ? intrinsic::smin : intrinsic::umin, x, y);
    case BinaryOp::Max:
      if (type.is_bool()) return b.CreateOr(x, y);
      return b.CreateBinaryIntrinsic(is_signed ? intrinsic::smax : intrinsic::umax, x, y);
    case BinaryOp::And:
    case BinaryOp::BitAnd: return b.CreateAnd(x, y);
    case BinaryOp::Or:
    case BinaryOp::BitOr: return b.CreateOr(x, y);
    case BinaryOp::BitXor: return b.CreateXor(x, y);
    case BinaryOp::Shl: return b.CreateShl(x, shift_amount(b, type, y));
    case BinaryOp::Shr: {
      Value* amount = shift_amount(b, type, y);
      return is_signed ? b.CreateAShr(x, amount) : b.CreateLShr(x, amount);
    }
    case BinaryOp::Pow:
    case BinaryOp::Atan2:
    case BinaryOp::Fmod: break;
  }
  throw InternalError("a math function of " + to_string(type) + " reached a back end");
}

}  // namespace

llvm::Value* emit_unary(Builder& b, UnaryOp op, Type type, llvm::Value* a) {
  if (type.is_half()) throw InternalError("arithmetic on " + to_string(type) + " reached a back end");
  switch (op) {
    case UnaryOp::Neg: return type.is_float() ? b.CreateFNeg(a) : b.CreateNeg(a);
    case UnaryOp::Not:
    case UnaryOp::BitNot: return b.CreateNot(a);
    case UnaryOp::Abs:
      if (type.is_float()) return b.CreateUnaryIntrinsic(intrinsic::fabs, a);
      if (type.is_uint()) return a;
      return b.CreateBinaryIntrinsic(intrinsic::abs, a, b.getFalse());
    case UnaryOp::Sqrt: return b.CreateUnaryIntrinsic(intrinsic::sqrt, a);
    case UnaryOp::Floor: return b.CreateUnaryIntrinsic(intrinsic::floor, a);
    case UnaryOp::Ceil: return b.CreateUnaryIntrinsic(intrinsic::ceil, a);
    case UnaryOp::Round: return b.CreateUnaryIntrinsic(intrinsic::roundeven, a);
    case UnaryOp::Exp:
    case UnaryOp::Log:
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tanh:
      throw InternalError(
          "exp, log, sin, cos or tanh reached a back end; the pass expand_math "
          "replaces them");
  }
  throw InternalError("unknown UnaryOp");
}

llvm::Value* emit_binary(Builder& b, const TargetFacts& facts, BinaryOp op, Type type, llvm::Value* x,
                         llvm::Value* y) {
  if (type.is_half()) throw InternalError("arithmetic on " + to_string(type) + " reached a back end");
  return type.is_float() ? float_binary(b, facts, op, type, x, y) : integer_binary(b, op, type, x, y);
}

llvm::Value* emit_compare(Builder& b, CompareOp op, Type type, llvm::Value* x, llvm::Value* y) {
  if (type.is_half()) throw InternalError("comparison of " + to_string(type) + " reached a back end");
  using P = llvm::CmpInst;
  const auto choose = [&](P::Predicate of_float, P::Predicate of_signed, P::Predicate of_unsigned) {
    if (type.is_float()) return b.CreateFCmp(of_float, x, y);
    return b.CreateICmp(type.is_int() ? of_signed : of_unsigned, x, y);
  };
  switch (op) {
    case CompareOp::Eq: return choose(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case CompareOp::Ne: return choose(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
    case CompareOp::Lt: return choose(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case CompareOp::Le: return choose(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case CompareOp::Gt: return choose(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    case CompareOp::Ge: return choose(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
  }
  throw InternalError("unknown CompareOp");
}

}  // namespace mica::llvm_backend
