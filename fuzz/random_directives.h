// Random schedules of any program.
#pragma once

#include "fuzz/random_data.h"
#include "fuzz/test_pipeline.h"

namespace mica::test {

/// Directives of every kind for any Func of `pipeline` whether legal or not, with loops, sources and
/// sizes that mostly exist.
void add_random_directives(TestPipeline& pipeline, bool gpu, int count, Random& random);

/// A schedule that check_schedule finds nothing wrong with: one of the planned random schedules
/// (random_schedules.h) with what is illegal taken out, then `count` random directives of which those
/// stay that are legal. Funcs whose inlined taps are many are computed at root.
void schedule_legally(TestPipeline& pipeline, bool gpu, int count, Random& random);

}  // namespace mica::test
