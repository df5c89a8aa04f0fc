// Who must have finished what before whom in a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "dsl/pipeline/pipeline.h"

namespace mica::planning {

/// Planes of `source` that a step of stage `reader` reads, from the step's own plane; {0, 0} where
/// `source` has no ring. Empty: the reader does not read it.
struct PlanesRead {
  std::int64_t oldest = 0, newest = 0;
};
std::optional<PlanesRead> planes_read(const KernelPlan& plan, const Stage& reader, const Stage& source);

/// Does the plan have memory of its own for the rows that threads of `stage` pass to one another?
bool passes_rows(const Stage& stage);
/// Does `reader` read rows of `source` that other threads hold in registers?
bool takes_rows(const KernelPlan& plan, const Stage& reader, const Stage& source);
/// Places of such rows: a step may write while another thread still reads.
inline constexpr std::int64_t kRowPlaces = 2;

/// The edges from a stage to itself.
std::vector<Edge> edges_within(const Stage& stage, const Pipeline& pipeline);
/// The edges of `plan`, whose stages and taps are known: for each stage and each of its readers one from
/// the filling to the read, and one back where the stage is filled again; the same for rows that threads
/// pass to one another; and those of a stage to itself.
std::vector<Edge> edges_of(const KernelPlan& plan, const Pipeline& pipeline);

/// Where the steps of a march wait for asynchronous copies.
struct CopyWaits {
  bool in_step = false;    ///< behind the copies that a step begins, else before them
  int pending = 0;         ///< groups that may still be under way
  bool with_rows = false;  ///< before the step's last barrier for rows: for those of the next step
};
/// Empty where no step of the tile's threads begins any. Where the copy engine is not asked, as in
/// blocks that are not all `inside`, threads copy what it would bring.
std::optional<CopyWaits> copy_waits(const KernelPlan& plan, bool inside);

/// What the edges say of one memory of a block. Distances are planes that are begun between two
/// accesses: those that are less far apart touch other planes.
struct MemoryOrder {
  bool each = true;            ///< each access waits for what was written before, each write for all
  std::int64_t filled = 0;     ///< from the write of a plane to its first read
  std::int64_t reused = 0;     ///< from the last read of a plane to the write in its place
  std::int64_t refilled = 1;   ///< from one write of a place to the next
  bool copied = false;         ///< planes that are not read yet may still be under way behind a barrier
  bool arrives_early = false;  ///< but for those of the next step, for which a step waits
  /// The barrier that orders it. Where crews hand it over, no other does.
  Meeting at = {};
};
/// Of the memory that holds `of` of `stage`; `each` where the plan has no such stage.
MemoryOrder order_of(const KernelPlan& plan, const std::string& stage, ir::Kept of);

}  // namespace mica::planning
