// What the steps of a run launch.
//
// A step is prepared once for each state of the fields' memory. The states come round again after a few
// steps (two, where fields swap their memory); from then on a GPU gets many steps at once, as one graph
// of launches, so that a step costs the host next to nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/patches.h"
#include "codegen/iterate/time_levels.h"
#include "runtime/run/prepared_run.h"

namespace mica::iterate {

/// Parts of a launch's box of rows along its last dimension. In a graph a part waits for those of the
/// move before which it reads, and which read what it writes: itself and its neighbours. So the next
/// move begins while the last blocks of this one run:
///
///            part 0     part 1     part 2     part 3
///   move n   [      ]   [      ]   [      ]   [      ]
///               | \     / | \     / | \     / |
///   move n+1 [      ]   [      ]   [      ]   [      ]
struct Parts {
  /// Points that keep a GPU busy for some tens of microseconds.
  static constexpr std::int64_t kPoints = std::int64_t{1} << 23;
  static constexpr std::int64_t kMost = 4;
  std::int64_t reach = 1;         ///< how far from its points a part reads the fields
  std::int64_t unit = 1;          ///< parts but the last are multiples of it long
  std::int64_t points = kPoints;  ///< of a part at least

  /// The parts of `box`; fewer than three: it is not cut.
  [[nodiscard]] std::vector<Ranges> of(const Ranges& box) const;
};

/// How the steps of a run are computed, one or several at once.
struct StepPlan {
  struct Launch {
    Executable run;
    std::vector<std::size_t> fields;  ///< whose memory its outputs take, in their order
  };
  std::vector<Launch> launches;       ///< one after the other
  int steps = 1;                      ///< that it takes at once
  std::vector<FieldRule> rules;       ///< what replaces each field
  std::vector<RunParam> params = {};  ///< beside those of the run
  /// Inputs are given in_lines of this point of dimension 0, where their memory allows it.
  std::optional<std::int64_t> lines_from = {};
  /// What is computed step by step beside it, by `patch_step`.
  std::vector<Patch> patches = {};
  std::shared_ptr<const PatchStep> patch_step = {};
  /// How its only launch is cut in graphs; nothing: it is not.
  std::optional<Parts> parts = {};
};

/// Inputs of the fields' dimensions, the fields first, in the lines that `plan` asks for.
void give_lines(const StepPlan& plan, std::vector<RunInput>& inputs);

/// The steps of one run. Used by one thread.
class StepRuns {
 public:
  /// `options` names the fields' inputs first, in their order, with the user's buffers, then what else
  /// the run was given. `single` and, if there is one, `tile` are how steps are computed; sources and
  /// receivers act after each step, in a tile's patches. `stretch`: the steps that most calls of advance
  /// are made for.
  StepRuns(const Iteration::State& state, const Iteration::State::Compiled& compiled, RunOptions options,
           StepPlan single, std::unique_ptr<StepPlan> tile, std::int64_t stretch, const CallSite& at);

  /// Computes steps from number `done` on, `most` at most, of a run that has `left` before it. How many.
  std::int64_t advance(std::int64_t done, std::int64_t most, std::int64_t left);

  [[nodiscard]] const FieldBuffers& fields() const { return buffers_; }
  /// The options of a run that reads the fields as they are now.
  [[nodiscard]] RunOptions options_now() const;
  /// The user's buffers hold the fields.
  void finish() { buffers_.finish(); }

 private:
  /// A step, or a tile of them, in one state of the fields' memory.
  struct Move {
    std::vector<LaterRun> runs;      ///< patches, the step, then sources and receivers
    std::vector<std::size_t> timed;  ///< those of `runs` whose launches depend on the step's number
    /// Where its launch may be cut: what it was prepared with.
    RunOptions options = {};
    std::vector<AnyBuffer> outputs = {};
  };
  /// The launches of many moves.
  struct Graph {
    std::unique_ptr<LaunchGraph> launches;
    std::vector<Move*> moves;  ///< all of them come round after `period`
    std::size_t period = 1;
    std::vector<std::unique_ptr<Move>> cut;  ///< what `moves` are where runs are parts of a launch
    FieldBuffers::Places begin;              ///< where the fields are before it, and after
  };
  /// Single steps, or tiles.
  struct Way {
    StepPlan plan;
    std::map<std::pair<FieldBuffers::Places, FieldBuffers::Places>, std::unique_ptr<Move>> moves;
    std::vector<Move*> last;  ///< moves without a copy between them, the newest at the end, until they
                              ///< come round
    Graph graph;
    bool tried_graph = false;
  };

  [[nodiscard]] std::unique_ptr<Move> make_move(const Way& way) const;
  /// Adds what sources and receivers do after the last step of a move.
  void add_places(Move& move, int later) const;
  /// The same in parts; null where it is not cut.
  [[nodiscard]] std::unique_ptr<Move> in_parts(const Way& way, const Move& move) const;
  Move& move_on(Way& way);
  /// Tells a run of a move which step it is, of the number of the move's first.
  void set_number(LaterRun& one, std::int64_t first) const;
  void launch(Move& move, std::int64_t number);
  std::int64_t launch_graph(Way& way, std::int64_t done, std::int64_t most);
  void make_graph(Way& way, std::int64_t left);
  /// Makes the launches of its moves; false where the driver makes no graphs.
  [[nodiscard]] bool fill(Graph& graph) const;
  /// Adds the parts of a launch, each after those of the move `before` that it needs, whose numbers
  /// become its own.
  static void add_parts(Move& move, LaunchGraph& launches, std::vector<std::size_t>& before);
  void note(const Way& way, const std::string& why) const;

  const Iteration::State& state_;
  const Iteration::State::Compiled& compiled_;
  RunOptions options_;
  const std::int64_t stretch_;
  CallSite at_;
  FieldBuffers buffers_;
  Way single_;
  std::unique_ptr<Way> tile_;
  std::unique_ptr<PatchRuns> patches_;  ///< of the tile
};

}  // namespace mica::iterate
