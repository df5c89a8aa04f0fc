// A campaign in a file: which seeds of a search are done, what they came to, and what was found.
//
// A SQLite database, so that processes may be killed at any moment and several may work on one file at
// once: each takes ranges of seeds. A range whose process is gone is taken up by another, after the last
// seed that it wrote down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/fuzz_case.h"
#include "schedules/tune/database.h"

namespace mica::test {

/// What all processes that work on one campaign have in common.
struct CampaignKind {
  std::string target = "emulator";  ///< host, host-checked, emulator or cuda
  bool illegal = false;
  std::uint64_t first_seed = 1;
};

/// The pairs that seeds draw, as a hash: of a generator that draws others it is another one.
std::string generator_mark(const CampaignKind& kind);
/// Of the library that is at work: "0.1.0 (3f2a90c1)", its version and build.
std::string campaign_version();
/// "host", "emulator" or "cuda": a target without its device.
std::string target_kind(const Target& target);

/// Seeds that a process works on.
struct SeedRange {
  std::uint64_t first = 0;  ///< that it was taken with, by which the file knows it
  std::uint64_t count = 0;
  std::uint64_t done = 0;  ///< of those, from the first on
};

/// A seed that found something.
struct Finding {
  std::uint64_t seed = 0;
  Verdict verdict = Verdict::Failed;  ///< when it failed last
  std::string message;
  std::string program;    ///< made small; empty until it is
  std::string seen_with;  ///< the version that it failed with first
  std::string run_with;   ///< the version that ran it last
  std::int64_t seen = 0;  ///< seconds since 1970
  bool is_open = true;    ///< it failed when it was run last
};

/// One process's work on a campaign.
struct CampaignRun {
  enum class State : std::uint8_t { AtWork, Ended, Stopped, Lost };
  std::int64_t begun = 0;  ///< seconds since 1970
  std::string version;
  State state = State::AtWork;  ///< Stopped: by a signal; Lost: it is gone and has not said so
  std::uint64_t pairs = 0, refused = 0, findings = 0;
  double seconds = 0;
};

/// What a campaign has seen.
struct CampaignSummary {
  CampaignKind kind;
  std::string generator;
  std::uint64_t next_seed = 0;        ///< the first that nobody has taken
  std::uint64_t finished_before = 0;  ///< all seeds below it are done
  std::map<Verdict, std::uint64_t> verdicts;
  std::vector<CampaignRun> runs;  ///< in the order in which they began
  std::vector<Finding> findings;  ///< by seed
};

class CampaignFile {
 public:
  /// How many seeds a process takes at once.
  static constexpr std::uint64_t kRange = 32;

  /// What the file says that it is; nothing if there is none. UserErrors as the constructor's.
  static std::optional<CampaignKind> kind_of(const std::filesystem::path& path);
  /// All that it holds, which a file that cannot be written says, too. UserError: there is no such file.
  static CampaignSummary summary(const std::filesystem::path& path);

  /// Opens a campaign to work on it, or begins one. UserErrors that name the file and what to do: it
  /// cannot be made or written, it is something else or damaged, of a newer Mica, a campaign of another
  /// kind, or its seeds drew other pairs.
  CampaignFile(const std::filesystem::path& path, const CampaignKind& kind);
  /// Says that the process works no more; its ranges are anybody's.
  ~CampaignFile();
  CampaignFile(const CampaignFile&) = delete;
  CampaignFile& operator=(const CampaignFile&) = delete;

  // UserErrors of all members: the file cannot be read or written any more.

  /// Seeds for this process: what others left undone first. UserError: no seeds are left.
  SeedRange take();
  /// Writes down what the next seeds of a range came to; failures become findings, but for those whose
  /// message has one of the texts `known`. False if the range is another's by now, which sees to them.
  bool record(SeedRange& range, const std::vector<Outcome>& outcomes,
              const std::vector<std::string>& known = {});
  /// What became of a finding that was run again, and its program if it was made small: not empty then.
  void keep(std::uint64_t seed, const Outcome& outcome, const std::string& program);
  /// The findings, but for those that another process at work has run again with this version.
  std::vector<Finding> to_run_again();
  [[nodiscard]] CampaignSummary summary() const;
  /// That this process's run ends, after so many seconds, by a signal if `stopped`.
  void end(double seconds, bool stopped);

 private:
  struct Opened;
  std::unique_ptr<Opened> opened_;
};

/// For people: the campaign, the runs and findings as a table, and the programs of open findings.
std::string to_string(const CampaignSummary& summary);

}  // namespace mica::test
