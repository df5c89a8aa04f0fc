// What a marched loop computes in one step: which plane of which Func, in which order, into how long a
// ring.
//
//   next(x, z) = u(x - 1, z) + u(x + 1, z) + u(x, z - 1) + u(x, z + 1), u windowed and staged, march(z)
//
//                ahead  first  depth
//   u.window       1     -1      3     step s loads plane s + 1; planes s - 1 ... s + 1 are read
//   u.staged       0      0      1     step s writes plane s
//   next           0      0      -     step s stores plane s
//
// `ahead` is the largest offset at which a Func is read in the step, `first` the first plane that the
// chunk needs: a Func takes part in steps s >= first - ahead, so that steps before 0 fill the rings.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/analysis/bounds.h"
#include "codegen/plan/frame/common_frame.h"

namespace mica {
struct Program;
}

namespace mica::planning {

struct MarchStage {
  const FunctionData* func = nullptr;
  analysis::Box box;  ///< of a step; in dimension `dim` the plane [symbol, symbol]
  int dim = -1;       ///< the Func's marched dimension; -1: the same in every plane
  std::int64_t ahead = 0, first = 0;
  std::int64_t depth = 1;                       ///< planes in the ring
  std::int64_t newest_lag = 0, oldest_lag = 0;  ///< of ir::Allocate::Ring
  int prefetch = 0;  ///< the part of `ahead` that only starts the work earlier
  /// The part of `ahead` for steps to come: a plane of which the chunk has no such step is not computed.
  std::int64_t beyond = 0;
  bool per_thread = false;  ///< in registers: each thread its own points
  bool bulk = false;        ///< filled by the bulk-copy engine; set by who builds the code
  /// How far ahead of the step's plane is the newest that the step reads: where it is less than `ahead`,
  /// a step reads what earlier ones have filled.
  std::int64_t newest = 0;
  /// Of a Func in the threads' registers: how far beside a thread's own points it is read.
  CommonFrame::Kept kept = {};
  [[nodiscard]] std::int64_t warm_up() const { return ahead - first; }
};

struct MarchPlan {
  /// In the order of one step; `consumer_at` is the place of the marched Func's own loops among them.
  std::vector<MarchStage> stages;
  std::size_t consumer_at = 0;
  std::int64_t warm_up = 0;  ///< steps before step 0
};

/// The name of the variable that stands for the plane in MarchStage::box.
inline constexpr const char* kPlaneSymbol = ".plane";

/// `func` is marched along `var`. `placed` are the Funcs computed at the march loop and `inner` those
/// computed inside it, in the pipeline's order; `own` gives the intervals of func's variables in one
/// step, with [plane, plane] for `var`; `frame` is that of func's blocks, if they have one; `split`:
/// further warps fill what they can. UserErrors:
/// a Func read at another place than plane + constant; a Func in registers of no common frame that is
/// read beside the thread's own points.
MarchPlan plan_march(const Program& program, const FunctionData& func, const std::string& var,
                     const std::vector<const FunctionData*>& placed,
                     const std::vector<const FunctionData*>& inner, const analysis::Scope& own,
                     const std::optional<CommonFrame>& frame, bool split);

}  // namespace mica::planning
