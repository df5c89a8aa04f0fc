// The scalar and vector operations of dsl/expr/expr.h as LLVM instructions. Operands and results are
// held as register_type says. No instruction carries a fast-math flag: what rounds is decided before.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "dsl/expr/expr.h"

namespace mica::llvm_backend {

/// TargetFacts::value_registers of a GPU, which leaves room for addresses and for loads on their way.
inline constexpr int kGpuValueRegisters = 64;

/// What a target selects well; the results are the same either way.
struct TargetFacts {
  /// Converts between f16 and f32 in hardware; else integer code does it.
  bool native_half = false;
  /// Rounds f32 to bf16 in hardware, subnormal numbers too; else integer code does it.
  bool narrows_to_bfloat = false;
  /// llvm.minimum and llvm.maximum of f64 are selectable; else compare and select.
  bool native_f64_minimum = false;
  /// Accesses are cut into aligned pieces of a power-of-two number of lanes and at most 16 bytes;
  /// else any vector is accessed at once.
  bool small_accesses = false;
  /// Vectors whose lanes are apart are loaded with what lies between, and stored together where several
  /// fill each other's gaps; else lane by lane.
  bool dense_accesses = false;
  /// Sums and products of a vector's index are computed at the width of a pointer, so that what a loop
  /// does not change of an address is found; else at the index's own width, as of single elements, where
  /// it would gain little and take LLVM long.
  bool wide_addresses = false;
  /// Elements of 4 or 8 bytes whose places a vector holds are loaded by one instruction; else lane by
  /// lane.
  bool native_gather = false;
  /// Of a vector chosen by where a lane stands (lane < n), a load of neighbours reads the lanes that
  /// take it, and no others: what lies there may be nobody's. Code that other lanes must not read for
  /// relies on it.
  bool lane_loads = false;
  /// Conversions of vectors from float to integer that saturate are instructions; else compare and
  /// select.
  bool native_saturation = true;
  /// There are few registers for conditions: a vector that is chosen by what holds for all lanes and
  /// what holds for single ones is chosen twice, by one condition and by those of the lanes, which
  /// vectors of other rows share. Else once, by a condition a lane and row.
  bool few_conditions = false;
  /// A branch is cheaper than a division: remainders that a statement names are not divided where the
  /// dividend is one already.
  bool slow_division = false;
  /// The 32-bit registers that values may wait in before they are used; 0: there are no such registers
  /// to manage, or another scheduler does.
  int load_registers = 0;
  /// The 32-bit registers that hold the values of a Tuple on the way to its stores without further
  /// thought; 0: as load_registers.
  int value_registers = 0;
  /// LLVM's name for the threads among which atomic operations are; empty: all of the system.
  const char* atomic_scope = "";
};

using Builder = llvm::IRBuilder<>;

/// `type` is the operand's; InternalError for functions that expand_math replaces.
llvm::Value* emit_unary(Builder& b, UnaryOp op, Type type, llvm::Value* a);
/// `type` is the operands'; InternalError for Pow, Atan2 and Fmod.
llvm::Value* emit_binary(Builder& b, const TargetFacts& facts, BinaryOp op, Type type, llvm::Value* x,
                         llvm::Value* y);
/// `type` is the operands'; the result is i1 in each lane.
llvm::Value* emit_compare(Builder& b, CompareOp op, Type type, llvm::Value* x, llvm::Value* y);
llvm::Value* emit_cast(Builder& b, const TargetFacts& facts, Type from, Type to, llvm::Value* value);

}  // namespace mica::llvm_backend
