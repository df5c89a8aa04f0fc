// default_schedule: loops for root Funcs whose schedule names none.
//
//   host   innermost dimension in vectors of 64 bytes, outermost over the CPU's threads; of a stencil in
//          3-D, of up to 32 taps, four planes at once, in strips of 32 rows; a recurrence's
//          dimension, or an update's reduction, directly around the rows of a few points of the
//          outermost Var, so that memory is read row by row; along the first dimension both are
//          innermost; rows of updates with colors take one point after the other
//   GPU    gpu_tile of 256 threads (1-D), 32x8 (2-D), 32x8x1 (3-D and, the outer dimensions fused, of
//          more). A thread of a stencil, whose taps stand at constant distances, takes 16 bytes of a row
//          and, in 3-D and of few taps, four planes, unless their points are much work. Updates tile
//          their pure Vars and keep the reduction serial in each thread; a recurrence's threads take a
//          column each, four steps at a time, in blocks of 64 (of one Var) or 32x4. An update without
//          Vars tiles the dimensions of its domain that run in any order (dsl/check/update_order.h), and
//          is made atomic if it has none and combines integers; what is left to do one after the other,
//          one thread does (gpu_single_thread), if other Funcs are the GPU's and its domain is not known
//          to have more than 2^20 points
//
// Definitions without loop directives of a Func that has blocks or threads get those of a GPU on every
// target. On a GPU target a Func without loop directives at whose loops others are computed stays on the
// host.
//
// Requires: inline_funcs (it knows the roots). Ensures: every definition of a Func computed at root has
// loop directives, unless it has no pure Var to run in parallel.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void default_schedule(Program& program);

}  // namespace mica::passes
