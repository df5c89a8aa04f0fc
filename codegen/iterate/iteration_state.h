// What an Iteration's handles stand for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/iterate/iteration.h"
#include "codegen/iterate/periodic_step.h"
#include "codegen/iterate/places.h"
#include "codegen/iterate/stepped_boxes.h"
#include "runtime/run/executable.h"

namespace mica {

namespace iterate {
class BoxCopier;  // codegen/iterate/field_buffers.h
class Condition;
struct PatchStep;  // codegen/iterate/patches.h
struct StepReach;  // codegen/iterate/step_reach.h
struct TileForm;   // codegen/iterate/time_levels.h
enum class Otherwise : std::uint8_t;
struct CompiledInPlace;  // codegen/iterate/in_place_step.h

/// How blocks share a row: the points of a tile, of which those read beside its own lie on either side,
/// and the lanes of a vector. No points: nothing says it.
struct RowTiles {
  std::int64_t points = 0, lanes = 1;
};
}  // namespace iterate

struct TunedRun;  // codegen/tuned.h

struct Iteration::State {
  /// A Func that replaces fields, and which field each of its values goes to.
  struct Output {
    Func func;
    std::vector<std::size_t> fields;           ///< by value
    std::optional<iterate::Ranges> over = {};  ///< as the user gave it
    CallSite where;                            ///< of over
  };
  struct Callback {
    std::int64_t every;
    std::function<void(const RunningIteration&)> call;
  };
  struct Stability {
    Expr condition;
    CallSite where;
  };
  struct Checkpoint {
    std::string path;
    std::int64_t every;
  };
  /// A compiled step and the schedules that it was compiled from.
  struct Compiled {
    Target target;
    std::vector<Schedule> schedules;
    Executable step;
    std::vector<Executable> sources, receivers;
    std::shared_ptr<iterate::BoxCopier> copier;
    std::shared_ptr<const iterate::CompiledInPlace> in_place;  ///< where it is asked for
  };
  /// A time tile, for the target, steps and form that it was made for.
  struct Tile;
  /// Code of one schedule of the step. Runs of several threads share it.
  struct Code {
    std::mutex compiling;  ///< guards the members below
    std::vector<Compiled> compiled;
    std::vector<std::shared_ptr<const Tile>> tiles;
    std::vector<std::shared_ptr<const iterate::PatchStep>> patch_steps;
    std::map<int, iterate::RowTiles> rows;     ///< by steps at once, where Mica chooses the march
    std::optional<std::int64_t> rows_between;  ///< the first and the last that a point reads
  };
  /// The step under a schedule that tuning found, for runs on a target over these boxes.
  struct Tuned {
    Target target;
    std::vector<iterate::Ranges> boxes;
    bool whole = false;
    std::vector<Func> outputs = {};  ///< copies with their directives; none: the compiler chooses
    int steps = 1;                   ///< at once
    std::shared_ptr<Code> code = {};
    /// Steps from which on tuned_steps is asked; nothing: it was.
    std::optional<double> asks_after = {};
    /// What may be taken and is not compiled yet, the best first, and the steps that were run.
    std::shared_ptr<const TunedRun> found = {};
    double ran = 0;
  };
  /// A compiled condition of run_until.
  struct CompiledCondition {
    Expr condition;
    std::uint64_t mark = 0;  ///< of all that it reads
    std::shared_ptr<const iterate::Condition> compiled;
  };

  std::vector<Replacement> replacements;
  std::vector<Output> outputs;
  std::shared_ptr<const iterate::StepReads> reads;
  iterate::Periods periods;  ///< of the joint step (codegen/iterate/joint_step.h)
  /// Of the joint step, made by the first call of add_at or record.
  std::shared_ptr<const iterate::StepReach> reach;
  std::string mark;  ///< of the algorithm, for checkpoints: 16 hexadecimal digits
  std::vector<iterate::Sources> sources;
  std::vector<iterate::Receivers> receivers;
  std::vector<Callback> callbacks;
  std::vector<Stability> limits;
  std::optional<Checkpoint> checkpoint;
  std::function<void(std::int64_t, std::int64_t)> progress;
  std::optional<std::string> bar;
  int tile_steps = 1;
  bool tile_is_chosen = false;                ///< by time_tile, whatever it says
  CallSite tile_where = CallSite::current();  ///< of time_tile
  std::optional<CallSite> in_place;           ///< where it was asked for
  std::shared_ptr<Code> code = std::make_shared<Code>();
  std::mutex compiling;  ///< guards the conditions: runs of several threads share them
  std::vector<CompiledCondition> conditions;
  std::mutex tuning;  ///< guards what is tuned: one of several threads asks, the others wait
  std::vector<Tuned> tuned;
  CallSite where = CallSite::current();

  /// The same Iteration with `funcs` in the place of its outputs, copies of them that compute the same,
  /// and so many steps at once. `code`, if there is some, is theirs.
  [[nodiscard]] std::shared_ptr<State> scheduled_as(const std::vector<Func>& funcs, int steps,
                                                    std::shared_ptr<Code> funcs_code = nullptr) const;

  /// The number of the field; UserError if no pair replaces it.
  [[nodiscard]] std::size_t field_number(const ImageParam& field, const CallSite& at) const;
  [[nodiscard]] Output& output_of(const Func& func, const CallSite& at);
  /// The Funcs that replace fields.
  [[nodiscard]] std::vector<Func> funcs() const;
  [[nodiscard]] Compiled compiled_for(const Target& target);
  /// `condition`, compiled. UserErrors as iterate::Condition.
  [[nodiscard]] std::shared_ptr<const iterate::Condition> condition_for(const Expr& condition,
                                                                        const Target& target,
                                                                        const CallSite& at);
  /// What computes patches (codegen/iterate/patches.h), of Funcs whose boxes are `apart` or one.
  [[nodiscard]] std::shared_ptr<const iterate::PatchStep> patch_step_for(const Target& target,
                                                                         bool apart);
  /// `otherwise`: what the caller wants where the levels are not computed tile by tile.
  [[nodiscard]] std::shared_ptr<const Tile> tile_for(const Target& target, const iterate::TileForm& form,
                                                     iterate::Otherwise otherwise);
};

namespace iterate {

/// The Param that step() reads.
const Param<std::int32_t>& step_param();

/// `condition` when it was last evaluated.
struct Judgement {
  bool holds = false;
  double value = 0;  ///< of the left side
};
/// A comparison of two numbers, evaluated by a pipeline of its own. Several threads may use it.
class Condition {
 public:
  /// The directives of `steps`, which say how a step computes them, do not count here. UserError at `at`
  /// if it is no comparison, or has Vars.
  Condition(const Expr& condition, const std::vector<Func>& steps, const Target& target,
            const CallSite& at);
  /// Reads the inputs and Params of `options` that it uses, for the rest what those hold.
  [[nodiscard]] Judgement evaluate(const RunOptions& options) const;
  [[nodiscard]] const Plan& plan() const { return run_.plan(); }
  [[nodiscard]] const Target& target() const { return run_.target(); }

 private:
  Executable run_;
};

/// Says on standard error which limits of stability do not hold.
void warn_of_limits(Iteration::State& s, const std::vector<RunParam>& params);

/// Of the structure, names and constants of all definitions that `functions` reach.
std::uint64_t mark_of(const std::vector<std::shared_ptr<FunctionData>>& functions);

/// Those of `options` that the executable's plan uses.
RunOptions used_by(const Executable& executable, const RunOptions& options);

}  // namespace iterate
}  // namespace mica
