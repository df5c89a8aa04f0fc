// The loops of a definition at the root, and what a block and a thread of them cover.
#pragma once

#include <map>
#include <string>

#include "codegen/plan/kernel_plan.h"
#include "codegen/program.h"

namespace mica::planning {

/// "f", or "f.u1" of update 1: what the names of a definition's loops begin with.
std::string loop_prefix(const FunctionData& func, std::size_t index);
/// The loops of definition `index` of `func`, with tails that its memory has room for.
LoopNestSpec definition_spec(const Program& program, const FunctionData& func, std::size_t index,
                             bool on_gpu);
/// Adds the ranges of the loops that are over no dimension of the Func.
void add_other_roots(const Definition& definition, const LoopNestSpec& spec,
                     std::map<std::string, LoopVars::Root>& roots);
/// Raises `threads` (x, y, z) to what the thread loops of `vars` take. UserError: an extent that is not
/// constant.
void count_threads(const LoopVars& vars, const FunctionData& func, std::size_t index,
                   std::int64_t (&threads)[3]);
/// The dimension of `func` that the march loop `march` walks.
std::string marched_dimension(const LoopVars& vars, const FunctionData& func, const std::string& march);

/// The frame of definition `index` of root Func `func`, over its whole buffer.
KernelFrame root_frame(const Program& program, const FunctionData& func, std::size_t index);

}  // namespace mica::planning
