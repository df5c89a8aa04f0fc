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

namespace mica {

/// A copy of an algorithm with the schedule that tuning found, and that schedule's name.
struct TunedFunc {
  Func func;
  std::string schedule;
};

/// Is there a store of tuned schedules, or is the environment variable MICA_TUNE set to something else
/// than 0?
bool schedules_are_tuned();

/// The schedule that the store has for `output` on such a target and grid; where it has none and
/// MICA_TUNE is set, the one that tune() finds now, which says so on standard error. Nothing: the
/// compiler chooses. What is wrong with the store is said on standard error.
std::optional<TunedFunc> tuned(const Func& output, const Target& target,
                               const std::vector<std::int64_t>& extents, const RunOptions& options);

/// The step of an Iteration under the schedule that tuning found: copies of its Funcs, in the order of
/// its outputs, and how many steps are taken at once.
struct TunedSteps {
  std::vector<Func> outputs;
  int steps = 1;
};

/// The same as tuned() for a run of an Iteration that computes `boxes`, all of each field or not.
/// `given`: the fields and other inputs of the run, `params` its Params.
std::optional<TunedSteps> tuned_steps(const Iteration::State& state, const Target& target,
                                      const std::vector<iterate::Ranges>& boxes, bool whole,
                                      const std::vector<RunInput>& given,
                                      const std::vector<RunParam>& params);

}  // namespace mica
