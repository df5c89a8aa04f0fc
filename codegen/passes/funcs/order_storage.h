// order_storage: carries out reorder_storage.
//
//   before  g(x, y) = u(x, y)   f(x, y) = g(x - 1, y)    g.reorder_storage(y, x)
//   after   g(y, x) = u(x, y)   f(x, y) = g(y, x - 1)    loops over x and y as they were
//
// Dimension 0 is the fastest in memory, so the Func's arguments change places, in its definitions, where
// it is read and in its box; loops go by names.
//
// Requires: infer_bounds; no such Func is an output or kept along a march (check_schedule). Ensures: the
// same values at the same loops.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void order_storage(Program& program);

}  // namespace mica::passes
