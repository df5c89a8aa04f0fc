// A case as the step of an Iteration: the outputs' values replace inputs, again and again.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fuzz/fuzz_case.h"

namespace mica::test {

/// Which input each value of the case's outputs, in their order, replaces: one of its type and
/// dimensions that holds its output's box, and no other value's. Nothing if the case has no such inputs.
std::optional<std::vector<std::size_t>> step_fields(const FuzzCase& drawn);
/// The box of each of them, and its output's number and its own of that output's values.
struct StepValue {
  std::size_t output = 0;
  int element = 0;
  Box box;
};
std::vector<StepValue> step_values(const FuzzCase& drawn);

/// Carries out drawn.steps, in some cases with sources and receivers (fuzz/step_places.h), on copies of
/// the inputs and compares all of the fields with the oracle's; then the same with a checkpoint in the
/// middle, from which a second run goes on in other memory, and which is refused where it is cut or
/// changed. Same for a case without step_fields. What an Iteration refuses (time tiles of updates, say)
/// is Refused.
Outcome run_in_steps(const FuzzCase& drawn, const BoundCase& bound);

}  // namespace mica::test
