// An entry for libFuzzer: the bytes are the random numbers that a case is drawn from.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/campaign.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mica::test;
  Random random(data, size);
  const mica::Target target = random.coin() ? mica::Target::gpu_emulator() : mica::Target::host();
  const bool illegal = random.below(3) == 0;
  const FuzzCase drawn = random_case(random, target, illegal);
  const Outcome outcome = run_case(drawn);
  if (!is_failure(outcome.verdict)) return 0;
  (void)std::fprintf(stderr, "%s", to_string(drawn, outcome).c_str());
  std::abort();
}
