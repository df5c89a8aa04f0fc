// What a run of an Iteration works on, found out and checked before its first step.
#pragma once

#include <vector>

#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration_state.h"

namespace mica::iterate {

/// The user's buffers of the fields, in the order of the pairs. UserErrors: one that is missing, given
/// twice, shares memory with another, or has another box than the one that it takes values from.
std::vector<AnyBuffer> buffers_of(const Iteration::State& s, const std::vector<RunInput>& given,
                                  const CallSite& at);

/// The boxes that a step computes, by output. UserErrors: an input that is not set, `over` beyond the
/// buffers, no point left.
std::vector<Ranges> stepped_boxes(const Iteration::State& s, const Plan& plan,
                                  const std::vector<AnyBuffer>& fields,
                                  const std::vector<RunInput>& given,
                                  const std::vector<RunParam>& params, const CallSite& at);

/// What replaces each field after one step that runs `plan` over `boxes`.
std::vector<FieldRule> rules_of(const Iteration::State& s, const Plan& plan,
                                const std::vector<Ranges>& boxes, const CallSite& at);

/// Says on standard error which limits of stability do not hold.
void warn_of_limits(Iteration::State& s, const std::vector<RunParam>& params);

}  // namespace mica::iterate
