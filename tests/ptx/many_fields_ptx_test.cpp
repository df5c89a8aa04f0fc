// Pipelines of many fields: a point's hundreds of taps in registers.
#include <string>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "codegen/compile.h"
#include "schedules/registry.h"
#include "tests/passes/lowered.h"
#include "tests/ptx/ptxas.h"

namespace mica::test {
namespace {

struct Fitting {
  std::string algorithm;
  schedules::Parameters parameters;
};

TEST(ManyFieldsPtx, FitInFewRegisters) {
  for (const auto& [algorithm, parameters] :
       {Fitting{"mhd", {{"registers", 96}}}, Fitting{"mhd", {{"registers", 168}, {"vec", 2}}},
        Fitting{"mhd-f64", {{"registers", 168}, {"block_y", 4}}}}) {
    bench::Algorithm a = bench::make_algorithm(algorithm);
    schedules::apply(a.output, "mhd/substep", parameters);
    const std::string ptx = compile_to_ptx(a.output, 90);
    const Assembled result = assemble(ptx, 90);
    if (!result.available) GTEST_SKIP() << "there is no ptxas";
    EXPECT_TRUE(result.ok) << result.output;
    EXPECT_LE(result.largest("bytes spill stores"), 32) << algorithm << "\n" << result.output;
  }
}

// Eight steps would be more than the cache of instructions holds.
TEST(ManyFieldsPtx, StepsOfManyLoadsAreNotWrittenOutToTheRingsPeriod) {
  bench::Algorithm a = bench::make_algorithm("mhd-f64");
  schedules::apply(a.output, "mhd/substep", {{"chunk", 64}, {"staged", 6}});
  EXPECT_LT(count(compile_to_ptx(a.output, 90), "ld.shared"), 2000);
}

}  // namespace
}  // namespace mica::test
