// The order in which loops take the points of a definition that reads its own Func.
#pragma once

#include <map>
#include <string>

#include "codegen/plan/frame/loop_vars.h"

namespace mica::planning {

/// How the dimensions of definition `index` of `func` run where the Func reads itself: downwards, or in
/// steps from point to point of one color.
void add_own_order(const FunctionData& func, std::size_t index,
                   std::map<std::string, LoopVars::Root>& roots);
/// The condition on the point that loops over points of one color leave open, or undefined.
Expr color_condition(const FunctionData& func, std::size_t index);

}  // namespace mica::planning
