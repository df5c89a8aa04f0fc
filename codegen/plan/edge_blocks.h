// What blocks do of which some points lie outside of what is computed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/program.h"

namespace mica::planning {

/// How blocks of definition `index` of `func`, which keep `stages`, tell that they are inside, and what
/// the others do.
Inside edge_of(const Program& program, const FunctionData& func, std::size_t index,
               const KernelFrame& frame, const std::vector<Stage>& stages);
/// The program in which Func `name` keeps nothing: what is computed inside its loops is inlined. Empty
/// where that would not do (updates, traces) or would recompute too much.
std::optional<Program> without_stages(const Program& program, const std::string& name);

}  // namespace mica::planning
