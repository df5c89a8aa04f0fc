// Boundary conditions of inputs and Funcs.
#pragma once

#include <optional>

#include "fuzz/program.h"
#include "fuzz/random_data.h"

namespace mica::test {

/// Is this source read by a boundary condition?
bool has_boundary(const Program& program, int source);
/// A condition of an input other than `not_this` or of a stage of one value, other than those there are;
/// nothing if there is no such source.
std::optional<ProgramStage> random_boundary(const Program& program, int not_this, Random& random);

}  // namespace mica::test
