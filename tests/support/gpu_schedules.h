// GPU schedules that the emulator's tests and the GPU's tests share.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {

/// A pipeline under one GPU schedule.
struct GpuCase {
  std::string name;
  int dimensions;
  std::function<TestPipeline()> make;
  std::function<void(TestPipeline&)> schedule;
};
void PrintTo(const GpuCase& c, std::ostream* out);

/// Blocks and threads by gpu_tile, by hand, with several points a thread, with each tail strategy.
std::vector<GpuCase> gpu_loop_cases();
/// Inputs and producers held for the block in shared memory, by stage (each load policy), compute_at
/// and wrappers; producers in registers of a thread.
std::vector<GpuCase> gpu_memory_cases();
/// Several kernels, several outputs, updates, resource hints.
std::vector<GpuCase> gpu_kernel_cases();

/// Odd boxes with negative mins for pipelines of `dimensions`: smaller than a block, about one block,
/// several blocks, and single points.
std::vector<Box> gpu_boxes(int dimensions);

}  // namespace mica::test
