// The stages of a kernel: what its blocks keep, and the kernel's own Func.
#pragma once

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/program.h"

namespace mica::planning {

/// The stages of definition `index` of `func`, in the order of one step; stages of a block come first,
/// those of a thread directly before the Func itself. UserErrors: those of plan_march.
std::vector<Stage> stages_of(const Program& program, const FunctionData& func, std::size_t index,
                             const KernelFrame& frame);

}  // namespace mica::planning
