#include <llvm/ADT/APFloat.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>

#include "codegen/llvm/types_llvm.h"

namespace mica::llvm_backend {

namespace {

llvm::Type* with_lanes(llvm::Type* scalar, Type type) {
  return type.is_scalar() ? scalar : llvm::FixedVectorType::get(scalar, type.lanes);
}

llvm::Type* scalar_type(llvm::LLVMContext& context, Type type, unsigned bool_bits) {
  switch (type.code) {
    case TypeCode::Bool: return llvm::IntegerType::get(context, bool_bits);
    case TypeCode::Int:
    case TypeCode::UInt: return llvm::IntegerType::get(context, type.bits);
    case TypeCode::BFloat: return llvm::IntegerType::get(context, 16);
    case TypeCode::Float:
      if (type.bits == 16) return llvm::IntegerType::get(context, 16);
      if (type.bits == 32) return llvm::Type::getFloatTy(context);
      if (type.bits == 64) return llvm::Type::getDoubleTy(context);
      break;
  }
  throw InternalError("LLVM has no type for " + to_string(type));
}

llvm::Constant* splat(Type type, llvm::Constant* scalar) {
  if (type.is_scalar()) return scalar;
  return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(type.lanes), scalar);
}

}  // namespace

llvm::Type* register_type(llvm::LLVMContext& context, Type type) {
  return with_lanes(scalar_type(context, type, 1), type);
}

llvm::Type* memory_type(llvm::LLVMContext& context, Type type) {
  return with_lanes(scalar_type(context, type, 8), type);
}

llvm::Constant* integer_constant(llvm::LLVMContext& context, Type type, std::int64_t value) {
  const llvm::APInt bits(type.bits, static_cast<std::uint64_t>(value), /*isSigned=*/true,
                         /*implicitTrunc=*/true);
  return splat(type, llvm::ConstantInt::get(context, bits));
}

llvm::Constant* float_constant(llvm::LLVMContext& context, Type type, double value) {
  llvm::APFloat number(value);
  bool inexact = false;
  const auto round = llvm::APFloat::rmNearestTiesToEven;
  if (type.is_half()) {
    const llvm::fltSemantics& format =
        type.code == TypeCode::BFloat ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
    number.convert(format, round, &inexact);
    return splat(type, llvm::ConstantInt::get(context, number.bitcastToAPInt()));
  }
  if (type.bits == 32) number.convert(llvm::APFloat::IEEEsingle(), round, &inexact);
  return splat(type, llvm::ConstantFP::get(context, number));
}

}  // namespace mica::llvm_backend
