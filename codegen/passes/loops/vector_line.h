// Loops over vectors whose points lie on one line. A part of split_interiors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis/interiors.h"
#include "codegen/analysis/value_ranges.h"
#include "codegen/ir/stmt.h"
#include "codegen/passes/loops/edge_lanes.h"

namespace mica::passes {

/// A loop over vectors whose points lie on one line: everything in it depends on width*x + lane only. So
/// a vector may begin at any point of the line, and be computed twice.
struct Line {
  std::string lane;
  std::int64_t width = 0;
  ir::Stmt inside;                                 ///< a point, where the inequalities hold
  std::vector<analysis::Inequality> inequalities;  ///< in x, with the lane in their rests
  std::string point;                               ///< the number of a vector's first point
  Expr points;                         ///< how many the line has; its last vectors are moved to its end
  Expr stop;                           ///< the number of vectors, moved ones among them
  bool shared_edges = false;           ///< both edges by the same code
  bool repeatable = false;             ///< nothing in it reads what it stores
  std::optional<EdgeLanes> edge = {};  ///< beside the interior, or at the end of a line
  /// At the one end of a line, where nothing sticks out at the other; none with shared edges.
  std::optional<EdgeLanes> left = {}, right = {};

  /// What asks for the same of a whole vector.
  [[nodiscard]] std::vector<analysis::Inequality> of_vectors(
      std::vector<analysis::Inequality> all) const;
};

/// A loop whose loops that are written out stand inside of each lane, not around the vector or the
/// points behind the last one, as in `unrolled plane: vectorized lane: f[x*16 + lane, plane]`: planes
/// share what a lane is. The loop itself where it has none such.
ir::For with_lanes_around(const ir::For& loop);
/// How many points a loop over whole vectors and the one behind it have, undefined where they are not of
/// one row.
Expr points_of_row(const ir::For& loop, const ir::For& tail);
/// The line of a loop over vectors, of so many points and vectors; `points` is undefined where nothing
/// is left behind whole ones. Nothing where vectors must not be moved, or need not; those that read what
/// they store are not moved, but choose their taps. `by_lane`: each lane's access is code of its own, as
/// it is checked, or points of a row are not beside each other in memory.
std::optional<Line> line_of(const ir::For& loop, const Expr& points, const Expr& stop, bool shared_edges,
                            bool by_lane, analysis::Ranges& ranges);
/// Vectors inside; beside them, vectors whose taps that stick out are chosen lane by lane, or a vector
/// that is moved until it is inside; what is left, point by point.
ir::Stmt split_line(const ir::For& loop, const Line& line);

}  // namespace mica::passes
