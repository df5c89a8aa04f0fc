// Where the taps of a stencil stand.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/random_data.h"

namespace mica::test {

/// Offsets of a stencil's taps in `dims` dimensions, at most `most`: a star, a box or scattered points.
std::vector<std::vector<int>> random_offsets(std::size_t dims, std::int64_t most, Random& random);

}  // namespace mica::test
