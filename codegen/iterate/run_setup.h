// What a run of an Iteration works on, found out and checked before its first step.
#pragma once

#include <memory>
#include <vector>

#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/step_runs.h"

namespace mica::iterate {

/// The user's buffers of the fields, in the order of the pairs. UserErrors: one that is missing, given
/// twice, shares memory with another, or has another box than the one that it takes values from.
std::vector<AnyBuffer> buffers_of(const Iteration::State& s, const std::vector<RunInput>& given,
                                  const CallSite& at);

/// What all steps of a run read: first the `fields`, in the order of the pairs, then what else it was
/// `given`, and, of what it was not given, what inputs and Params hold now.
RunOptions options_of(const Iteration::State& s, const Plan& plan, const std::vector<AnyBuffer>& fields,
                      const std::vector<RunInput>& given, const std::vector<RunParam>& params,
                      const CallSite& at);

/// UserError for an input or a Param of `given`, whose first inputs are `fields` fields, that neither
/// the step nor `until`, if there is one, uses.
void check_used(const Iteration::State& s, const Plan& plan, const RunOptions& given, std::size_t fields,
                const Plan* until);

/// The boxes that a step computes, by output. UserErrors: an input that is not set, `over` beyond the
/// buffers, no point left.
std::vector<Ranges> stepped_boxes(const Iteration::State& s, const Plan& plan,
                                  const std::vector<AnyBuffer>& fields,
                                  const std::vector<RunInput>& given,
                                  const std::vector<RunParam>& params, const CallSite& at);

/// What replaces each field after one step that runs `plan` over `boxes`.
std::vector<FieldRule> rules_of(const Iteration::State& s, const Plan& plan,
                                const std::vector<Ranges>& boxes, const CallSite& at);

/// Steps one by one: `step` over `boxes`.
StepPlan single_steps(const Iteration::State& s, const Executable& step,
                      const std::vector<Ranges>& boxes, const CallSite& at);

/// As many steps at once as time_tile says; null: they are computed one by one, and a note on standard
/// error says why, if several were asked for. `inputs`: as options_of has them; `moves`: FieldBuffers
/// decides which memory the fields are in.
std::unique_ptr<StepPlan> time_tiles(Iteration::State& s, const Target& target, const StepPlan& single,
                                     const std::vector<Ranges>& boxes,
                                     const std::vector<RunInput>& inputs, bool moves,
                                     const CallSite& at);

/// Says on standard error which limits of stability do not hold.
void warn_of_limits(Iteration::State& s, const std::vector<RunParam>& params);

}  // namespace mica::iterate
