// What the tests that draw a shared pipeline and a schedule have in common: MICA_FUZZ_PAIRS sets how
// many pairs each tries, MICA_FUZZ_SEED the first seed; a failure prints its own seed, which with
// MICA_FUZZ_PAIRS=1 repeats it alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/random_schedules.h"
#include "tests/support/check_targets.h"
#include "tests/support/environment.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {

inline std::uint64_t pairs() { return number_from_environment("MICA_FUZZ_PAIRS", 25); }
inline std::uint64_t first_seed() { return number_from_environment("MICA_FUZZ_SEED", 1); }

enum class Side { Host, Gpu };

/// What a failure of this pair says first.
inline std::string trace_of(const PipelineMaker& maker, std::uint64_t seed) {
  return "pipeline " + maker.name + ", MICA_FUZZ_SEED=" + std::to_string(seed);
}

/// Gives `p` a random schedule for one side, and returns the targets to run it on.
inline std::vector<Target> schedule_for(Side side, TestPipeline& p, Random& random) {
  if (side == Side::Host) {
    schedule_randomly_for_host(p, random);
    return {Target::host()};
  }
  schedule_randomly_for_gpu(p, random);
  return gpu_targets();
}

}  // namespace mica::test
