// What a block that marches has of each plane: rings, what a step fills, reads and stores.
#pragma once

#include <string>

#include "codegen/plan/kernel_plan.h"

namespace mica::tools {

/// A row for each array in memory that is read and each stage, in the order of a step, a column for each
/// plane around that which the step stores: an HTML figure. Empty if the kernel does not march.
std::string march_drawing(const planning::KernelPlan& plan);

}  // namespace mica::tools
