// Do the crews of a march wait for one another where they have to?
#pragma once

#include <string>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace mica::planning {

/// What does not hold of the invariants "meetings" in verify_plan.h, a line each, and that further warps
/// read arrays only. The edges' stages exist.
std::vector<std::string> crew_faults(const KernelPlan& plan);

}  // namespace mica::planning
