// Floating-point divisions by constants in GPU code, as multiplications where these give the same bits.
#pragma once

#include <llvm/IR/Module.h>

namespace mica::llvm_backend {

/// A division of f32 takes a GPU ten to twelve instructions, two of them a quarter as fast, one of f64
/// more yet. By a constant of which passes::exact_reciprocal knows the two parts it becomes
///
///   q  = fma(x, high, x * low)
///   ok = ok & (2 * bits(x) - 1 >= 2 * bits(least) - 1, unsigned: x is 0, NaN or not small)
///
/// and where `ok` is false, which is rare, what was computed from such quotients is computed once more
/// by divisions, from the loads on: one branch for all divisions of a stretch without side effects.
///
///   before   s = u + v; q = fdiv s, 3.0; store q
///   after    s = u + v; q' = fma(..); ok = ..;  br ok, after, again
///            again: u' = load volatile ..; q'' = fdiv u' + v', 3.0; br after
///            after: q = phi q', q''; store q
///
/// Loads of `again` are volatile, or LLVM would keep the first ones' values in registers for it. Stores
/// between divisions are made after the last one where nothing is read in between that they may change.
/// A stretch ends after 4096 instructions. Vectors by different constants are left as they are.
void divide_by_constants(llvm::Module& module);

}  // namespace mica::llvm_backend
