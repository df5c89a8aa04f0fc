// Schedules as JSON: what is read is written and read as the same.
#include <cstdlib>

#include "dsl/schedule/schedule.h"
#include "fuzz/campaign.h"
#include "tests/harness/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const mica::Schedule schedule = mica::schedule_from_json(text);
    if (mica::schedule_from_json(mica::to_json(schedule)) != schedule) std::abort();
  } catch (const mica::UserError&) {
  }
  return 0;
}

std::vector<std::string> mica::test::harness_seeds() {
  std::vector<std::string> seeds;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const FuzzCase drawn = random_case(seed, Target::gpu_emulator(), seed % 2 == 0);
    if (!drawn.schedule.stages.empty()) seeds.push_back(to_json(drawn.schedule));
  }
  return seeds;
}
