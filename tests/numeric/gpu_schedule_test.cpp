// GPU schedules on the emulator, which also finds races, uninitialised shared memory and indices out
// of range; and on the GPU where there is one.
#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/gpu_schedules.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

class GpuSchedule : public ::testing::TestWithParam<GpuCase> {};

TEST_P(GpuSchedule, GivesTheOraclesBits) {
  TestPipeline p = GetParam().make();
  GetParam().schedule(p);
  std::vector<CompiledOutputs> compiled;
  for (const Target& target : gpu_targets()) compiled.emplace_back(p.outputs, target);
  for (const Box& box : gpu_boxes(GetParam().dimensions)) {
    const auto memory = p.bind(box, 1);
    const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
    for (CompiledOutputs& one : compiled) EXPECT_TRUE(one.match(expected, box));
  }
}

INSTANTIATE_TEST_SUITE_P(Loops, GpuSchedule, ::testing::ValuesIn(gpu_loop_cases()), case_name<GpuCase>);
INSTANTIATE_TEST_SUITE_P(Memory, GpuSchedule, ::testing::ValuesIn(gpu_memory_cases()),
                         case_name<GpuCase>);
INSTANTIATE_TEST_SUITE_P(Kernels, GpuSchedule, ::testing::ValuesIn(gpu_kernel_cases()),
                         case_name<GpuCase>);

/// The same directives on the host: block and thread loops become loops there.
TEST_P(GpuSchedule, IsALegalHostScheduleToo) {
  const Box box = gpu_boxes(GetParam().dimensions).front();
  TestPipeline p = GetParam().make();
  const auto memory = p.bind(box, 2);
  const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
  GetParam().schedule(p);
  EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host()));
}

}  // namespace
}  // namespace mica::test
