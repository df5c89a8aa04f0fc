// What an Iteration's handles stand for.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration.h"
#include "codegen/iterate/places.h"
#include "codegen/iterate/stepped_boxes.h"
#include "runtime/run/executable.h"

namespace mica {

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
  };

  std::vector<Replacement> replacements;
  std::vector<Output> outputs;
  std::unique_ptr<const iterate::StepReads> reads;
  std::string mark;  ///< of the algorithm, for checkpoints
  std::vector<iterate::Sources> sources;
  std::vector<iterate::Receivers> receivers;
  std::vector<Callback> callbacks;
  std::vector<Stability> limits;
  std::optional<Checkpoint> checkpoint;
  std::function<void(std::int64_t, std::int64_t)> progress;
  std::optional<std::string> bar;
  int tile_steps = 1;
  CallSite tile_where = CallSite::current();  ///< of time_tile
  std::mutex compiling;  ///< guards the members below: runs of several threads share them
  std::vector<Compiled> compiled;
  /// A condition of run_until, for the target and the schedules that it was compiled for.
  struct CompiledCondition {
    Expr condition;
    Target target;
    Schedule schedule;
    Executable judge;
  };
  std::vector<CompiledCondition> conditions;  ///< the last ones, the newest last
  /// A time tile, for the target, steps and stepped box (all of each field or not) that it was made for.
  struct Tile;
  std::vector<std::shared_ptr<const Tile>> tiles;
  CallSite where = CallSite::current();

  /// The number of the field; UserError if no pair replaces it.
  [[nodiscard]] std::size_t field_number(const ImageParam& field, const CallSite& at) const;
  [[nodiscard]] Output& output_of(const Func& func, const CallSite& at);
  [[nodiscard]] Compiled compiled_for(const Target& target);
  [[nodiscard]] std::shared_ptr<const Tile> tile_for(const Target& target, bool whole);
  /// A pipeline of {does the comparison hold, its left side}. The directives of the Funcs that replace
  /// fields, which say how a step computes them, do not count in it. UserError at `at` if `condition` is
  /// no comparison, or has Vars.
  [[nodiscard]] Executable condition_for(const Expr& condition, const Target& target,
                                         const CallSite& at);
};

namespace iterate {

/// The Param that step() reads.
const Param<std::int32_t>& step_param();

/// `condition` when it was last evaluated.
struct Judgement {
  bool holds = false;
  double value = 0;  ///< of the left side
};
/// A comparison of two numbers, evaluated by a pipeline of its own.
class Condition {
 public:
  explicit Condition(Executable judge);
  /// Reads the inputs and Params of `options` that it uses, for the rest what those hold.
  Judgement evaluate(const RunOptions& options);
  [[nodiscard]] const Plan& plan() const { return run_.plan(); }

 private:
  Executable run_;
  AnyBuffer holds_, value_;
};

/// Those of `options` that the executable's plan uses.
RunOptions used_by(const Executable& executable, const RunOptions& options);

}  // namespace iterate
}  // namespace mica
