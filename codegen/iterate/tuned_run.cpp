// What tuning found for a run of an Iteration.
#include <algorithm>

#include "codegen/iterate/run_setup.h"
#include "codegen/iterate/time_levels.h"
#include "codegen/tuned.h"
#include "dsl/pipeline/func_graph.h"

namespace mica::iterate {
namespace {

using Tuned = Iteration::State::Tuned;

/// Is all about the step left to the compiler?
bool is_free(const Iteration::State& state) {
  if (state.tile_is_chosen || state.in_place) return false;
  std::vector<std::shared_ptr<FunctionData>> functions;
  for (const Func& f : state.funcs()) functions.push_back(f.function());
  for (const auto& func : collect_graph(functions).funcs) {
    for (const Definition& definition : func->definitions) {
      if (!definition.directives.empty() || !definition.specializations.empty()) return false;
    }
  }
  return true;
}

/// Compiles the step as it was tuned. What the user did not write is no error of the user's: the
/// compiler chooses, then.
void compile_tuned(const Iteration::State& state, Tuned& tuned, bool in_lines) {
  tuned.code = std::make_shared<Iteration::State::Code>();
  try {
    const auto run = state.scheduled_as(tuned.outputs, tuned.steps, tuned.code);
    (void)run->compiled_for(tuned.target);
    if (tuned.steps > 1 && !run->tile_for(tuned.target, tuned.whole, in_lines)->compiled.why.empty()) {
      tuned.steps = 1;
    }
  } catch (const UserError&) {
    tuned.outputs.clear();
  }
}

}  // namespace

std::shared_ptr<Iteration::State> tuned_for_run(const std::shared_ptr<Iteration::State>& state,
                                                const RunSetup& setup, std::int64_t at_once) {
  if (at_once < 1 || !schedules_are_tuned() || !is_free(*state)) return state;
  const Target& target = setup.target();
  const bool whole = setup.is_whole();
  const std::lock_guard lock(state->tuning);
  auto known = std::find_if(state->tuned.begin(), state->tuned.end(), [&](const Tuned& tuned) {
    return tuned.target == target && tuned.whole == whole && tuned.boxes == setup.boxes();
  });
  if (known == state->tuned.end()) {
    known = state->tuned.insert(known, {target, setup.boxes(), whole, {}, 1, nullptr});
    auto found = tuned_steps(*state, target, setup.boxes(), whole, setup.options().inputs,
                             setup.options().params);
    if (found) {
      known->outputs = std::move(found->outputs);
      known->steps = found->steps;
      compile_tuned(*state, *known, setup.has_lines());
    }
  }
  if (known->outputs.empty()) return state;
  const bool several = known->steps <= at_once && state->sources.empty() && state->receivers.empty();
  return state->scheduled_as(known->outputs, several ? known->steps : 1, known->code);
}

}  // namespace mica::iterate
