// Every operation and cast of dsl/expr/expr.h as a kernel of its own, with what the oracle says of it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "codegen/ir/kernel.h"
#include "fuzz/oracle_ops.h"

namespace mica::test {

/// value = make(a, b) of two operands of type `from`; a result of type `to`.
struct OperationCase {
  std::string name;
  Type from, to;
  std::function<Expr(Expr, Expr)> make;
  std::function<Value(Value, Value)> expected;
};

/// The types an algorithm may use.
const std::vector<Type>& all_types();
/// The unary, binary and compare operations of `type` and fma; divisions by constants.
std::vector<OperationCase> arithmetic_cases(Type type);
/// From every type to every type.
std::vector<OperationCase> cast_cases();

/// Elements that a kernel of operation_kernel works on.
inline constexpr int kOperationSamples = 1024;
/// out[i] = make(a[i], b[i]), `lanes` elements at a time; parameters a, b, out. On the device element
/// block i/64 thread i%64 of 64 threads, on the host a loop.
ir::Kernel operation_kernel(const OperationCase& operation, int lanes, bool on_device);

/// kOperationSamples elements of `type`: pairs of its edge values (infinities, limits, halves, zeros of
/// both signs), then random bits. `operand` 0 or 1 gives the first or second of each pair.
std::vector<unsigned char> operation_samples(Type type, int operand);
/// What `operation` should make of the samples.
std::vector<unsigned char> expected_results(const OperationCase& operation);
/// "" when all elements have the same bits (or are both NaN), else the first that differs with its
/// operands.
std::string compare_results(const OperationCase& operation, const std::vector<unsigned char>& results);

}  // namespace mica::test
