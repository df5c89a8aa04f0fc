// The marches in whose registers a GPU computes the levels of a time tile: the step's own, or, of two
// dimensions and where it has none, marches of rows that fit a thread's registers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/time_levels.h"

namespace mica::iterate {

/// Loops of a march, and how the planes of fields come to it.
struct Marching {
  std::vector<Directive> loops;
  std::string var;  ///< is marched
  /// By how many planes fields are asked for before they are read, where the user says so.
  std::optional<int> ahead = {};
};

/// The directives that name loops alone, and no source.
std::vector<Directive> loops_of(const Func& step);
/// Lanes of the widest vectors that loops ask for.
int widest_vector(const std::vector<Directive>& loops);

/// The march of the step's own directives.
std::optional<Marching> marching_of(const Iteration::State& state);
/// Those for a step of two dimensions that says nothing, the best first. `fields` are those that threads
/// keep in registers, too.
std::vector<Marching> marches_of_rows(const Iteration::State& state, const TimeLevels& tile,
                                      const std::vector<Func>& fields);

/// By how many planes threads ask for fields before they are read. Warps that compute few levels come
/// to the next plane sooner.
int asked_ahead(const TimeLevels& tile);

}  // namespace mica::iterate
