// What blocks do of which some points lie outside of what is computed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/program.h"

namespace mica::planning {

/// How blocks of definition `index` of `func`, which keep `stages`, tell that they are inside, and what
/// the others do.
Inside edge_of(const Program& program, const FunctionData& func, std::size_t index,
               const KernelFrame& frame, const std::vector<Stage>& stages);
/// `func`, each tap of which on a stage that only copies reads the array that the stage copies.
std::shared_ptr<const FunctionData> with_direct_taps(const Program& program, const FunctionData& func);

}  // namespace mica::planning
