// How Mica's types are held by LLVM, in registers and in memory.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Type.h>

#include "dsl/expr/expr.h"
#include "dsl/expr/type.h"

namespace mica::llvm_backend {

/// bool is i1, f16 and bf16 are i16 (their bits); vectors have as many lanes.
llvm::Type* register_type(llvm::LLVMContext& context, Type type);
/// As register_type, but bool is i8.
llvm::Type* memory_type(llvm::LLVMContext& context, Type type);
/// The constant in each lane of `type`.
llvm::Constant* integer_constant(llvm::LLVMContext& context, Type type, std::int64_t value);
llvm::Constant* float_constant(llvm::LLVMContext& context, Type type, double value);

}  // namespace mica::llvm_backend
