// Expressions that are used several times.
#pragma once

#include "fuzz/program.h"
#include "fuzz/random_data.h"

namespace mica::test {

/// Takes a part of the values of `stage`, makes a chain of it whose links each use the one before twice,
/// or leaves it as it is, and uses that in several places.
void share_terms(ProgramStage& stage, Random& random);

}  // namespace mica::test
