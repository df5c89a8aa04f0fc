// Random algorithms, schedules, boxes and data against the oracle. MICA_FUZZ_PAIRS sets how many pairs
// of an algorithm and a schedule each test tries, MICA_FUZZ_SEED the first seed. A failure prints its
// own seed, which with MICA_FUZZ_PAIRS=1 repeats it alone, and the smallest program found that fails
// alike.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/campaign.h"
#include "tests/support/check_targets.h"
#include "tests/support/environment.h"

namespace mica::test {
namespace {

/// The emulator, and the first GPU where there is one. That is asked in a process of its own: cases run
/// in children of this one, which cannot use a driver that it has started.
std::vector<Target> unstarted_gpu_targets() {
  std::vector<Target> targets{Target::gpu_emulator()};
  const pid_t child = fork();
  if (child == 0) _exit(why_no_cuda().empty() ? 0 : 1);
  int status = -1;
  const bool ended = child > 0 && waitpid(child, &status, 0) == child;
  if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    targets.push_back(Target{Backend::Cuda, 0});
  }
  return targets;
}

void expect_no_failure(const Target& target, bool illegal, std::uint64_t pairs) {
  CampaignOptions options;
  options.target = target;
  options.illegal = illegal;
  options.cases = number_from_environment("MICA_FUZZ_PAIRS", pairs);
  options.first_seed = number_from_environment("MICA_FUZZ_SEED", 1);
  const CampaignResult result = run_campaign(options);
  if (result.failed) {
    FAIL() << "MICA_FUZZ_SEED=" << result.failed->seed << "\n"
           << to_string(*result.shrunk, result.outcome);
  }
  if (illegal || options.cases < 100) return;
  // What is legal by the checks may still need too much shared memory, or boxes of no constant size.
  const std::uint64_t refused =
      result.verdicts.count(Verdict::Refused) > 0 ? result.verdicts.at(Verdict::Refused) : 0;
  EXPECT_LT(refused, result.cases / 5) << to_string(result);
}

TEST(RandomPrograms, LegallyScheduledOnTheHostGiveTheOraclesBits) {
  expect_no_failure(Target::host(), false, 500);
}

TEST(RandomPrograms, LegallyScheduledOnTheCheckedHostGiveTheOraclesBits) {
  expect_no_failure(Target::host_checked(), false, 200);
}

TEST(RandomPrograms, LegallyScheduledOnGpusGiveTheOraclesBits) {
  for (const Target& target : unstarted_gpu_targets()) expect_no_failure(target, false, 250);
}

TEST(RandomPrograms, ScheduledAtRandomOnTheHostAreRefusedOrRight) {
  expect_no_failure(Target::host(), true, 400);
}

TEST(RandomPrograms, ScheduledAtRandomOnGpusAreRefusedOrRight) {
  for (const Target& target : unstarted_gpu_targets()) expect_no_failure(target, true, 400);
}

}  // namespace
}  // namespace mica::test
