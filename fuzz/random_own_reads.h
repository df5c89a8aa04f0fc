// Random Funcs that read themselves: recurrences, and updates with colors.
#pragma once

#include <optional>

#include "fuzz/program.h"
#include "fuzz/random_data.h"

namespace mica::test {

/// The indices of the stage's own point.
std::vector<Index> own_point(const ProgramStage& stage);
/// Makes a recurrence of a stage with values and no updates yet: along a random dimension, behind or
/// ahead, over one or two distances. Only a last stage, which is an output, may leave its start open.
/// Along `dim` where that is given.
void add_walk(ProgramStage& stage, bool is_last, std::optional<int> dim, Random& random);
/// Adds an update over all of the stage's dimensions that reads neighbours of other colors.
void add_colored_update(ProgramStage& stage, Random& random);

}  // namespace mica::test
