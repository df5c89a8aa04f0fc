// Steps of two Iterations, compared bit by bit.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration.h"
#include "fuzz/random_data.h"
#include "tests/support/compare.h"

namespace mica::test {

inline AnyBuffer random_over(Type type, const Box& box, std::uint64_t seed) {
  AnyBuffer buffer = buffer_over(type, box);
  fill_random(buffer, seed);
  return buffer;
}

/// Fields after each of `numbers` single steps by `plain` and after as many by `tiled`, in tiles of
/// `tile`.
inline void expect_same(Iteration& plain, Iteration& tiled, const std::vector<ImageParam>& fields,
                        const std::vector<RunInput>& others, const Box& box, int tile,
                        const std::vector<int>& numbers, const Target& target) {
  tiled.time_tile(tile);
  for (const int steps : numbers) {
    std::vector<RunInput> single = others, several = others;
    std::vector<AnyBuffer> a, b;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      a.push_back(random_over(fields[f].type(), box, 11 + f));
      b.push_back(a.back().copy());
      single.emplace_back(fields[f], a.back());
      several.emplace_back(fields[f], b.back());
    }
    plain.run(single, steps, {.target = target});
    tiled.run(several, steps, {.target = target});
    for (std::size_t f = 0; f < fields.size(); ++f) {
      EXPECT_TRUE(same_bits(a[f], b[f]))
          << fields[f].name() << " after " << steps << " steps on " << to_string(target);
    }
  }
}

}  // namespace mica::test
