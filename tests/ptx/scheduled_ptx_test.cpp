// The PTX of every scheduled pipeline of the GPU tests, judged by ptxas for sm_90.
#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "codegen/lower.h"
#include "dsl/pipeline/func_graph.h"
#include "dsl/pipeline/pipeline.h"
#include "schedules/registry.h"
#include "tests/ptx/ptxas.h"
#include "tests/support/gpu_schedules.h"

namespace mica::test {
namespace {

std::string device_ptx(const std::vector<Func>& outputs, const Variant& variant) {
  const LowerOptions options{Target{Backend::Cuda, 0}, variant, {}, DeviceLimits{}};
  ir::Module all = to_module(lower(make_pipeline(functions_of(outputs)), options)), device;
  for (const auto& kernel : all.kernels) {
    if (kernel.on_device) device.kernels.push_back(kernel);
  }
  return device.kernels.empty() ? "" : llvm_backend::emit_ptx(device, 90, 0);
}

void expect_clean(const std::vector<Func>& outputs, const Variant& variant) {
  const std::string ptx = device_ptx(outputs, variant);
  if (ptx.empty()) return;
  const Assembled result = assemble(ptx, 90);
  if (!result.available) GTEST_SKIP() << "there is no ptxas";
  EXPECT_TRUE(result.ok) << result.output << ptx;
  EXPECT_EQ(result.largest("bytes spill stores"), 0) << result.output;
}

class ScheduledPtx : public ::testing::TestWithParam<GpuCase> {};

TEST_P(ScheduledPtx, AssemblesWithoutSpills) {
  TestPipeline p = GetParam().make();
  GetParam().schedule(p);
  expect_clean(p.outputs, {});
}

INSTANTIATE_TEST_SUITE_P(Loops, ScheduledPtx, ::testing::ValuesIn(gpu_loop_cases()),
                         [](const auto& c) { return c.param.name; });
INSTANTIATE_TEST_SUITE_P(Memory, ScheduledPtx, ::testing::ValuesIn(gpu_memory_cases()),
                         [](const auto& c) { return c.param.name; });
INSTANTIATE_TEST_SUITE_P(Kernels, ScheduledPtx, ::testing::ValuesIn(gpu_kernel_cases()),
                         [](const auto& c) { return c.param.name; });

TEST(ScheduledPtx, NamedSchedulesAssembleInEveryVariant) {
  for (const auto& recipe : schedules::registry()) {
    if (!recipe.on_gpu) continue;
    for (int v = 0; v < 16; ++v) {
      TestPipeline p = recipe.name.starts_with("blur/")
                           ? blur()
                           : star(Float(32), recipe.max_dimensions > 2 ? 3 : 2, 1);
      schedules::Parameters parameters;
      for (const auto& q : recipe.parameters) {
        if (q.name == "vec") parameters["vec"] = 4;
      }
      schedules::apply(p.output(), recipe.name, parameters);
      const Variant variant{(v & 1) != 0, (v & 2) != 0, (v & 4) != 0, (v & 8) != 0};
      SCOPED_TRACE(recipe.name + " variant " + std::to_string(v));
      expect_clean(p.outputs, variant);
      if (::testing::Test::IsSkipped()) return;
    }
  }
}

}  // namespace
}  // namespace mica::test
