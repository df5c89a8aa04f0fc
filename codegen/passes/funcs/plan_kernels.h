// plan_kernels: the model of every kernel, before any of its loops is written.
//
// A definition of a root Func that runs on the GPU, or whose loops march, gets a KernelPlan
// (codegen/plan/kernel_plan.h) in Program::kernels.
//
// Requires: order_storage. Ensures: the plans hold all that build_loop_nest decides by.
// Errors: those of codegen/plan/march_plan.h; a thread loop whose extent is not constant.
#pragma once

#include "codegen/program.h"

namespace mica::passes {

void plan_kernels(Program& program);

}  // namespace mica::passes
