// Who must have finished what before whom in a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace mica::planning {

/// Planes of `source` that a step of stage `reader` reads, from the step's own plane; {0, 0} where
/// `source` has no ring. Empty: the reader does not read it.
struct PlanesRead {
  std::int64_t oldest = 0, newest = 0;
};
std::optional<PlanesRead> planes_read(const KernelPlan& plan, const Stage& reader, const Stage& source);

/// Does `reader` read what other threads put into memory of the block, of `source`?
bool is_shared(const KernelPlan& plan, const Stage& reader, const Stage& source);

/// The edges between the stages of `plan`, whose stages and taps are known: for each stage and each of
/// its readers one from the filling to the read, and one back where the stage is filled again.
std::vector<Edge> edges_of(const KernelPlan& plan);

}  // namespace mica::planning
