// Sources and receivers in time tiles.
//
// A tile of several steps knows nothing of what happens between them. So the points around sources and
// receivers, a patch, are computed step by step before it, in memory of their own: there sources add,
// and receivers take, after each step. What a source changed of the fields after the last step is then
// computed once more, over what the tile stored:
//
//    level 0    |.............................|    the fields before the tile: what level 1 reads
//    level 1        |.......................|      computed, then sources add
//    level 2            |...............|
//    level 3                |...S...|              a source S of a step of radius 4 reaches so far in a
//                                                  tile of four steps: into the fields after the tile
//
// The bits are those of single steps, which do the same everywhere.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/step_reach.h"
#include "codegen/iterate/time_levels.h"
#include "runtime/run/prepared_run.h"

namespace mica::iterate {

/// A part of the grid that is computed step by step beside a tile.
struct Patch {
  std::vector<std::size_t> receivers;  ///< that lie in it, by number
  /// By level, the first step's first, without the last step: the points that are computed, and those
  /// that have memory, which the next level reads.
  std::vector<Ranges> computed, memory;
  Ranges changed;  ///< what the tile's last step computes anew in the fields; empty: it has no source
};

/// The patches of an Iteration's sources and receivers, or why they cannot be computed beside a tile.
struct Patches {
  std::vector<Patch> all;
  std::string why;  ///< empty: they can
};
/// Of tiles of so many steps, which compute `box` of `fields` (as the user gave them). `given`: all that
/// the run has. Calls of add_at and record stay whole; those that lie near one another share a
/// patch.
Patches find_patches(const Iteration::State& state, int steps, const std::vector<AnyBuffer>& fields,
                     const Ranges& box, const RunOptions& given);

/// What computes patches: the step without its directives, in tiles of few points on a GPU.
struct PatchStep {
  Executable run;
  std::vector<std::size_t> fields;  ///< whose values it computes, in the order of its outputs
  /// Of Funcs whose boxes are apart, by Func: where each computes in the first field that it replaces.
  /// Elsewhere its fields stay what they are.
  std::vector<Margins> margins;
};
PatchStep compile_for_patches(const Iteration::State& state, const Target& target, bool apart);

/// A run that is a part of a tile, so many steps after the tile's first.
struct LaterRun {
  PreparedRun run;
  int later = 0;
};

/// The levels of all patches of one run of an Iteration.
class PatchRuns {
 public:
  /// `rules` are those of a single step. Memory gets what keeps its values from `fields`.
  PatchRuns(const Iteration::State& state, const Iteration::State::Compiled& compiled,
            std::shared_ptr<const PatchStep> step, std::vector<Patch> patches,
            const std::vector<FieldRule>& rules, const FieldBuffers& fields);

  /// What computes all levels but the last from the fields that `options` names first, before a tile.
  [[nodiscard]] std::vector<LaterRun> levels(const RunOptions& options, const CallSite& at) const;
  /// What computes, after the tile, what sources changed in the fields that it stored in `next`.
  [[nodiscard]] std::vector<LaterRun> last(const RunOptions& options, const std::vector<AnyBuffer>& next,
                                           const CallSite& at) const;

 private:
  /// Memory of one patch, by level and field; undefined for fields that take another's.
  using Levels = std::vector<std::vector<AnyBuffer>>;

  /// Field `f` after `level` steps: one of `fields` where nothing has replaced it yet.
  [[nodiscard]] AnyBuffer field_at(const Levels& levels, std::size_t level, std::size_t f,
                                   const std::vector<RunInput>& fields) const;
  /// What computes one more step than `level` into `outputs`, by field.
  [[nodiscard]] LaterRun step_from(const Levels& levels, std::size_t level,
                                   const std::vector<AnyBuffer>& outputs, const RunOptions& options,
                                   const CallSite& at) const;

  const Iteration::State& state_;
  const Iteration::State::Compiled& compiled_;
  std::shared_ptr<const PatchStep> step_;
  std::vector<Patch> patches_;
  std::vector<FieldRule> rules_;
  std::vector<Levels> memory_;  ///< by patch
};

}  // namespace mica::iterate
