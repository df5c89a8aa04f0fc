// infer_bounds: the box of every Func and input that the pipeline needs, from outputs to inputs.
//
//   before  f(x) = b(x - 1) + b(x + 1),  b(x) = u(x) * 2           f is the output
//   after   required: f = [f.min.0, f.min.0 + f.extent.0 - 1], b and u = one more on either side
//
// Also writes the plan's checks that every access of an input lies inside it, with the consumer, tap
// and missing halo in the message. An end of a box that is a large expression becomes a value of the
// plan (PlanValue), which `required` has by name. Requires: inlining is done. Ensures: `required` has a
// bounded box for every Func and input; UserError for an index whose range nothing bounds.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void infer_bounds(Program& program);

/// Grows `box`, what consumers need of `func`, by what the Func's own updates read and write.
analysis::Box with_updates(const FunctionData& func, const analysis::Box& box);

}  // namespace mica::passes
