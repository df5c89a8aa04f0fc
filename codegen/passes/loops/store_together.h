// store_together: the tested stores of points beside one another stand behind all of their values.
//
//   before  let f.value = a:  if p: f[0] = f.value      let f.value = b:  if q: f[1] = f.value
//   after   let f.value = a:  let f.value.1 = b:  if p: f[0] = f.value;  if q: f[1] = f.value.1
//
// A test between two values keeps LLVM from making a load that both read once.
// Requires: unrolled loops. Ensures: the same values; a value moves before a store only where it does
// not read the store's array.
#pragma once

#include "codegen/ir/stmt.h"

namespace mica::passes {

ir::Stmt store_together(const ir::Stmt& stmt);

}  // namespace mica::passes
