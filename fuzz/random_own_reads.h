// Random Funcs that read themselves: recurrences, and updates with colors.
#pragma once

#include "fuzz/program.h"
#include "fuzz/random_data.h"

namespace mica::test {

/// Makes a recurrence of a stage with values and no updates yet: along a random dimension, behind or
/// ahead, over one or two distances. Only a last stage, which is an output, may leave its start open.
void add_walk(ProgramStage& stage, bool is_last, Random& random);
/// Adds an update over all of the stage's dimensions that reads neighbours of other colors.
void add_colored_update(ProgramStage& stage, Random& random);

}  // namespace mica::test
