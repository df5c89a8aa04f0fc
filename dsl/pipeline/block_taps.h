// What one block of a Func reads: taps as they are written, and how far a block's box of a source
// reaches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/schedule/schedule_view.h"

namespace mica {

/// The dimension that a loop runs over, or a part of it; empty for a fused loop of two.
std::string dimension_of(const LoopNestSpec& nest, const std::string& loop);

/// Points of dimension `var` that one block computes in one step: its loops inside the blocks and the
/// march. Nothing when one of them has no constant extent.
std::optional<std::int64_t> block_points(const LoopNestSpec& nest, const std::string& var);

/// The accesses of `source` by `f` and by the Funcs that its scattered sum became, each once, in the
/// order written. A stage or window of the source counts as the source.
std::vector<Access> taps_of(const ScheduleView& view, const FuncView& f, const std::string& source);

/// An index of a source: `var` of the Func that has the blocks, plus low ... high.
struct Reach {
  std::string var;
  std::int64_t low = 0, high = 0;
};
/// Per dimension of `source` the indices that `f`, and what is computed for it alone, read of it in one
/// block, relative to the points of `f`; nothing where an index is something else than var + constant.
std::vector<std::optional<Reach>> reach_of(const ScheduleView& view, const FuncView& f,
                                           const std::string& source);

}  // namespace mica
