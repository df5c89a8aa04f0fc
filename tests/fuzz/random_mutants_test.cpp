// Barriers left out of, and slots of rings mistaken in, the kernels of random programs: each is found.
// MICA_MUTANT_PROGRAMS sets how many programs are drawn, MICA_FUZZ_SEED the first seed.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/campaign.h"
#include "fuzz/random_program.h"
#include "tests/support/environment.h"
#include "tests/support/mutant_runs.h"

namespace mica::test {
namespace {

constexpr int kOrders = 2;
constexpr std::int64_t kWide = 24;
constexpr std::int64_t kMostPoints = 4 * kMostFuzzPoints;

/// The case of a seed with outputs that are wide enough for whole turns of marches; nothing where that
/// takes too many points.
std::optional<FuzzCase> wide_case(std::uint64_t seed) {
  const FuzzCase narrow = random_case(seed, Target::gpu_emulator(), /*illegal=*/false);
  FuzzCase wide = narrow;
  for (Box& box : wide.boxes) {
    for (auto& [min, extent] : box) extent = std::max(extent, kWide);
  }
  if (points_to_compute(wide.program, wide.boxes) >= kMostPoints) return std::nullopt;
  follow_boxes(wide, narrow);
  return wide;
}

/// Has an output elements that differ? Where all are alike, no fault shows.
bool shows_faults(const ExpectedOutputs& outputs) {
  for (std::size_t f = 0; f < outputs.size(); ++f) {
    const AnyBuffer dense = outputs.values(f).copy();
    const auto bytes = static_cast<std::size_t>(dense.type().bytes());
    const auto* first = static_cast<const char*>(dense.host_data());
    for (std::int64_t i = 1; i < dense.elements(); ++i) {
      if (std::memcmp(first, first + static_cast<std::size_t>(i) * bytes, bytes) != 0) return true;
    }
  }
  return false;
}

bool walks(const Program& program) {
  return std::any_of(program.stages.begin(), program.stages.end(),
                     [](const ProgramStage& stage) { return stage.walk.has_value(); });
}

TEST(RandomMutants, AreCaught) {
  const std::uint64_t programs = number_from_environment("MICA_MUTANT_PROGRAMS", 80);
  const std::uint64_t first = number_from_environment("MICA_FUZZ_SEED", 1);
  MutantTable table;
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const std::optional<FuzzCase> drawn = wide_case(seed);
    // What a recurrence carries over its few drawn steps is hidden by its other operands most often.
    if (!drawn || walks(drawn->program)) continue;
    try {
      const BoundCase bound = bind(*drawn);
      MutantRuns runs(bound.pipeline.outputs, {Mutation::DropBarrier, Mutation::ShiftSlot});
      if (runs.mutants().empty() || !shows_faults(*bound.expected)) continue;
      const Situation situation{[] { return std::vector<std::shared_ptr<void>>(); }, *bound.expected};
      run_all("seed " + std::to_string(seed), runs, {situation}, kOrders, table);
    } catch (const UserError&) {
      continue;  // refused after the checks: too much shared memory, say
    }
  }
  std::cout << to_string(table);
  int sites = 0;
  for (const auto& [mutation, counts] : table.counts) {
    for (const auto& [caught, count] : counts) sites += caught == Caught::Idle ? 0 : count;
  }
  for (const std::string& survivor : table.survivors) {
    std::cout << survivor << "\n";
    EXPECT_EQ(survivor.find(" as it is: "), std::string::npos) << survivor;
  }
  ASSERT_GT(sites, 0);
  // A drawn box may be too small for the turn of a loop that needs a barrier, and a value that is read
  // may be one that another operand hides.
  EXPECT_LE(static_cast<int>(table.survivors.size()) * 25, sites);
}

}  // namespace
}  // namespace mica::test
