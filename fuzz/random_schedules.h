// Random legal schedules, for tests that hold many of them against the oracle.
#pragma once

#include "fuzz/random_data.h"
#include "fuzz/test_pipeline.h"

namespace mica::test {

/// Gives every Func of `pipeline` a compute level and loop directives that are legal on the host.
void schedule_randomly_for_host(TestPipeline& pipeline, Random& random);
/// The same with blocks, threads and shared memory.
void schedule_randomly_for_gpu(TestPipeline& pipeline, Random& random);
/// A box of 1 to about 40 points a side with random mins, smaller in more dimensions.
Box random_box(int dimensions, Random& random);

}  // namespace mica::test
