// The closed figures of a schedule against a count of every access that its loop nest makes.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/analysis/traffic/traffic.h"
#include "dsl/pipeline/func_graph.h"
#include "fuzz/random_schedules.h"
#include "runtime/run/evaluate.h"
#include "tests/passes/lowered.h"
#include "tests/support/count_accesses.h"
#include "tests/support/gpu_schedules.h"

namespace mica::test {
namespace {

Program lowered_pipeline(const TestPipeline& p, const std::string& pass) {
  return lower(make_pipeline(functions_of(p.outputs)), options_for(Backend::Cuda), pass);
}

// Every symbol of the program when its outputs are computed over `box`.
std::map<std::string, std::int64_t> symbols_of(const Program& program, const Box& box) {
  std::map<std::string, std::int64_t> symbols;
  auto set = [&](const std::string& array, std::size_t d, std::int64_t min, std::int64_t extent) {
    symbols[array + ".min." + std::to_string(d)] = min;
    symbols[array + ".extent." + std::to_string(d)] = extent;
  };
  for (const auto& buffer : program.plan.buffers) {
    if (!buffer.is_output) continue;
    for (std::size_t d = 0; d < box.size(); ++d) set(buffer.name, d, box[d].first, box[d].second);
  }
  for (const auto& t : program.plan.temporaries) {
    for (std::size_t d = 0; d < t.mins.size(); ++d) {
      set(t.name, d, evaluate_int(t.mins[d], symbols), evaluate_int(t.extents[d], symbols));
    }
    symbols[t.name + ".origin"] = symbols.at(t.name + ".min.0");
  }
  return symbols;
}

void expect_same(const Moved& closed, const Moved& counted, const char* level) {
  EXPECT_EQ(closed.read, counted.read) << level;
  EXPECT_EQ(closed.written, counted.written) << level;
}

void check(const TestPipeline& p, const Box& box) {
  const Program program = lowered_pipeline(p, "simplify_loops");
  const auto symbols = symbols_of(program, box);
  TrafficOptions keeps_all{{}, symbols, {}}, keeps_none = keeps_all;
  for (const auto& d : box) keeps_all.extents.push_back(d.second);
  keeps_none.extents = keeps_all.extents;
  keeps_all.device.l2_bytes = INT64_MAX;
  keeps_none.device.l2_bytes = 0;
  const Traffic closed = analyse_traffic(program, keeps_all);
  const Traffic by_block = analyse_traffic(program, keeps_none);
  const Program whole = lowered_pipeline(p, {});
  std::size_t k = 0;
  for (const auto& nest : program.nests) {
    if (!nest.on_device) continue;
    SCOPED_TRACE(nest.kernel.name);
    ASSERT_LT(k, closed.kernels.size());
    const KernelTraffic& figures = closed.kernels[k];
    const CountedKernel counted = count_accesses(nest, symbols);
    expect_same(figures.l1, counted.l1, "l1");
    expect_same(figures.shared, counted.shared, "shared");
    expect_same(figures.l2, counted.l2, "l2");
    expect_same(figures.once, counted.once, "once");
    EXPECT_EQ(figures.dram.read, counted.once.read);
    EXPECT_EQ(by_block.kernels[k].dram.read, counted.by_block.read);
    EXPECT_EQ(figures.points, counted.points);
    EXPECT_EQ(figures.operations, counted.operations);
    for (const auto& func : closed.computed) {
      if (!counted.stores.count(func.name)) continue;
      EXPECT_EQ(func.computed, counted.stores.at(func.name)) << func.name;
      EXPECT_EQ(func.distinct, static_cast<std::int64_t>(counted.places.at(func.name).size()));
    }
    for (const auto& launch : whole.plan.launches) {
      if (launch.kernel != nest.kernel.name) continue;
      EXPECT_EQ(figures.shared_bytes, launch.shared_bytes);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(figures.threads[i], launch.block[i]);
        EXPECT_EQ(figures.grid[i], evaluate_int(launch.grid[i], symbols));
      }
    }
    ++k;
  }
  EXPECT_EQ(k, closed.kernels.size());
}

class CountedTraffic : public testing::TestWithParam<GpuCase> {};

TEST_P(CountedTraffic, IsThatOfEveryIteration) {
  const GpuCase& c = GetParam();
  TestPipeline p = c.make();
  c.schedule(p);
  for (const Box& box : gpu_boxes(c.dimensions)) {
    std::string sides;
    for (const auto& d : box) sides += " " + std::to_string(d.first) + "+" + std::to_string(d.second);
    SCOPED_TRACE("box" + sides);
    check(p, box);
  }
}

auto name_of = [](const testing::TestParamInfo<GpuCase>& tested) { return tested.param.name; };
INSTANTIATE_TEST_SUITE_P(Loops, CountedTraffic, testing::ValuesIn(gpu_loop_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Memory, CountedTraffic, testing::ValuesIn(gpu_memory_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, CountedTraffic, testing::ValuesIn(gpu_kernel_cases()), name_of);

// ---- marches ---------------------------------------------------------------------------------------

GpuCase marched(const std::string& name, int radius, const std::function<void(TestPipeline&)>& rest) {
  return {name, 3, [radius] { return star(Float(32), 3, radius); },
          [rest](TestPipeline& p) {
            p.output().gpu_tile("x", "y", 8, 4);
            rest(p);
          }};
}

std::vector<GpuCase> march_cases() {
  auto input = [](TestPipeline& p) { return p.inputs[0]; };
  return {
      marched("plain", 1, [](TestPipeline& p) { p.output().march("z", 4); }),
      marched("whole_columns", 2, [](TestPipeline& p) { p.output().march("z"); }),
      marched("odd_tile", 1,
              [&](TestPipeline& p) {
                p.output().clear_schedule().gpu_tile("x", "y", 7, 3).march("z", 5);
                p.output().stage(p.inputs[0], MemoryType::Shared);
              }),
      marched("window", 2,
              [=](TestPipeline& p) { p.output().march("z", 5).register_window(input(p), "z"); }),
      marched("window_vectors_rows", 1,
              [=](TestPipeline& p) {
                p.output().vectorize("x", 4);
                p.output().unroll("y", 2);
                p.output().march("z", 5).register_window(input(p), "z");
              }),
      marched("stage", 1,
              [=](TestPipeline& p) { p.output().march("z", 4).stage(input(p), MemoryType::Shared); }),
      marched("stage_strided_vectors", 2,
              [=](TestPipeline& p) {
                p.output().vectorize("x", 4);
                p.output().march("z", 4).stage(input(p), MemoryType::Shared, LoadPolicy::Strided);
              }),
      marched("stage_async", 2,
              [=](TestPipeline& p) {
                p.output().vectorize("x", 4);
                p.output().march("z", 4).stage(input(p), MemoryType::Shared, LoadPolicy::AsyncCopy);
                p.output().pipeline(input(p), 2);
              }),
      marched("stage_bulk", 4,
              [=](TestPipeline& p) {
                p.output().march("z", 4).stage(input(p), MemoryType::Shared, LoadPolicy::Bulk);
                p.output().pipeline(input(p), 1);
              }),
      marched("both_ahead", 1,
              [=](TestPipeline& p) {
                p.output().march("z", 6).stage(input(p), MemoryType::Shared);
                p.output().register_window(input(p), "z").pipeline(input(p), 1);
              }),
      marched("scatter_both", 3,
              [=](TestPipeline& p) {
                p.output().march("z", 6).stage(input(p), MemoryType::Shared);
                p.output().register_window(input(p), "z").scatter("z");
              }),
  };
}
INSTANTIATE_TEST_SUITE_P(Marches, CountedTraffic, testing::ValuesIn(march_cases()), name_of);

TEST(CountedTrafficOfAnySchedule, IsThatOfEveryIteration) {
  Random random(23);
  for (int i = 0; i < 30; ++i) {
    const auto& makers = pipeline_makers();
    const PipelineMaker& maker = makers[static_cast<std::size_t>(i) % makers.size()];
    TestPipeline p = maker.make();
    schedule_randomly_for_gpu(p, random);
    const Box box = random_box(maker.dimensions, random);
    SCOPED_TRACE(maker.name + " " + std::to_string(i));
    check(p, box);
  }
}

}  // namespace
}  // namespace mica::test
