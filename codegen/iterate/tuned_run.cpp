// What tuning found for a run of an Iteration.
#include <algorithm>

#include "codegen/iterate/level_marches.h"
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
  for (const auto& func : collect_graph(functions_of(state.funcs())).funcs) {
    for (const Definition& definition : func->definitions) {
      if (!definition.directives.empty() || !definition.specializations.empty()) return false;
    }
  }
  return true;
}

/// Compiles the step as it was tuned. False where it is refused (the user did not write it, so that is
/// no error of the user's), and where nobody has `measured` it and it needs too many registers.
bool compile_tuned(const Iteration::State& state, const RunSetup& setup, Tuned& tuned, bool measured) {
  tuned.code = std::make_shared<Iteration::State::Code>();
  try {
    const auto run = state.scheduled_as(tuned.outputs, tuned.steps, tuned.code);
    (void)run->compiled_for(tuned.target);
    if (tuned.steps == 1) return true;
    const auto tile = setup.tile_of(*run, tuned.steps);
    if (!tile->why.empty()) tuned.steps = 1;
    return measured || (tuned.steps > 1 && fits_registers(tile->executable));
  } catch (const UserError&) {
    return false;
  }
}

/// Compiles the first that will do of what was found, as soon as that pays.
void compile_found(const Iteration::State& state, const RunSetup& setup, Tuned& tuned) {
  constexpr std::size_t kMostTries = 3;
  if (tuned.found == nullptr) return;
  const std::shared_ptr<const TunedRun> found = tuned.found;
  if (tuned.ran < found->pays_after) return;
  tuned.found = nullptr;
  for (std::size_t i = 0; i < std::min(found->ways.size(), kMostTries); ++i) {
    tuned.outputs = found->ways[i].outputs;
    tuned.steps = found->ways[i].steps;
    if (compile_tuned(state, setup, tuned, found->measured)) return;
    tuned.outputs.clear();
  }
}

}  // namespace

std::shared_ptr<Iteration::State> tuned_for_run(const std::shared_ptr<Iteration::State>& state,
                                                const RunSetup& setup, std::int64_t at_once) {
  const Target& target = setup.target();
  if (at_once < 1 || !may_be_tuned()) return state;
  const bool whole = setup.is_whole();
  const std::lock_guard lock(state->tuning);
  auto known = std::find_if(state->tuned.begin(), state->tuned.end(), [&](const Tuned& tuned) {
    return tuned.target == target && tuned.whole == whole && tuned.boxes == setup.boxes();
  });
  if (known == state->tuned.end()) {
    known = state->tuned.insert(known, {.target = target, .boxes = setup.boxes(), .whole = whole});
    known->asks_after = asks_after(state->funcs(), points_in(setup.boxes().front()), target);
  }
  known->ran += static_cast<double>(at_once);
  // Of most runs nothing better is known, and nothing more is asked.
  const bool is_all = !known->asks_after && known->found == nullptr && known->outputs.empty();
  if (is_all || known->ran < known->asks_after.value_or(0) || !is_free(*state)) return state;
  if (known->asks_after) {
    known->found = std::make_shared<const TunedRun>(tuned_steps(*state, setup));
    known->asks_after.reset();
  }
  compile_found(*state, setup, *known);
  if (known->outputs.empty()) return state;
  const auto patches = find_patches(*state, known->steps, setup.fields(), setup.box(), setup.options());
  const bool several = known->steps <= at_once && patches.why.empty();
  // The step of a tile is no schedule for single ones.
  if (known->steps > 1 && !several) return state;
  return state->scheduled_as(known->outputs, known->steps, known->code);
}

}  // namespace mica::iterate
