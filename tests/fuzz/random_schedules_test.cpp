// Shared pipelines under random schedules against the oracle. MICA_FUZZ_PAIRS sets how many pairs of
// a pipeline and a schedule each test tries, MICA_FUZZ_SEED the first seed; a failure prints its own
// seed, which with MICA_FUZZ_PAIRS=1 repeats it alone.
#include "fuzz/random_schedules.h"

#include <string>

#include <gtest/gtest.h>

#include "fuzz/known_shapes.h"
#include "tests/support/check_targets.h"
#include "tests/support/environment.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

std::uint64_t pairs() { return number_from_environment("MICA_FUZZ_PAIRS", 25); }
std::uint64_t first_seed() { return number_from_environment("MICA_FUZZ_SEED", 1); }

enum class Side { Host, Gpu };

/// The arrays of a run, but for the outputs' strides.
ArrayDims arrays_of(const TestPipeline& p, const Box& box) {
  ArrayDims arrays;
  for (const ImageParam& input : p.inputs) arrays[input.name()] = input.data()->bound->dims();
  for (const Func& output : p.outputs) {
    if (output.types().size() > 1) continue;
    for (const auto& [min, extent] : box) arrays[output.name()].push_back({min, extent, 1});
  }
  return arrays;
}

void run_pair(std::uint64_t seed, Side side) {
  Random random(seed);
  const PipelineMaker& maker = random.pick(pipeline_makers());
  SCOPED_TRACE("pipeline " + maker.name + ", MICA_FUZZ_SEED=" + std::to_string(seed));
  TestPipeline p = maker.make();
  const Box box = random_box(maker.dimensions, random);
  const auto memory = p.bind(box, random.next(), random.coin() ? Contents::Ordinary : Contents::Special,
                             random.coin() ? Layout::Embedded : Layout::Dense);
  const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
  if (random.below(4) == 0) {
    std::map<std::string, Box> boxes;
    for (const Func& output : p.outputs) boxes[output.name()] = box;
    bound_randomly(p, boxes, /*wild=*/false, random);
  }
  CompileOptions options;
  if (random.below(4) == 0) {
    const ArrayDims arrays = arrays_of(p, box);
    options.bake = bake_of(random_bake(arrays, /*wild=*/false, random), arrays);
    for (const Func& output : p.outputs) {
      std::erase_if(options.bake, [&](const auto& entry) {
        return entry.first.find(output.name() + ".stride.") == 0;
      });
    }
  }
  if (side == Side::Host) {
    schedule_randomly_for_host(p, random);
    EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host(), Layout::Embedded, options));
    return;
  }
  schedule_randomly_for_gpu(p, random);
  for (const Target& target : gpu_targets()) {
    EXPECT_TRUE(run_matches(expected, p.outputs, box, target, Layout::Embedded, options));
  }
}

TEST(RandomSchedules, OnTheHostGiveTheOraclesBits) {
  for (std::uint64_t i = 0; i < pairs(); ++i) run_pair(first_seed() + i, Side::Host);
}

TEST(RandomSchedules, OnGpusGiveTheOraclesBits) {
  for (std::uint64_t i = 0; i < pairs(); ++i) run_pair(first_seed() + i, Side::Gpu);
}

}  // namespace
}  // namespace mica::test
