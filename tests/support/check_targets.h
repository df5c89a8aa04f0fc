// Runs a scheduled algorithm on the targets of this machine and holds the results against the oracle.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "fuzz/oracle.h"
#include "fuzz/random_data.h"
#include "runtime/buffer/buffer.h"
#include "runtime/run/target.h"

namespace mica::test {

/// Why Target::cuda() cannot be used here; empty when it can.
std::string why_no_cuda();
/// The GPU emulator, and the first GPU where there is one.
std::vector<Target> gpu_targets();
/// The host and gpu_targets().
std::vector<Target> all_targets();

/// The oracle's values of `outputs` over `box`, Tuple elements one after another.
std::vector<AnyBuffer> expected_values(const std::vector<Func>& outputs, const Box& box);

/// `outputs` as they are scheduled, compiled for `target` at the first match. The disk cache is not used
/// whatever the options are.
class CompiledOutputs {
 public:
  CompiledOutputs(std::vector<Func> outputs, const Target& target, const CompileOptions& options = {});

  /// Runs them into the interior of poisoned memory over `box`, and compares every bit inside with
  /// `expected` and outside with the poison. An exception of the compiler or of the run is a failure
  /// that shows its message and the schedule. Layout::Dense: the outputs' rows are whole pieces of 16
  /// bytes if the box's rows are.
  ::testing::AssertionResult match(const std::vector<AnyBuffer>& expected, const Box& box,
                                   Layout layout = Layout::Embedded);

 private:
  std::vector<Func> outputs_;
  Target target_;
  CompileOptions options_;
  std::unique_ptr<Executable> executable_;
};
/// One match.
::testing::AssertionResult run_matches(const std::vector<AnyBuffer>& expected,
                                       const std::vector<Func>& outputs, const Box& box,
                                       const Target& target, Layout layout = Layout::Embedded,
                                       const CompileOptions& options = {});
/// The same with the oracle's values.
::testing::AssertionResult matches_oracle(const std::vector<Func>& outputs, const Box& box,
                                          const Target& target);
/// The same on each of `targets`, of random inputs that hold what is read of them.
::testing::AssertionResult matches_oracle(const std::vector<Func>& outputs, const Box& box,
                                          const std::vector<ImageParam>& inputs,
                                          const std::vector<Target>& targets);

/// Gives `func` one thread a point: blocks of 32, 16x4 or 8x4x2 threads over its first dimensions,
/// further dimensions and a recurrence's serial in each thread; updates the same over their pure
/// variables.
void schedule_plain_gpu(Func& func);
/// Checks `outputs` over `box` on every target: on the host without directives, then on GPU targets
/// with one thread a point. Directives present before are removed; plain GPU ones stay.
::testing::AssertionResult check_all_targets(const std::vector<Func>& outputs, const Box& box);
::testing::AssertionResult check_all_targets(const Func& output, const Box& box);

}  // namespace mica::test
