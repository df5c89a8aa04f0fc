// Candidates for the step of an Iteration, run and timed on shadows of the fields.
#pragma once

#include <memory>

#include "codegen/iterate/run_setup.h"
#include "schedules/tune/trials.h"

namespace mica::tuning {

/// `setup`: of a run on the user's fields, which are read and never written; it outlives the trials, as
/// `subject` does. Several steps at once that would be computed one after the other are refused.
std::unique_ptr<Trials> trials_of_steps(const Subject& subject, const iterate::RunSetup& setup);

}  // namespace mica::tuning
