// What the tool's pages say of a schedule: code, drawings, loops, plan, figures, PTX.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "runtime/run/target.h"

namespace mica::tools {

/// HTML of `output` as it is scheduled. Figures are for `extents`, dimension 0 first; they and PTX are
/// there on a GPU. UserErrors of the schedule.
std::string schedule_sections(const Func& output, const Target& target,
                              const std::vector<std::int64_t>& extents);

}  // namespace mica::tools
