// What a campaign has seen, for people.
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>

#include "fuzz/campaign_file.h"

namespace mica::test {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// "2026-11-24 10:02", of Greenwich.
std::string time_text(std::int64_t seconds) {
  const auto when = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&when, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts)};
}

/// Columns two spaces apart; numbers stand at the right.
std::string table(const Rows& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      const bool is_number = row[i].find_first_not_of("0123456789.") == std::string::npos;
      line += "  " + (is_number ? space + row[i] : row[i] + space);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string state_text(CampaignRun::State state) {
  switch (state) {
    case CampaignRun::State::AtWork: return "at work";
    case CampaignRun::State::Ended: return "ended";
    case CampaignRun::State::Stopped: return "stopped";
    case CampaignRun::State::Lost: return "lost";
  }
  return "";
}

std::string number(std::uint64_t value) { return std::to_string(value); }

}  // namespace

std::string to_string(const CampaignSummary& summary) {
  std::uint64_t pairs = 0;
  std::string verdicts;
  for (const auto& [verdict, count] : summary.verdicts) {
    pairs += count;
    verdicts += (verdicts.empty() ? ": " : ", ") + number(count) + " " + to_string(verdict);
  }
  const auto open = std::count_if(summary.findings.begin(), summary.findings.end(),
                                  [](const Finding& finding) { return finding.is_open; });
  std::string text = (summary.kind.illegal ? "illegal" : "legal") + std::string(" schedules on ") +
                     summary.kind.target + ", generator " + summary.generator + "\nseeds from " +
                     number(summary.kind.first_seed) + ", all below " + number(summary.finished_before) +
                     " done, none from " + number(summary.next_seed) + " on taken\n" + number(pairs) +
                     " pairs" + verdicts + "\n" + number(summary.findings.size()) + " findings, " +
                     number(static_cast<std::uint64_t>(open)) + " open\n";
  if (!summary.runs.empty()) {
    Rows rows{{"begun", "version", "state", "pairs", "refused", "findings", "seconds"}};
    for (const CampaignRun& run : summary.runs) {
      std::array<char, 32> seconds{};
      (void)std::snprintf(seconds.data(), seconds.size(), "%.1f", run.seconds);
      rows.push_back({time_text(run.begun), run.version, state_text(run.state), number(run.pairs),
                      number(run.refused), number(run.findings), seconds.data()});
    }
    text += "\n" + table(rows);
  }
  if (summary.findings.empty()) return text;
  Rows rows{{"seed", "found", "with", "run last with", "state", "what happened"}};
  for (const Finding& finding : summary.findings) {
    rows.push_back({number(finding.seed), time_text(finding.seen), finding.seen_with, finding.run_with,
                    finding.is_open ? "open" : "fixed",
                    std::string(to_string(finding.verdict)) + ": " +
                        finding.message.substr(0, finding.message.find('\n'))});
  }
  text += "\n" + table(rows);
  for (const Finding& finding : summary.findings) {
    if (finding.is_open && !finding.program.empty()) text += "\n" + finding.program;
  }
  return text;
}

}  // namespace mica::test
