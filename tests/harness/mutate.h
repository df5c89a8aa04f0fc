// Inputs made from others by small changes.
#pragma once

#include <string>
#include <vector>

#include "fuzz/random_data.h"

namespace mica::test {

/// One of `seeds` with up to eight changes: bits, bytes, numbers and pieces of text replaced, left out,
/// repeated or taken from another seed. The same for the same random numbers.
std::string mutated(const std::vector<std::string>& seeds, Random& random);

}  // namespace mica::test
