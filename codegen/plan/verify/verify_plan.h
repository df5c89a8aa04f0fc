// What holds of every KernelPlan.
//
//   stages    the kernel's own Func is one of them, once; no two have one name
//   boxes     a stage's box holds every tap of its readers, where both are known
//   rings     a ring has a place for each plane from the newest that is made to the oldest that is still
//             read, and is as far ahead as its newest read; a stage begins early enough for its readers'
//             first planes
//   order     what a step fills and reads stands before its reader in the step; what it fills in the
//   place
//             of a plane that it reads stands behind that reader
//   edges     each pair of a stage and its reader has one edge from the filling to the read, so many
//   steps
//             apart as the rings say, and one back where the stage is filled again. Memory of the block
//             is waited for: by a barrier, by waiting for copies of which no more groups are left under
//             way than were begun since, or at a transaction barrier, as it is filled. So are rows
//             passed on
//   taps      each access of a stage's definition is served once; a register serves the thread's own
//   points
//             only; whatever serves is a residence of the source
//   crews     the threads that fill a stage are threads of the block, and some; of a block with further
//             warps they are threads of the tile, or all of those warps, which read arrays only
//   meetings  no step of a march waits for all threads of a block that has further warps. An edge
//   between
//             crews is kept by named barriers of all threads of both, to which one crew comes and goes
//             on and at which the other waits; an edge within a crew by one of its own threads. They are
//             whole warps; no barrier serves two purposes, and there are 15. Steps take as many in turn
//             as one crew can be ahead of the other, which is as far as the rings let the filling crew
//             run on; it says that planes are full no later than they are needed, and when its copies of
//             them are there
//
// and within a device:
//
//   limits    threads of a block; shared memory of a block; registers that its threads hold
#pragma once

#include <string>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/program.h"

namespace mica::planning {

/// What does not hold, a line each: "u.staged -> next: ..."; empty: all of the above but `limits`.
std::vector<std::string> verify_plan(const KernelPlan& plan, const Pipeline& pipeline);
/// What of `plan` a device does not have.
std::vector<std::string> verify_limits(const KernelPlan& plan, const DeviceLimits& limits);

}  // namespace mica::planning
