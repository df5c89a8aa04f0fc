// Which memory serves each tap of a kernel.
#pragma once

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/program.h"

namespace mica::planning {

/// The taps of the stages of `plan`, in their order: each access of their definitions is counted once.
/// A stage that is filled from a window has one tap more, on its own points there.
std::vector<Tap> taps_of(const Program& program, const KernelPlan& plan);

/// `access` of definition `index` of `reader` as a tap that nothing serves yet.
Tap tap_of(const FunctionData& reader, const Access& access);

}  // namespace mica::planning
