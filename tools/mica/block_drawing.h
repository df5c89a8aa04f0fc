// The points of one block of a kernel, or of one tile of the host's loops, seen from above: tile, halos,
// threads.
#pragma once

#include <string>

#include "codegen/plan/kernel_plan.h"

namespace mica::tools {

/// Where points are kept, as a class of the pages' style sheet: "shared", "registers", "global", or
/// "stored" for the Func of the kernel.
std::string place_class(const planning::Stage& stage);

/// The block in dimensions 0 and 1 that no march walks and, where it has points or halos in others, in 0
/// and each of those: HTML figures.
std::string block_drawing(const planning::KernelPlan& plan);
/// A tile of definition `index` of a Func at the root that has no plan: what its innermost loops cover
/// down from the outermost of constant extent, or, where there is none, inside its parallel loops.
std::string tile_drawing(const std::string& func, const planning::KernelFrame& frame);

}  // namespace mica::tools
