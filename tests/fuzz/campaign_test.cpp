// A search that is kept in a file: begun again, killed, in several processes, and with files that are
// none of its own.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/kept_campaign.h"
#include "fuzz/process_birth.h"
#include "fuzz/stop_signals.h"
#include "schedules/tune/store.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace mica::test {
namespace {

constexpr std::uint64_t kRange = CampaignFile::kRange;

std::vector<Outcome> outcomes(std::size_t count, Verdict verdict = Verdict::Same) {
  return std::vector<Outcome>(count, Outcome{verdict, "as said"});
}

/// SQL on a file, by hand.
void change(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
  sqlite3_close(handle);
}

class Campaign : public ::testing::Test {
 protected:
  [[nodiscard]] KeptCampaignOptions kept(std::uint64_t pairs) {
    KeptCampaignOptions kept{.file = path_, .options = {}};
    kept.options.cases = pairs;
    kept.options.first_seed = kind_.first_seed;
    kept.say = [this](const std::string& line) { said_.push_back(line); };
    return kept;
  }
  /// Does `work` in a process that kills itself.
  template <typename Work>
  void in_killed_process(const Work& work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "campaign.db";
  CampaignKind kind_{"host", false, 5};
  std::vector<std::string> said_;
};

TEST_F(Campaign, GoesOnAfterTheLastFinishedSeed) {
  EXPECT_EQ(run_kept_campaign(kept(3)).ran.cases, 3U);
  CampaignSummary summary = CampaignFile::summary(path_);
  EXPECT_EQ(summary.finished_before, 8U);
  EXPECT_EQ(summary.next_seed, 5 + kRange);
  EXPECT_EQ(run_kept_campaign(kept(2)).ran.cases, 2U);
  summary = CampaignFile::summary(path_);
  EXPECT_EQ(summary.finished_before, 10U);
  std::uint64_t pairs = 0;
  for (const auto& [verdict, count] : summary.verdicts) pairs += count;
  EXPECT_EQ(pairs, 5U);
  ASSERT_EQ(summary.runs.size(), 2U);
  EXPECT_EQ(summary.runs[0].pairs, 3U);
  EXPECT_EQ(summary.runs[1].pairs, 2U);
  EXPECT_EQ(summary.runs[1].state, CampaignRun::State::Ended);
  EXPECT_EQ(summary.runs[1].version, campaign_version());
}

TEST_F(Campaign, GivesProcessesRangesOfTheirOwn) {
  CampaignFile one(path_, kind_), other(path_, kind_);
  SeedRange a = one.take(), b = other.take();
  EXPECT_EQ(a.first, 5U);
  EXPECT_EQ(b.first, 5 + kRange);
  EXPECT_TRUE(other.record(b, outcomes(kRange)));
  EXPECT_EQ(other.take().first, 5 + 2 * kRange);
  EXPECT_TRUE(one.record(a, outcomes(4, Verdict::Refused)));
  const CampaignSummary summary = one.summary();
  EXPECT_EQ(summary.finished_before, 9U);
  EXPECT_EQ(summary.verdicts.at(Verdict::Refused), 4U);
  EXPECT_EQ(summary.verdicts.at(Verdict::Same), kRange);
  EXPECT_EQ(summary.runs.at(0).refused, 4U);
  EXPECT_EQ(summary.runs.at(0).state, CampaignRun::State::AtWork);
}

TEST_F(Campaign, TakesUpWhatAKilledProcessLeft) {
  { const CampaignFile made(path_, kind_); }
  in_killed_process([&] {
    CampaignFile file(path_, kind_);
    SeedRange range = file.take();
    (void)file.record(range, outcomes(7));
    (void)raise(SIGKILL);
  });
  const CampaignSummary summary = CampaignFile::summary(path_);
  EXPECT_EQ(summary.runs.at(1).state, CampaignRun::State::Lost);
  EXPECT_EQ(summary.runs.at(1).pairs, 7U);
  CampaignFile file(path_, kind_);
  SeedRange range = file.take();
  EXPECT_EQ(range.first, 5U);
  EXPECT_EQ(range.done, 7U);
  EXPECT_TRUE(file.record(range, outcomes(kRange - 7)));
  EXPECT_EQ(file.summary().finished_before, 5 + kRange);
}

// A process that was taken for gone, as one of another container, counts nothing twice.
TEST_F(Campaign, CountsARangeOnce) {
  CampaignFile slow(path_, kind_);
  SeedRange theirs = slow.take();
  change(path_, "UPDATE runs SET birth = 'another machine'");
  CampaignFile quick(path_, kind_);
  SeedRange ours = quick.take();
  EXPECT_EQ(ours.first, theirs.first);
  EXPECT_TRUE(quick.record(ours, outcomes(kRange)));
  EXPECT_FALSE(slow.record(theirs, outcomes(kRange)));
  EXPECT_EQ(quick.summary().verdicts.at(Verdict::Same), kRange);
}

// However a process is killed, what the file says agrees with itself.
TEST_F(Campaign, IsWholeWhenWritersAreKilledAtAnyMoment) {
  { const CampaignFile made(path_, kind_); }
  constexpr int kKills = 12;
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  for (int i = 0; i < kKills; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      CampaignFile file(path_, kind_);
      if (write(ends[1], "o", 1) != 1) _exit(1);
      for (SeedRange range = file.take();;) {
        if (range.done == range.count) range = file.take();
        (void)file.record(range, outcomes(1, Verdict::Crashed));
      }
    }
    char opened = 0;
    ASSERT_EQ(read(ends[0], &opened, 1), 1);
    usleep(20000 + 3500 * static_cast<useconds_t>(i));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
  for (const int end : ends) close(end);
  const CampaignSummary summary = CampaignFile(path_, kind_).summary();
  const std::uint64_t failures =
      summary.verdicts.count(Verdict::Crashed) > 0 ? summary.verdicts.at(Verdict::Crashed) : 0;
  ASSERT_GT(failures, 0U);
  EXPECT_EQ(summary.findings.size(), failures);
  std::uint64_t of_runs = 0;
  for (const CampaignRun& run : summary.runs) of_runs += run.pairs;
  EXPECT_EQ(of_runs, failures);
  // One process at a time: the next goes on where the last was.
  EXPECT_EQ(summary.finished_before, 5 + failures);
  for (std::size_t i = 0; i < summary.findings.size(); ++i) EXPECT_EQ(summary.findings[i].seed, 5 + i);
}

TEST_F(Campaign, RunsAgainWhatFailed) {
  {
    CampaignFile file(path_, kind_);
    SeedRange range = file.take();
    EXPECT_TRUE(file.record(range, outcomes(1)));
    EXPECT_TRUE(file.record(range, outcomes(1, Verdict::Differs)));
    EXPECT_TRUE(file.record(range, outcomes(1, Verdict::Differs), {"as said"}));  // known
    ASSERT_EQ(file.summary().findings.size(), 1U);
    file.keep(6, {Verdict::Differs, "as said"}, "int main() {}\n");
  }
  // The seed is right in truth.
  KeptCampaignResult result = run_kept_campaign(kept(1));
  EXPECT_EQ(said_, (std::vector<std::string>{"seed 6 is fixed"}));
  EXPECT_EQ(result.failing_again, 0U);
  Finding finding = CampaignFile::summary(path_).findings.at(0);
  EXPECT_FALSE(finding.is_open);
  EXPECT_EQ(finding.program, "int main() {}\n");
  // Fixed ones are run again, too.
  said_.clear();
  (void)run_kept_campaign(kept(1));
  EXPECT_EQ(said_, (std::vector<std::string>{"seed 6 is still fixed"}));
  said_.clear();
  KeptCampaignOptions failing = kept(1);
  failing.run = [](const FuzzCase&) -> Outcome { std::abort(); };
  failing.options.shrink_seconds = 0;
  result = run_kept_campaign(failing);
  ASSERT_FALSE(said_.empty());
  EXPECT_TRUE(said_[0].starts_with("seed 6 fails again: ")) << said_[0];
  EXPECT_EQ(result.failing_again, 1U);
  EXPECT_EQ(result.found, 1U);
  ASSERT_EQ(said_.size(), 2U);
  EXPECT_TRUE(said_[1].starts_with("seed 10 fails: ")) << said_[1];
  said_.clear();
  EXPECT_EQ(run_kept_campaign(failing).failing_again, 2U);
  ASSERT_FALSE(said_.empty());
  EXPECT_TRUE(said_[0].starts_with("seed 6 still fails: ")) << said_[0];
}

TEST_F(Campaign, LeavesToOthersAtWorkWhatTheyHaveRunAgain) {
  CampaignFile one(path_, kind_), other(path_, kind_);
  SeedRange range = one.take();
  EXPECT_TRUE(one.record(range, outcomes(2, Verdict::Hung)));
  EXPECT_EQ(one.to_run_again().size(), 2U);
  EXPECT_EQ(other.to_run_again().size(), 0U);
  other.keep(6, {Verdict::Same, ""}, "");
  ASSERT_EQ(one.to_run_again().size(), 1U);
  EXPECT_EQ(one.to_run_again()[0].seed, 5U);
  other.end(1, false);
  EXPECT_EQ(one.to_run_again().size(), 2U);
}

TEST_F(Campaign, EndsCleanlyAtASignal) {
  StopSignals signals;
  EXPECT_FALSE(signals.asked());
  KeptCampaignOptions endless = kept(0);
  std::uint64_t asked = 0;
  endless.stop = [&] {
    if (++asked == 4) (void)raise(SIGINT);
    return signals.asked();
  };
  const KeptCampaignResult result = run_kept_campaign(endless);
  EXPECT_TRUE(result.stopped);
  const CampaignSummary summary = CampaignFile::summary(path_);
  EXPECT_EQ(summary.runs.at(0).state, CampaignRun::State::Stopped);
  EXPECT_EQ(summary.runs.at(0).pairs, result.ran.cases);
  EXPECT_EQ(summary.finished_before, 5 + result.ran.cases);
}

TEST_F(Campaign, OfAnotherKindIsRefused) {
  { const CampaignFile made(path_, kind_); }
  for (const CampaignKind& other : {CampaignKind{"emulator", false, 5}, CampaignKind{"host", true, 5},
                                    CampaignKind{"host", false, 6}}) {
    EXPECT_TRUE(
        fails_with([&] { const CampaignFile file(path_, other); },
                   {path_.string(), "legal schedules on host, seeds from 5", "name another file"}));
  }
  EXPECT_EQ(CampaignFile::kind_of(path_)->first_seed, 5U);
  change(path_, "UPDATE campaign SET generator = '0123'");
  EXPECT_TRUE(fails_with([&] { const CampaignFile file(path_, kind_); },
                         {path_.string(), "of the generator 0123", generator_mark(kind_)}));
  EXPECT_EQ(CampaignFile::summary(path_).generator, "0123");
  change(path_, "PRAGMA user_version = 9");
  EXPECT_TRUE(fails_with([&] { const CampaignFile file(path_, kind_); }, {"of format 9", "knows 1"}));
}

TEST_F(Campaign, InAFileThatIsNoneSaysSo) {
  EXPECT_EQ(CampaignFile::kind_of(path_), std::nullopt);
  EXPECT_TRUE(fails_with([&] { (void)CampaignFile::summary(path_); }, {"no campaign", path_.string()}));
  const auto refused = [&](const std::filesystem::path& path, const std::string& why) {
    EXPECT_TRUE(fails_with([&] { const CampaignFile file(path, kind_); }, {path.string(), why}));
  };
  refused(folder_.path() / "no" / "such.db", "folder");
  refused(folder_.path(), "folder");
  refused("/proc/campaign.db", "folder");
  std::ofstream(path_) << "a text that is longer than the first words of a database";
  refused(path_, "no campaign, or damaged");
  const std::filesystem::path store = folder_.path() / "tuned.db";
  { const tuning::TuneStore made(store); }
  refused(store, "no campaign of `mica fuzz`");
}

TEST_F(Campaign, ThatIsDamagedSaysSo) {
  {
    CampaignFile file(path_, kind_);
    SeedRange range = file.take();
    EXPECT_TRUE(file.record(range, outcomes(kRange, Verdict::Crashed)));
  }
  const auto bytes = static_cast<std::streamoff>(std::filesystem::file_size(path_));
  std::string all(static_cast<std::size_t>(bytes), '\0');
  std::ifstream(path_, std::ios::binary).read(all.data(), bytes);
  int damaged = 0;
  for (std::size_t at = 0; at < all.size(); at += 509) {
    std::string other = all;
    other.replace(at, 97, std::min<std::size_t>(97, all.size() - at), '\xa5');
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << other;
    try {
      (void)to_string(CampaignFile::summary(path_));
      CampaignFile file(path_, kind_);
      (void)file.take();
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(path_.string()), std::string::npos) << e.what();
      ++damaged;
    }
  }
  for (std::size_t length : {all.size() / 2, std::size_t{100}, std::size_t{17}}) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << all.substr(0, length);
    EXPECT_TRUE(fails_with([&] { const CampaignFile file(path_, kind_); }, {path_.string()})) << length;
  }
  EXPECT_GT(damaged, 5);
}

TEST_F(Campaign, EndsAtTheLastSeed) {
  CampaignFile file(path_, {"host", false, static_cast<std::uint64_t>(INT64_MAX) - 40});
  SeedRange range = file.take();
  EXPECT_TRUE(file.record(range, outcomes(kRange)));
  EXPECT_TRUE(fails_with([&] { (void)file.take(); }, {"last seed", "--seed"}));
}

TEST_F(Campaign, IsReportedAsATable) {
  CampaignFile file(path_, kind_);
  SeedRange range = file.take();
  EXPECT_TRUE(file.record(range, outcomes(3)));
  EXPECT_TRUE(file.record(range, {{Verdict::Differs, "f0 at 3\nmore"}}));
  file.keep(8, {Verdict::Differs, "f0 at 3\nmore"}, "int main() { return 8; }\n");
  const std::string text = to_string(file.summary());
  for (const std::string part : {"legal schedules on host, generator ", "seeds from 5, all below 9 done",
                                 "4 pairs: 3 the oracle's bits", "1 findings, 1 open", "at work",
                                 ": f0 at 3\n", "int main() { return 8; }"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST(ProcessBirth, TellsProcessesApart) {
  EXPECT_FALSE(birth_of_process(getpid()).empty());
  EXPECT_EQ(birth_of_process(getpid()), birth_of_process(getpid()));
  EXPECT_EQ(birth_of_process(0x7fffffff), "");
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(birth_of_process(child), "");  // it is there until it is waited for
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace mica::test
