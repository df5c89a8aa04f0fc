// A search for differences: case after case drawn from consecutive seeds, until one fails.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/fuzz_case.h"
#include "fuzz/run_isolated.h"

namespace mica::test {

struct CampaignOptions {
  std::uint64_t first_seed = 1;
  /// Stop after so many cases, or after so many seconds; 0: no limit. At least one batch is run.
  std::uint64_t cases = 0;
  double seconds = 0;
  Target target = Target::host();
  /// Directives are drawn without asking whether they are legal: a UserError is a right answer.
  bool illegal = false;
  /// Processor time; a case that takes longer hangs.
  int seconds_a_case = 60;
  /// Time for making a failure smaller.
  double shrink_seconds = 120;
  /// Failures whose messages contain one of these are counted and passed over.
  std::vector<std::string> known;
};

struct CampaignResult {
  std::uint64_t cases = 0;
  std::map<Verdict, std::uint64_t> verdicts;
  /// How often the messages of Refused cases began so.
  std::map<std::string, std::uint64_t> refusals;
  double seconds = 0;
  /// The first failure as drawn and what became of it.
  std::optional<FuzzCase> failed, shrunk;
  Outcome outcome;
};

/// The case of a seed; the same on every machine.
FuzzCase random_case(std::uint64_t seed, const Target& target, bool illegal);
/// The same from numbers that come from elsewhere; a coupled one is run in several steps, too, for which
/// its program is drawn (random_program).
FuzzCase random_case(Random& random, const Target& target, bool illegal, bool coupled = false);

/// UserError for seconds that are negative or no finite number.
void check_seconds(const CampaignOptions& options);
/// UserErrors as check_seconds.
CampaignResult run_campaign(const CampaignOptions& options);
/// "412 cases in 20.1 s: 398 the oracle's bits, 14 refused".
std::string to_string(const CampaignResult& result);

/// Has the outcome's message one of the texts?
bool is_known(const Outcome& outcome, const std::vector<std::string>& known);

/// The smallest case found that fails as `outcome` does, changing one thing at a time, until `stop`.
FuzzCase shrink(const FuzzCase& failed, const Outcome& outcome, double seconds, int seconds_a_case,
                const Stop& stop = {});

}  // namespace mica::test
