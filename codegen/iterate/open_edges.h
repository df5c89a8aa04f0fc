// Steps whose reads boundary conditions bend, as steps that choose among reads at constant distances,
// which levels of a time tile serve from their registers:
//
//   before  next(x) = u.repeat_edge(x - 1) + u.repeat_edge(x + 1)
//   after   next(x) = select(x >= min + 1, u(x - 1), u(x)) + select(x <= max - 1, u(x + 1), u(x))
//
// The two are the same for points within u's own box. Elsewhere the second reads beyond it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/iterate/stepped_boxes.h"
#include "dsl/func/func.h"
#include "runtime/run/run_options.h"

namespace mica::iterate {

/// A range that launches know, with bounds of Int(32): along `dimension` all points of the step must lie
/// within it, and it must have `least` of them.
struct OpenedEdge {
  std::size_t dimension = 0;
  Expr min, max;
  std::int64_t least = 1;
};

struct OpenedStep {
  std::vector<Expr> values;  ///< of the step, with its roundings
  std::vector<OpenedEdge> edges;
};

/// Of a step of one definition, with what is inline in it. Reads at x + c are opened that
/// repeat_edge, constant_exterior, mirror_image or mirror_interior bend into a range, with c up to 8 on
/// either side. Nothing if there are none, if others are bent likewise, or if there would be
/// more than some thousands of reads.
std::optional<OpenedStep> open_edges(const Func& step);

/// Why a step that computes `box` is another one when its edges are opened; empty: it is not. `inputs`
/// and `params` are all that the run has.
std::string why_beyond(const std::vector<OpenedEdge>& edges, const Ranges& box,
                       const std::vector<RunInput>& inputs, const std::vector<RunParam>& params);

}  // namespace mica::iterate
