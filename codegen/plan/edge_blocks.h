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
/// `func` with definition `index` as threads compute it that keep nothing, where edge_of says DirectTaps
/// of that one (of others the stages may be any): taps on stages that copy read the arrays behind them,
/// and a partial sum that only its own thread reads is a part of the value.
std::shared_ptr<const FunctionData> with_direct_taps(const Program& program, const FunctionData& func,
                                                     std::size_t index);

}  // namespace mica::planning
