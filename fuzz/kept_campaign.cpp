#include "fuzz/kept_campaign.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "fuzz/run_isolated.h"

namespace mica::test {
namespace {

using Clock = std::chrono::steady_clock;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class Work {
 public:
  explicit Work(const KeptCampaignOptions& kept)
      : kept_(kept),
        options_(kept.options),
        file_(kept.file, {target_kind(options_.target), options_.illegal, options_.first_seed}) {}

  KeptCampaignResult carry_out() {
    run_findings_again();
    // However short the time: what tests nothing must not look like a success.
    while (!is_stopped() && (result_.ran.cases == 0 || !is_time_up()) && cases_left() > 0) run_range();
    result_.ran.seconds = elapsed();
    result_.stopped = is_stopped();
    file_.end(result_.ran.seconds, result_.stopped);
    return result_;
  }

 private:
  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }
  [[nodiscard]] bool is_time_up() const {
    return options_.seconds != 0 && elapsed() >= options_.seconds;
  }
  [[nodiscard]] std::uint64_t cases_left() const {
    return options_.cases == 0 ? CampaignFile::kRange : options_.cases - result_.ran.cases;
  }
  bool is_stopped() {
    stopped_ = stopped_ || (kept_.stop && kept_.stop());
    return stopped_;
  }
  Stop stop() {
    return [this] { return is_stopped(); };
  }
  void say(const std::string& line) const {
    if (kept_.say) kept_.say(line);
  }

  /// The program of a failure, made small; empty if there was no time to.
  std::string small_program(const FuzzCase& failed, const Outcome& outcome) {
    const FuzzCase small =
        shrink(failed, outcome, options_.shrink_seconds, options_.seconds_a_case, stop());
    return is_stopped() ? std::string() : to_string(small, outcome);
  }

  void run_findings_again() {
    for (const Finding& finding : file_.to_run_again()) {
      const FuzzCase drawn = random_case(finding.seed, options_.target, options_.illegal);
      const auto outcomes = run_isolated({drawn}, options_.seconds_a_case, stop(), {}, kept_.run);
      if (outcomes.empty()) return;
      const Outcome& outcome = outcomes.front();
      const std::string seed = "seed " + std::to_string(finding.seed);
      std::string program;
      if (is_failure(outcome.verdict)) {
        ++result_.failing_again;
        say(seed + (finding.is_open ? " still fails: " : " fails again: ") + to_string(outcome.verdict) +
            ": " + first_line(outcome.message));
        file_.keep(finding.seed, outcome, program);
        if (finding.program.empty()) program = small_program(drawn, outcome);
      } else {
        say(seed + (finding.is_open ? " is fixed" : " is still fixed"));
      }
      file_.keep(finding.seed, outcome, program);
    }
  }

  void run_range() {
    constexpr auto kWriteEvery = std::chrono::seconds(1);
    SeedRange range = file_.take();
    std::vector<FuzzCase> batch;
    for (std::uint64_t i = range.done; i < range.count && batch.size() < cases_left(); ++i) {
      batch.push_back(random_case(range.first + i, options_.target, options_.illegal));
    }
    bool lost = false;
    auto written = Clock::now();
    std::vector<Outcome> pending;
    const auto write = [&] {
      if (lost || pending.empty()) return;
      lost = !file_.record(range, pending, options_.known);
      pending.clear();
      written = Clock::now();
    };
    std::uint64_t here = 0;
    const std::vector<Outcome> outcomes = run_isolated(
        batch, options_.seconds_a_case,
        [&] { return lost || is_stopped() || (is_time_up() && result_.ran.cases + here > 0); },
        [&](const Outcome& outcome) {
          ++here;
          pending.push_back(outcome);
          if (is_failure(outcome.verdict) || Clock::now() - written >= kWriteEvery) write();
        },
        kept_.run);
    write();
    result_.ran.cases += outcomes.size();
    for (const Outcome& outcome : outcomes) ++result_.ran.verdicts[outcome.verdict];
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].verdict == Verdict::Refused) {
        ++result_.ran.refusals[outcomes[i].message.substr(0, 160)];
      }
      if (!is_failure(outcomes[i].verdict) || is_known(outcomes[i], options_.known)) continue;
      ++result_.found;
      say("seed " + std::to_string(batch[i].seed) + " fails: " + to_string(outcomes[i].verdict) + ": " +
          first_line(outcomes[i].message));
      file_.keep(batch[i].seed, outcomes[i], small_program(batch[i], outcomes[i]));
    }
  }

  const KeptCampaignOptions& kept_;
  const CampaignOptions& options_;
  CampaignFile file_;
  Clock::time_point start_ = Clock::now();
  KeptCampaignResult result_;
  bool stopped_ = false;
};

}  // namespace

KeptCampaignResult run_kept_campaign(const KeptCampaignOptions& kept) {
  check_seconds(kept.options);
  return Work(kept).carry_out();
}

}  // namespace mica::test
