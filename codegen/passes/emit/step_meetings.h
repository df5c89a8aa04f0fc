// What the crews of a march say to one another in one step (codegen/plan/handover.h).
#pragma once

#include <cstdint>
#include <string>

#include "codegen/ir/stmt.h"
#include "codegen/plan/handover.h"

namespace mica::passes {

/// Parts of a step; each may be undefined.
struct StepMeetings {
  ir::Stmt before_fills;  ///< further warps wait until the places of the planes are empty
  ir::Stmt after_fills;   ///< ... wait for their copies, and say that planes are full
  ir::Stmt before_reads;  ///< threads of the tile wait until the planes are full
  ir::Stmt after_reads;   ///< ... say that places are empty
};
/// Of step `step`, a variable, of a march of `count` steps behind `warm_up` steps before step 0. Thread
/// loops get names from `prefix` on.
StepMeetings step_meetings(const planning::Handover& handover, const std::string& prefix,
                           const Expr& step, std::int64_t warm_up, const Expr& count);

}  // namespace mica::passes
