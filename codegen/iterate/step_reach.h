// How far around a point the values of a step depend on the fields.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/iterate/open_edges.h"
#include "dsl/func/func.h"

namespace mica::iterate {

/// What a step computes of a part of the fields, their points within `points` of those computed, is what
/// it computes of all of them: reads stand at constant distances, or are bent into a range by a boundary
/// condition, and nothing else asks where the fields begin or end.
struct StepReach {
  std::vector<std::int64_t> points;  ///< by dimension, on either side
  std::vector<bool> wraps;           ///< along which reads beyond the fields come back on the other side
  /// Ranges of others than the fields, into which reads are bent: the points computed lie within.
  std::vector<OpenedEdge> edges;
  /// Why the step is none of these; empty: it is one.
  std::string why;
};

/// Of a step of one Func that replaces `fields`.
StepReach reach_of(const Func& step, const std::vector<std::shared_ptr<const ImageData>>& fields);

}  // namespace mica::iterate
