// The schedules of tests/support/gpu_schedules.h on the GPU of this machine.
#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/gpu_schedules.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

class CudaSchedule : public ::testing::TestWithParam<GpuCase> {
 protected:
  void SetUp() override {
    if (!why_no_cuda().empty()) GTEST_SKIP() << why_no_cuda();
  }
};

TEST_P(CudaSchedule, GivesTheOraclesBits) {
  for (const Box& box : gpu_boxes(GetParam().dimensions)) {
    TestPipeline p = GetParam().make();
    const auto memory = p.bind(box, 3, Contents::Special);
    const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
    GetParam().schedule(p);
    EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::cuda()));
  }
}

INSTANTIATE_TEST_SUITE_P(Loops, CudaSchedule, ::testing::ValuesIn(gpu_loop_cases()), case_name<GpuCase>);
INSTANTIATE_TEST_SUITE_P(Memory, CudaSchedule, ::testing::ValuesIn(gpu_memory_cases()),
                         case_name<GpuCase>);
INSTANTIATE_TEST_SUITE_P(Kernels, CudaSchedule, ::testing::ValuesIn(gpu_kernel_cases()),
                         case_name<GpuCase>);

}  // namespace
}  // namespace mica::test
