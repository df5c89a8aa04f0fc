// A vector of which a few taps stick out of their arrays, at either end of a row or at both. A part of
// split_interiors.
//
//   before  for lane in [0, 16): f[p + lane] = u[(p + lane - 1) % n] + v[(p + lane) % n]
//   after   let p.cut0 = 1 - p
//             vectorized lane in [0, 16):
//               f[p + lane] = select(lane >= p.cut0, u[p + lane - 1], u[p + lane - 1 + n]) + v[p + lane]
//
// On the host, a Select by where a lane stands loads in each lane what it takes, and nothing else
// (TargetFacts::lane_loads). What a tap is beyond its array's end follows from the same expression, as
// its interior does, with the inequality that fails taken as failing: p + lane - 1 + n of the remainder,
// an end of the array of a clamp, n - 1 - ... of a mirror. So every condition on the values outside is
// one that is linear there. It is proven for the lanes outside by inequalities, which hold at the lane
// that is furthest outside and at the one that is nearest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis/interiors.h"
#include "codegen/analysis/value_ranges.h"
#include "codegen/ir/stmt.h"

namespace mica::passes {

struct EdgeLanes {
  /// A point of the vector, in lane `lane` of the vector that begins at `point`, ...
  ir::Stmt body;
  /// ... where these hold, in `point`, for all lanes.
  std::vector<analysis::Inequality> inequalities;
  /// Some tap that sticks out is taken from afar, as from the other end of a periodic row.
  bool far = false;
};

/// The ends of a row at which a vector's taps may stick out.
enum class RowEnds { Both, Left, Right };

/// `body` is a point, that of number point + lane, of a row: it stores to it and does nothing else.
/// `lanes` is the number of a vector's lanes; `ranges` has both names. At an end that is not among
/// `ends` no tap may stick out, which the inequalities say. Nothing where a tap that sticks out, as one
/// does that lies to the left or the right of the point, is none of those above, or where none does.
std::optional<EdgeLanes> find_edge_lanes(const ir::Stmt& body, const std::string& point,
                                         const std::string& lane, std::int64_t lanes,
                                         const analysis::Ranges& ranges, RowEnds ends);

}  // namespace mica::passes
