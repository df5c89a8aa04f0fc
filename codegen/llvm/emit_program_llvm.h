// Scalar expressions of a launch plan as machine code: what HostProgram::run computes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <llvm/IR/Module.h>

#include "codegen/llvm/ops_llvm.h"
#include "runtime/run/evaluate.h"

namespace mica::llvm_backend {

/// A program whose value is wanted.
struct WantedValue {
  const HostProgram* program = nullptr;
  /// As convert_and_pack to this type has it, in place of a HostValue.
  std::optional<Type> packed = {};
};

/// Adds the internal function  void name(const HostValue* symbols, HostValue* results)  that writes the
/// value of wanted[k] to results[k].
llvm::Function* add_programs(llvm::Module& module, const std::string& name,
                             const std::vector<WantedValue>& wanted, const TargetFacts& facts);

/// A value's bytes as `type` has them in memory, as a HostValue (i64, or f64 of a float type).
llvm::Value* unpack_value(Builder& b, const TargetFacts& facts, Type type, llvm::Value* in_memory);

}  // namespace mica::llvm_backend
