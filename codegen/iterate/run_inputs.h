// Buffers that a run of an Iteration is given, and the points that they let a step compute.
#pragma once

#include <vector>

#include "codegen/iterate/iteration_state.h"

namespace mica::iterate {

/// The user's buffers of the fields, in the order of the pairs. UserErrors at `at`: a field that is
/// missing, given twice, shares memory with another, or has another box than the one that it takes
/// values from.
std::vector<AnyBuffer> buffers_of(const Iteration::State& s, const std::vector<RunInput>& given,
                                  const CallSite& at);

/// The boxes that a step computes, by output. UserErrors: an input that is not set, `over` beyond the
/// buffers, no point left.
std::vector<Ranges> stepped_boxes(const Iteration::State& s, const Plan& plan,
                                  const std::vector<AnyBuffer>& fields,
                                  const std::vector<RunInput>& given,
                                  const std::vector<RunParam>& params, const CallSite& at);

}  // namespace mica::iterate
