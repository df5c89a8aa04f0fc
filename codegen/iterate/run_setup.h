// What a run of an Iteration works on, found out and checked before its first step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/step_runs.h"

namespace mica::iterate {

/// What the steps of a run are made of.
/// How long a run is.
struct Pace {
  static constexpr std::int64_t kMany = std::int64_t{1} << 40;
  std::int64_t steps = kMany;    ///< of the whole run
  std::int64_t stretch = kMany;  ///< between two looks at the fields
};

class RunSetup {
 public:
  /// `given`: the user's buffers of the fields, and other inputs. UserErrors: of compiling a step; a
  /// field that is missing, given twice, shares memory with another, or has another box than the one
  /// that it takes values from; an input that is not set, `over` beyond the buffers, no point left.
  RunSetup(Iteration::State& state, const std::vector<RunInput>& given, const Target& target,
           const std::vector<RunParam>& params, const CallSite& at, const Pace& pace = {});
  /// The same run under the schedule of `state`, which computes the same.
  [[nodiscard]] RunSetup scheduled_as(Iteration::State& state) const;

  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const Iteration::State::Compiled& compiled() const { return compiled_; }
  /// The user's buffers, in the order of the pairs.
  [[nodiscard]] const std::vector<AnyBuffer>& fields() const { return fields_; }
  /// Inputs: the fields, then what else was given or is set; Params: those given, then what others hold.
  [[nodiscard]] const RunOptions& options() const { return given_; }
  /// The points that a step computes, by output.
  [[nodiscard]] const std::vector<Ranges>& boxes() const { return boxes_; }
  /// The smallest box around them, which tiles compute; of Funcs of several numbers of dimensions, which
  /// have no tiles, the first.
  [[nodiscard]] const Ranges& box() const { return box_; }
  /// Is it that of each Func?
  [[nodiscard]] bool is_box_of_all() const;
  /// Does a step compute all points of each field?
  [[nodiscard]] bool is_whole() const;
  /// What the code of so many steps at once may take for granted. `moves` as of tile.
  [[nodiscard]] TileForm tile_form(int steps, bool moves = true) const;
  /// The tile of so many steps of `state`, the user's or one scheduled otherwise; on the CPU of reads as
  /// the step has them where this run's boxes do not let them be opened. `moves` as of tile.
  [[nodiscard]] std::shared_ptr<const Iteration::State::Tile> tile_of(Iteration::State& state, int steps,
                                                                      bool moves = true) const;
  /// How a step is computed.
  [[nodiscard]] const StepPlan& single() const { return single_; }
  /// How several steps at once are; null: they are not, and a line on standard error says why, if
  /// several were asked for. `moves`: FieldBuffers decides which memory the fields are in.
  [[nodiscard]] std::unique_ptr<StepPlan> tile(bool moves = true) const;
  /// The same, whatever it says about the way that the levels are computed.
  [[nodiscard]] std::unique_ptr<StepPlan> tile(const Iteration::State::Tile& made) const;
  /// UserErrors as those of Sources::check_inside and Receivers::check_inside.
  void check_places(const Iteration::State& of) const;
  /// UserError for an input or a Param that was given and that neither the step nor `until`, if there is
  /// one, uses.
  void check_used(const Plan* until) const;

 private:
  void keep_what_is_set();
  void plan_single_step();
  /// One step of in_place, or two.
  [[nodiscard]] StepPlan in_place(int steps) const;
  /// TileForm::still_ends of a tile of so many steps.
  [[nodiscard]] bool still_ends(int steps) const;
  /// Are tiles of so many steps fewer, and enough so, if those at the ends of rows store the points
  /// beside the stepped box?
  [[nodiscard]] bool saves_tiles(int steps) const;
  /// Is it worth to have rows aligned at the fields' first points, where a tile that stores them begins?
  [[nodiscard]] bool pays_to_begin_at_fields(int steps) const;
  /// The points that a tile stores.
  [[nodiscard]] Ranges tile_box(bool still_ends) const;
  /// Can all that a tile reads be given in_lines of `box`?
  [[nodiscard]] bool has_lines(const Ranges& box, bool moves) const;
  /// Are all rows whole lines from the stepped box's first point on?
  [[nodiscard]] bool has_whole_lines() const;
  /// Are all points computed along the dimensions in which the step repeats? If not, says so.
  [[nodiscard]] bool repeats_whole() const;
  /// StepReads::widens of this run.
  [[nodiscard]] bool widens() const;
  void note(const std::string& why) const;

  Iteration::State* state_;
  Target target_;
  CallSite at_;
  Pace pace_;
  Iteration::State::Compiled compiled_;
  std::vector<AnyBuffer> fields_;
  RunOptions given_;
  std::vector<Ranges> boxes_;
  Ranges box_;
  StepPlan single_;
};

/// The Iteration as a run of `at_once` steps, or more, carries it out: itself, or, if its step has no
/// directives and nobody chose how many steps are taken at once, with what tuning found for such a run
/// (codegen/tuned.h). `setup`: of the run as `state` has it.
std::shared_ptr<Iteration::State> tuned_for_run(const std::shared_ptr<Iteration::State>& state,
                                                const RunSetup& setup, std::int64_t at_once);

/// Steps after which a callback or a checkpoint is due at the earliest.
std::int64_t steps_between(const Iteration::State& state);

}  // namespace mica::iterate
