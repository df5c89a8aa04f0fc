// Candidates of the tuner, drawn at random for shared pipelines and random algorithms: each is refused,
// or gives the oracle's bits. random_pairs.h says how many are drawn.
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "fuzz/campaign.h"
#include "schedules/tune/space.h"
#include "tests/fuzz/random_pairs.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

enum class Came { Right, Refused, Unsuited };

/// One candidate of one family for the pipeline's first output.
Came try_candidate(TestPipeline& p, const Box& box, const Target& target, std::uint64_t seed) {
  const auto memory = p.bind(box, seed);
  Func output = p.output();
  std::vector<std::int64_t> extents;
  for (const auto& side : box) extents.push_back(std::max<std::int64_t>(side.second, 1));
  const tuning::Subject subject(output, extents, target, CallSite::current());
  const auto families = tuning::families_of(subject);
  if (families.empty()) return Came::Unsuited;
  std::mt19937_64 random(seed);
  const TuneCandidate candidate = tuning::drawn(families[random() % families.size()], random);
  SCOPED_TRACE(candidate.text());
  const auto expected = expected_values(p.outputs, box);
  try {
    schedules::apply(output, candidate.recipe, candidate.parameters);
    std::ignore = compile(p.outputs, target);
  } catch (const UserError&) {
    return Came::Refused;
  }
  EXPECT_TRUE(run_matches(expected, p.outputs, box, target));
  return Came::Right;
}

void try_pipelines(const Target& target) {
  std::uint64_t right = 0, all = 0;
  for (std::uint64_t seed = first_seed(); seed < first_seed() + pairs(); ++seed) {
    Random random(seed);
    const PipelineMaker& maker = random.pick(pipeline_makers());
    SCOPED_TRACE(trace_of(maker, seed));
    TestPipeline p = maker.make();
    if (p.outputs.size() > 1) continue;
    const Came came = try_candidate(p, random_box(maker.dimensions, random), target, seed);
    all += came == Came::Unsuited ? 0 : 1;
    right += came == Came::Right ? 1 : 0;
  }
  // Most of what the tuner draws is worth its time.
  if (pairs() >= 25) {
    EXPECT_GT(2 * right, all) << all << " drawn";
  }
}

TEST(RandomTuned, OfSharedPipelinesOnTheHost) { try_pipelines(Target::host()); }

TEST(RandomTuned, OfSharedPipelinesOnGpus) {
  for (const Target& target : gpu_targets()) try_pipelines(target);
}

/// Candidates for random algorithms, run in memory with all around it poisoned.
void try_programs(const Target& target) {
  for (std::uint64_t seed = first_seed(); seed < first_seed() + 2 * pairs(); ++seed) {
    FuzzCase drawn = random_case(seed, target, false);
    TestPipeline p = build(drawn.program);
    if (p.outputs.size() != 1) continue;
    std::vector<std::int64_t> extents;
    for (const auto& side : drawn.boxes.front())
      extents.push_back(std::max<std::int64_t>(side.second, 1));
    const tuning::Subject subject(p.output(), extents, target, CallSite::current());
    const auto families = tuning::families_of(subject);
    if (families.empty()) continue;
    std::mt19937_64 random(seed);
    const TuneCandidate candidate = tuning::drawn(families[random() % families.size()], random);
    try {
      schedules::apply(p.output(), candidate.recipe, candidate.parameters);
    } catch (const UserError&) {
      continue;
    }
    drawn.schedule = schedule_of(p);
    const Outcome outcome = run_case(drawn);
    EXPECT_TRUE(outcome.verdict == Verdict::Same || outcome.verdict == Verdict::Refused)
        << "MICA_FUZZ_SEED=" << seed << " " << candidate.text() << "\n"
        << to_string(drawn, outcome);
  }
}

TEST(RandomTuned, OfRandomAlgorithmsOnTheHost) { try_programs(Target::host()); }

TEST(RandomTuned, OfRandomAlgorithmsOnGpus) {
  for (const Target& target : gpu_targets()) try_programs(target);
}

}  // namespace
}  // namespace mica::test
