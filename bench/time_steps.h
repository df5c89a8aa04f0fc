// The steps of the time cases: what is iterated.
#pragma once

#include <string>
#include <vector>

#include "codegen/iterate/iteration.h"

namespace mica::bench {

/// The step of a case, without a schedule, and the fields that it replaces: those of `next`, then one of
/// each of the others.
struct TimeStep {
  Func next;
  std::vector<ImageParam> fields;
  std::vector<Func> others = {};
  /// How many are those of `next`.
  [[nodiscard]] std::size_t own_fields() const { return fields.size() - others.size(); }
};
/// InternalError for a name that no case has.
TimeStep make_time_step(const std::string& name);
Iteration iteration_of(const TimeStep& step);

/// Does the case of this name read its field through a boundary condition, and compute all of its
/// points?
bool has_edges(const std::string& name);
/// Has it a source and receivers?
bool has_places(const std::string& name);

}  // namespace mica::bench
