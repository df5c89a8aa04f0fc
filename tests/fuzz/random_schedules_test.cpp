// Shared pipelines under random schedules against the oracle; random_pairs.h says how many.
#include <string>

#include <gtest/gtest.h>

#include "fuzz/known_shapes.h"
#include "tests/fuzz/random_pairs.h"

namespace mica::test {
namespace {

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
  SCOPED_TRACE(trace_of(maker, seed));
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
  for (const Target& target : schedule_for(side, p, random)) {
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
