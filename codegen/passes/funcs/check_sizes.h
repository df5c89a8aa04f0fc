// check_sizes: how many operations a point of a Func may take.
//
//   f(x) = u(x) + u(x + 1) + ... of 300,000 taps      UserError: at most kMostOperations
//
// kMostOperations is in dsl/expr/limits.h. Lowering takes time in proportion; machine code of a function
// more than that, in LLVM as in the GPU's assembler. Requires: inline_funcs. Ensures: nothing changes.
// UserError at the definition's line.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void check_sizes(Program& program);

}  // namespace mica::passes
