// What realize, and Iteration::run, ask about Funcs that have no directive at all. The answers are those
// of schedules/tune, which stands above this layer: schedules/tune/tuned.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/iterate/iteration_state.h"
#include "dsl/func/func.h"
#include "runtime/run/run_options.h"
#include "runtime/run/target.h"

namespace mica::iterate {
class RunSetup;  // codegen/iterate/run_setup.h
}

namespace mica {

/// A copy of an algorithm with the schedule that tuning found, and that schedule's name.
struct TunedFunc {
  Func func;
  std::string schedule;
  /// Runs from which on it is worth compiling beside the compiler's choice, those that were included.
  double pays_after = 0;
};

/// May a schedule other than the compiler's choice come from here? A model may choose one, if the
/// environment variable MICA_TUNE is not 0, and there may be a store of tuned schedules.
bool may_be_tuned();

/// Runs, or steps, of Funcs of so many points before which nothing that the model could choose would
/// have saved the time of compiling it: until then nobody need ask. 0 where the answer is known at once,
/// or asked for: on the CPU, where there is a store of tuned schedules, and where MICA_TUNE is set.
double asks_after(const std::vector<Func>& outputs, std::int64_t points, const Target& target);

/// The schedule that the store has for `output` on such a target and the grid of its arrays `outputs`,
/// one for each of its values, of their types; where it has none and
/// MICA_TUNE is set, the one that tune() finds now, which says so on standard error; else the one that
/// the model takes for clearly faster than the compiler's choice (schedules/tune/usual.h), at once where
/// MICA_TUNE is "model". Nothing: the compiler chooses. What is wrong with the store is said on standard
/// error.
std::optional<TunedFunc> tuned(const Func& output, const Target& target,
                               const std::vector<AnyBuffer*>& outputs, const RunOptions& options);

/// The step of an Iteration under a schedule that tuning found, or that the model chose: copies of its
/// Funcs, in the order of its outputs, and how many steps are taken at once.
struct TunedSteps {
  std::vector<Func> outputs;
  int steps = 1;
};
struct TunedRun {
  std::vector<TunedSteps> ways;  ///< the best first; none: the compiler chooses
  bool measured = true;          ///< else they are the model's choices
  double pays_after = 0;         ///< steps, as TunedFunc::pays_after
};

/// The same as tuned() for a run of an Iteration. Of several the model takes the first for the fastest,
/// as far as registers hold what it keeps; the assembler alone knows that.
TunedRun tuned_steps(const Iteration::State& state, const iterate::RunSetup& run);

}  // namespace mica
