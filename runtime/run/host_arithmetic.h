// One operation of an expression on host values, as dsl/expr/expr.h defines it.
#pragma once

#include "dsl/expr/expr.h"
#include "runtime/run/evaluate.h"

namespace mica::host_arithmetic {

/// Operands and result have `type`; InternalError for a function whose bits only kernels define.
HostValue unary(UnaryOp op, HostValue a, Type type);
HostValue binary(BinaryOp op, HostValue a, HostValue b, Type type);
/// The same on integers that do not wrap: results beyond 64 bits stay at their end, and no shift drops
/// a bit.
HostValue exact(UnaryOp op, HostValue a);
HostValue exact(BinaryOp op, HostValue a, HostValue b);
/// The operands have `type`; the result is bool.
HostValue compare(CompareOp op, HostValue a, HostValue b, Type type);
/// a*b + c with one rounding in f32 or f64; f16 and bf16 then round the f32 result.
HostValue fma(HostValue a, HostValue b, HostValue c, Type type);
HostValue cast(HostValue value, Type from, Type to);
/// The same bits as another type of equal width.
HostValue reinterpret(HostValue value, Type from, Type to);

/// False for the functions that `unary` and `binary` refuse.
bool is_exact(UnaryOp op);
bool is_exact(BinaryOp op);

/// `value`'s low bits as `type` reads them (integers); bool becomes 0 or 1.
std::int64_t wrap(std::int64_t value, Type type);
/// `value` rounded to a floating-point type.
double round_to(double value, Type type);

}  // namespace mica::host_arithmetic
