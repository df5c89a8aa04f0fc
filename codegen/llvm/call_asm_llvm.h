// Instructions that LLVM has no name for, or is not to choose.
#pragma once

#include <string>
#include <vector>

#include "codegen/llvm/ops_llvm.h"

namespace mica::llvm_backend {

/// A call of PTX text. `memory`: it is neither moved over other accesses nor left out.
llvm::CallInst* call_asm(Builder& b, llvm::Type* result, const std::string& text,
                         std::string constraints, const std::vector<llvm::Value*>& arguments,
                         bool memory);

}  // namespace mica::llvm_backend
