// In which order the values of a block of code are computed, so that few wait in registers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/expr/expr.h"

namespace mica::analysis {

struct EvaluationOrder {
  std::vector<Expr> values;  ///< those given, with equal parts as one node
  /// Nodes of theirs, each behind those that it is computed from. What stands between them (constants,
  /// names, indices, shuffles) is not listed, nor is what uses a name that is not bound yet.
  std::vector<Expr> order;
  std::int64_t registers = 0;  ///< of 32 bits, the most that hold nodes of `order` at once
};

/// `values`, used behind the last of them, in their own order: each from its leaves, the operand that
/// needs more registers first. `names` are bound to them one after the other.
EvaluationOrder plain_order(const std::vector<Expr>& values, const std::vector<std::string>& names);

/// The same values in an order of fewer registers; nothing where their own order needs at most `enough`
/// or no other is better, and for values that print.
///
/// A sum over one array's elements is a chain that each element joins at its turn. Sums over the same
/// array go on together: before an element is loaded, the chains that it joins are computed up to it,
/// and behind the load all of them take it. So it is dropped at once:
///
///   a = c1*u[1] + c2*u[2] + c3*u[3]        a from u[1], u[2] and u[3], which wait for b; then b
///   b = w0*u[0] + w1*u[1] + w2*u[2]        b from u[0]; u[1] to a and b; u[2] to a and b; a from u[3]
///
/// Of a few orders of `values` the one with the fewest registers is taken. Time grows as the number of
/// nodes and operands does.
std::optional<EvaluationOrder> few_registers_order(const std::vector<Expr>& values,
                                                   const std::vector<std::string>& names,
                                                   std::int64_t enough);

}  // namespace mica::analysis
