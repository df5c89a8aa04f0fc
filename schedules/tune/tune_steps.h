// tune() of an Iteration's step, below its handle.
#pragma once

#include <memory>
#include <vector>

#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/run_setup.h"
#include "schedules/tune/store.h"
#include "schedules/tune/subject.h"
#include "schedules/tune/tune.h"

namespace mica::tuning {

std::vector<std::int64_t> extents_of(const iterate::Ranges& box);
/// The same Iteration without directives, and without what only the user's own runs do: callbacks,
/// checkpoints, sources, receivers, bars.
std::shared_ptr<Iteration::State> bare(const Iteration::State& state);
/// The step of `state`, whose run is `setup`; `plain` is bare(state).
Subject subject_of(const Iteration::State& state, const std::shared_ptr<Iteration::State>& plain,
                   const iterate::RunSetup& setup, const CallSite& at);
/// What the store knows the step by. `boxes`: those that it computes; `whole`: all points of each field.
TunedKey step_key(const Iteration::State& state, const std::vector<iterate::Ranges>& boxes, bool whole,
                  const Target& target);
TuneResult tune_steps(Iteration::State& state, const std::vector<RunInput>& fields,
                      const TuneOptions& options, const CallSite& at);

}  // namespace mica::tuning
