// The benchmarks' sweeps, cycles and filters of whole programs: under their named schedules they have
// the oracle's bits, and so has what goes through the device slab by slab.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "bench/cases.h"
#include "bench/streamed.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

/// Inputs of outputs of `size` points along each side, set on the algorithm.
std::vector<AnyBuffer> set_inputs(bench::Algorithm& algorithm, std::int64_t size) {
  std::vector<AnyBuffer> inputs;
  for (ImageParam& input : algorithm.inputs) {
    inputs.push_back(AnyBuffer::with_halo(input.type(), algorithm.extents(size),
                                          {algorithm.halo.begin(), algorithm.halo.end()}));
    fill_random(inputs.back(), inputs.size());
    input.set(inputs.back());
  }
  return inputs;
}

Box box_of(const bench::Algorithm& algorithm, std::int64_t size) {
  Box box;
  for (const std::int64_t extent : algorithm.extents(size)) box.emplace_back(0, extent);
  return box;
}

const bench::Case& case_named(const std::string& name) {
  for (const bench::Case& c : bench::cases()) {
    if (c.name == name) return c;
  }
  throw InternalError("no case " + name);
}

class BenchProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(BenchProgram, HasTheOraclesBits) {
  const bench::Case& c = case_named(GetParam());
  for (const std::int64_t size : {9, 70}) {
    bench::Algorithm algorithm = bench::make_algorithm(c.algorithm);
    if (size > 9 && algorithm.output.dimensions() > 2) continue;
    const auto inputs = set_inputs(algorithm, size);
    const Box box = box_of(algorithm, size);
    const auto expected = expected_values({algorithm.output}, box);
    bench::apply_named(algorithm, c.schedule, c.parameters);
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, {algorithm.output}, box, target)) << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BenchProgram,
                         ::testing::Values("jacobi2d/overlapped-copy", "cfd/jacobi", "cfd/red-black",
                                           "multigrid/vcycle", "image/local-laplacian"),
                         [](const auto& c) {
                           std::string name = c.param;
                           for (char& letter : name) {
                             if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
                           }
                           return name;
                         });

TEST(StreamedRuns, HaveTheOraclesBitsWhateverTheSlabs) {
  const bench::Case& c = case_named("jacobi2d/overlapped-copy");
  bench::Algorithm algorithm = bench::make_algorithm(c.algorithm);
  const auto inputs = set_inputs(algorithm, 13);
  const auto expected = expected_values({algorithm.output}, box_of(algorithm, 13));
  bench::apply_named(algorithm, c.schedule, c.parameters);
  for (const Target& target : all_targets()) {
    const Executable executable = compile(algorithm.output, target);
    for (const int slabs : {1, 2, 5, 13, 40}) {
      AnyBuffer output(Float(64), {13, 13});
      bench::StreamedRun run(executable, algorithm, inputs.front(), output, slabs, target);
      const PipelineTimes times = run.run(true);
      run.get(output);
      EXPECT_TRUE(same_bits(expected.front(), output)) << to_string(target) << " " << slabs;
      EXPECT_GT(times.work, 0.0);
    }
  }
}

}  // namespace
}  // namespace mica::test
