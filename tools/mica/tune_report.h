// A search for a schedule as a page: one HTML file that needs nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/iterate/iteration.h"
#include "dsl/func/func.h"
#include "schedules/tune/tune.h"

namespace mica::tools {

/// The search as plots, what was measured as a table and below the machine's roofs, and the winner as
/// code, drawings, loops, plan and, on a GPU, figures and PTX. `output` has the winner's schedule.
std::string tune_report_html(const TuneResult& found, const Func& output,
                             const std::vector<std::int64_t>& extents, const Target& target);

/// The same of an Iteration's step, which has the winner's schedule and steps at once.
std::string tune_report_html(const TuneResult& found, const Iteration& steps, const std::string& name,
                             const std::vector<std::int64_t>& extents, const Target& target);

}  // namespace mica::tools
