// Random algorithms, schedules, boxes and data against the oracle. MICA_FUZZ_PAIRS sets how many pairs
// of an algorithm and a schedule each test tries, MICA_FUZZ_SEED the first seed. A failure prints its
// own seed, which with MICA_FUZZ_PAIRS=1 repeats it alone, and the smallest program found that fails
// alike.
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/campaign.h"
#include "tests/support/check_targets.h"
#include "tests/support/environment.h"

namespace mica::test {
namespace {

/// How children of this process find the first GPU: they cannot use a driver that it has started, as
/// another test may have before.
enum class Gpu { None, Usable, StartedHere };

bool has_loaded_driver() {
  const char* const path = std::getenv("MICA_LIBCUDA");
  void* const library =
      dlopen(path != nullptr && *path != '\0' ? path : "libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

Gpu gpu_of_children() {
  if (has_loaded_driver()) return why_no_cuda().empty() ? Gpu::StartedHere : Gpu::None;
  // Asked in a process of its own, for that starts the driver.
  const pid_t child = fork();
  if (child == 0) _exit(why_no_cuda().empty() ? 0 : 1);
  int status = -1;
  const bool ended = child > 0 && waitpid(child, &status, 0) == child;
  return ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Gpu::Usable : Gpu::None;
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

/// On the emulator, and on the first GPU where there is one.
void expect_no_failure_on_gpus(bool illegal, std::uint64_t pairs) {
  const Gpu gpu = gpu_of_children();
  expect_no_failure(Target::gpu_emulator(), illegal, pairs);
  if (gpu == Gpu::StartedHere) {
    GTEST_SKIP() << "another test of this process uses the GPU, and children cannot: run this one alone";
  }
  if (gpu == Gpu::Usable) expect_no_failure(Target{Backend::Cuda, 0}, illegal, pairs);
}

TEST(RandomPrograms, LegallyScheduledOnTheHostGiveTheOraclesBits) {
  expect_no_failure(Target::host(), false, 500);
}

TEST(RandomPrograms, LegallyScheduledOnTheCheckedHostGiveTheOraclesBits) {
  expect_no_failure(Target::host_checked(), false, 200);
}

TEST(RandomPrograms, LegallyScheduledOnGpusGiveTheOraclesBits) { expect_no_failure_on_gpus(false, 250); }

TEST(RandomPrograms, ScheduledAtRandomOnTheHostAreRefusedOrRight) {
  expect_no_failure(Target::host(), true, 400);
}

TEST(RandomPrograms, ScheduledAtRandomOnGpusAreRefusedOrRight) { expect_no_failure_on_gpus(true, 400); }

}  // namespace
}  // namespace mica::test
