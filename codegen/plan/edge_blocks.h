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
/// Func `name` as it is where it keeps nothing: what is computed inside its loops is inlined. Null where
/// that would not do (updates, traces) or would recompute too much.
std::shared_ptr<const FunctionData> without_stages(const Program& program, const std::string& name);
/// The program with such a Func in place of the one of its name and of what is computed in that one's
/// loops; without plans of kernels and loops.
Program with_direct(const Program& program, const std::shared_ptr<const FunctionData>& func);

}  // namespace mica::planning
