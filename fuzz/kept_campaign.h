// A search that keeps what it does in a file: begun again it goes on where it was.
#pragma once

#include <functional>
#include <string>

#include "fuzz/campaign.h"
#include "fuzz/campaign_file.h"

namespace mica::test {

struct KeptCampaignOptions {
  std::filesystem::path file;
  /// Its first seed, target and `illegal` must be the file's, if there is one; `cases` and `seconds` are
  /// of this process.
  CampaignOptions options;
  Stop stop = {};
  /// Told what happens, a line at a time: "seed 77 still fails: ...".
  std::function<void(const std::string&)> say = {};
  /// What is done with a case, in a process of its own; shrinking always runs it.
  RunCase run = run_case;
};

struct KeptCampaignResult {
  CampaignResult ran;               ///< of this process, without findings that were run again
  std::uint64_t found = 0;          ///< seeds that failed for the first time
  std::uint64_t failing_again = 0;  ///< findings that were run again and failed
  bool stopped = false;
};

/// Runs what was found before, then new seeds until the limits are reached or `stop` says so. What a
/// seed came to is in the file within a second, a failure at once. UserErrors as CampaignFile's and
/// run_campaign's.
KeptCampaignResult run_kept_campaign(const KeptCampaignOptions& kept);

}  // namespace mica::test
