// Other maps of a coordinate than x + c.
#pragma once

#include "fuzz/program.h"
#include "fuzz/random_data.h"

namespace mica::test {

/// An i32 near an end of its range.
int extreme_integer(Random& random);
/// Scales, divides, wraps, cuts or holds the variable of `index`, or takes it away.
void bend(Index& index, Random& random);
/// Makes what `index` looks up, an integer of `bits`, name at most 32 places.
void narrow(Index& index, int bits, Random& random);

}  // namespace mica::test
