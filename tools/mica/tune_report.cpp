#include "tools/mica/tune_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/tune/store.h"
#include "tools/mica/html.h"
#include "tools/mica/roofline.h"
#include "tools/mica/schedule_sections.h"
#include "tools/mica/svg.h"

namespace mica::tools {
namespace {

std::string plots(const TuneResult& found) {
  std::vector<double> measured, predicted;
  for (const TuneCandidate& c : found.candidates) {
    if (c.measured <= 0) continue;
    measured.push_back(c.measured * 1e3);
    predicted.push_back(std::max(c.predicted * 1e3, 1e-6));
  }
  if (measured.size() < 2) return "";
  const auto kind = [&](const TuneCandidate& c) {
    return c.text() == found.best.text() ? "dot green" : c.recipe.empty() ? "dot red" : "dot blue";
  };
  const SvgPlot::Axis times = SvgPlot::around(measured, "measured, ms");
  SvgPlot search({0.5, static_cast<double>(found.candidates.size()) + 0.5, false, "candidate"}, times);
  std::vector<std::pair<double, double>> best;
  double least = measured.front();
  for (std::size_t i = 0; i < found.candidates.size(); ++i) {
    const TuneCandidate& c = found.candidates[i];
    if (c.measured <= 0) continue;
    const double number = static_cast<double>(i + 1), ms = c.measured * 1e3;
    if (!best.empty()) best.emplace_back(number, least);
    least = std::min(least, ms);
    best.emplace_back(number, least);
    search.mark(number, ms, kind(c), fmt::format("{:.4f} ms: {}", ms, c.text()));
  }
  search.line(best, "line green");
  const SvgPlot::Axis model_times = SvgPlot::around(predicted, "predicted, ms");
  SvgPlot model(model_times, times);
  const double low = std::max(times.low, model_times.low), high = std::min(times.high, model_times.high);
  if (low < high) model.line({{low, low}, {high, high}}, "line gray dashed");
  for (std::size_t i = 0, m = 0; i < found.candidates.size(); ++i) {
    const TuneCandidate& c = found.candidates[i];
    if (c.measured <= 0) continue;
    model.mark(predicted[m], measured[m], kind(c), c.text());
    ++m;
  }
  return search.figure(
             "The search: each candidate's time, and the best so far. Green: the winner. Red: no "
             "schedule.") +
         model.figure(fmt::format("The model: rank correlation {:.2f}. Dashed: as predicted.",
                                  found.rank_correlation));
}

std::string table(const TuneResult& found) {
  HtmlTable rows({"measured, ms", "in turn, ms", "predicted, ms", "schedule"});
  const auto milliseconds = [](double time) {
    return time > 0 ? fmt::format("{:.4f}", time * 1e3) : "-";
  };
  for (const TuneCandidate& c : found.in_order()) {
    const char* kind = c.text() == found.best.text() ? "best"
                       : c.recipe.empty()            ? "plain"
                       : c.measured > 0              ? "measured"
                                                     : "refused";
    rows.row(
        {milliseconds(c.measured), milliseconds(c.settled), fmt::format("{:.4f}", c.predicted * 1e3),
         c.text() + (c.refused.empty() ? "" : ": " + c.refused)},
        kind);
  }
  const bool in_turn = std::any_of(found.candidates.begin(), found.candidates.end(),
                                   [](const TuneCandidate& c) { return c.settled > 0; });
  return (in_turn ? html_paragraph(
                        "The fastest, and no schedule, were measured again in turn: this decides.")
                  : "") +
         rows.html();
}

/// The page around what is told of the winner.
std::string page_of(const TuneResult& found, const std::string& name,
                    const std::vector<std::int64_t>& extents, const Target& target,
                    const std::string& roofs, const std::string& winner) {
  const double before = found.candidates.front().seconds();
  std::string headline = found.best.text();
  if (found.best.seconds() > 0) {
    headline += fmt::format(": {:.4f} ms", found.best.seconds() * 1e3);
    if (before > 0) {
      headline +=
          fmt::format(", {:.2f} times as fast as without a schedule", before / found.best.seconds());
    }
  }
  std::string body =
      html_paragraph(headline) +
      html_paragraph(fmt::format("{} candidates tried of {} that the model ranked, in {:.1f} s.",
                                 found.candidates.size(), found.considered, found.seconds));
  body += plots(found) + roofs;
  body += html_heading("What was measured") + table(found);
  body += html_heading("The winner") + winner;
  return html_document(
      fmt::format("{} of {} on {}", name, fmt::join(extents, " x "), tuning::device_name(target)), body);
}

}  // namespace

std::string tune_report_html(const TuneResult& found, const Func& output,
                             const std::vector<std::int64_t>& extents, const Target& target) {
  return page_of(found, output.name(), extents, target, roofline(found, output, extents, target),
                 schedule_sections(output, target, extents));
}

std::string tune_report_html(const TuneResult& found, const Iteration& steps, const std::string& name,
                             const std::vector<std::int64_t>& extents, const Target& target) {
  std::string winner = html_folded("Schedule", to_string(found.schedule), true);
  winner += html_folded("Loops", steps.print_loop_nest(target), true);
  if (target.is_gpu()) winner += html_folded("PTX", steps.compile_to_ptx());
  return page_of(found, name, extents, target, "", winner);
}

}  // namespace mica::tools
