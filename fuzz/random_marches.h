// Random legal schedules of blocks that walk a dimension.
#pragma once

#include <optional>
#include <string>

#include "fuzz/random_data.h"
#include "fuzz/test_pipeline.h"

namespace mica::test {

/// The dimension that a Func's blocks walk, and the loop.
struct RandomMarch {
  std::string var, loop;
};

/// Gives `func`, which has blocks of its own, tiles, a march, and with a chance each windows, stages,
/// planes asked for ahead, a scattered sum, an order of blocks and streamed accesses. Nothing for a Func
/// that cannot be marched (one dimension, updates).
std::optional<RandomMarch> march_randomly(const TestPipeline& p, Func& func, Random& random);

/// Is `producer` read by every Func of `p` at planes of `march` + constant only, so that a march of its
/// consumer can keep it?
bool is_read_by_planes(const TestPipeline& p, const Func& producer, const std::string& march);
/// Is it read by `consumer` alone, at the point's own column?
bool is_read_in_the_column(const TestPipeline& p, const Func& producer, const Func& consumer,
                           const std::string& march);

}  // namespace mica::test
