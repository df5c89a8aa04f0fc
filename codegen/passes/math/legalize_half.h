// legalize_half: arithmetic on f16 and bf16 is done in f32, each result rounded back.
//
//   before  h(x) = a(x)*b(x) + 1                              all f16
//   after   h(x) = f16(f32(f16(f32(a(x))*f32(b(x)))) + 1.0f)
//
// Unary, Binary (math functions too) and Fma compute in f32 and are cast back at once; Compare takes
// its operands in f32; a Cast between a half type and anything but f32 goes through f32, so that f64
// and integers are rounded twice, as dsl/expr/expr.h defines. Constants and the values of Load, Store,
// Select, Let, Broadcast, Shuffle and Reinterpret keep their type.
//
// Requires nothing. Ensures: operands and results of arithmetic have no half type, and every Cast
// from or to one has f32 on its other side.
#pragma once

#include "codegen/ir/stmt.h"

namespace mica::passes {

Expr legalize_half(const Expr& e);
/// In every expression of `s`.
ir::Stmt legalize_half(const ir::Stmt& s);

}  // namespace mica::passes
