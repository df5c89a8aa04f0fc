#include "tools/mica/tune_report.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/analysis/traffic.h"
#include "codegen/compile.h"
#include "schedules/tune/store.h"
#include "tools/mica/traffic_report.h"

namespace mica::tools {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

constexpr const char* kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 64em; padding: 0 1em; color: #1c2430; background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid #d5dae2 }
table { border-collapse: collapse; width: 100%; font-size: 0.9em }
th, td { padding: 0.2em 0.7em; text-align: right; border-bottom: 1px solid #e6e9ee } th:last-child, td:last-child { text-align: left }
tr.best td { background: #e7f4ea; font-weight: 600 } tr.plain td { background: #f3f5f8 } tr.refused td { color: #8a93a0 }
pre { background: #f3f5f8; padding: 0.8em; overflow-x: auto; font-size: 0.85em } summary { cursor: pointer; font-weight: 600; margin: 0.6em 0 }
figure { display: inline-block; width: 440px; margin: 0 1em 1em 0; vertical-align: top } figcaption { font-size: 0.85em; color: #566070 }
svg text { font: 11px system-ui, sans-serif; fill: #566070 }
)";

/// A plot of points and a line, both axes in pixels by the functions that are given.
class Plot {
 public:
  static constexpr int kWidth = 440, kHeight = 300, kLeft = 62, kBottom = 42, kTop = 14, kRight = 14;

  struct Axis {
    double low = 0, high = 1;
    bool logarithmic = false;
    std::string title = {};
    [[nodiscard]] double share(double v) const {
      if (!logarithmic) return (v - low) / (high - low);
      return std::log(v / low) / std::log(high / low);
    }
    /// Round values between the ends: 1, 2 and 5 times powers of ten.
    [[nodiscard]] std::vector<double> ticks() const {
      std::vector<double> values;
      if (logarithmic) {
        for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
          for (const double m : {1.0, 2.0, 5.0}) {
            if (decade * m >= low && decade * m <= high) values.push_back(decade * m);
          }
        }
        if (values.size() >= 2) return values;
        return {low, std::sqrt(low * high), high};
      }
      const double step = std::max(1.0, std::ceil((high - low) / 8));
      for (double v = std::ceil(low); v <= high; v += step) values.push_back(v);
      return values;
    }
  };

  Plot(Axis x, Axis y) : x_(std::move(x)), y_(std::move(y)) { frame(); }

  [[nodiscard]] double px(double v) const { return kLeft + x_.share(v) * (kWidth - kLeft - kRight); }
  [[nodiscard]] double py(double v) const {
    return kHeight - kBottom - y_.share(v) * (kHeight - kBottom - kTop);
  }
  void dot(double x, double y, const char* colour, const std::string& hint) {
    body_ << fmt::format(
        R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}" fill-opacity="0.75"><title>{}</title></circle>)",
        px(x), py(y), colour, escaped(hint));
  }
  void line(const std::vector<std::pair<double, double>>& points, const char* colour,
            const char* dashes = "") {
    std::vector<std::string> places;
    for (const auto& [x, y] : points) places.push_back(fmt::format("{:.1f},{:.1f}", px(x), py(y)));
    body_ << fmt::format(
        R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.5" stroke-dasharray="{}"/>)",
        fmt::join(places, " "), colour, dashes);
  }
  [[nodiscard]] std::string figure(const std::string& caption) const {
    return fmt::format(
        R"(<figure><svg width="{}" height="{}" role="img">{}</svg><figcaption>{}</figcaption></figure>)",
        kWidth, kHeight, body_.str(), escaped(caption));
  }

 private:
  void frame() {
    const double bottom = kHeight - kBottom, right = kWidth - kRight;
    for (const double v : x_.ticks()) {
      body_ << fmt::format(
          R"(<line x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}" stroke="#e6e9ee"/><text x="{0:.1f}" y="{3}" text-anchor="middle">{4:.3g}</text>)",
          px(v), kTop, bottom, bottom + 15, v);
    }
    for (const double v : y_.ticks()) {
      body_ << fmt::format(
          R"(<line x1="{0}" y1="{1:.1f}" x2="{2}" y2="{1:.1f}" stroke="#e6e9ee"/><text x="{3}" y="{4:.1f}" text-anchor="end">{5:.3g}</text>)",
          kLeft, py(v), right, kLeft - 6, py(v) + 4, v);
    }
    body_ << fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="#aab2be"/>)",
                         kLeft, kTop, right - kLeft, bottom - kTop);
    body_ << fmt::format(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)", (kLeft + right) / 2,
                         kHeight - 8, escaped(x_.title));
    body_ << fmt::format(
        R"x(<text transform="translate(13 {}) rotate(-90)" text-anchor="middle">{}</text>)x",
        (kTop + bottom) / 2, escaped(y_.title));
  }

  Axis x_, y_;
  std::ostringstream body_;
};

/// Ends of an axis around values, 8 % apart from them.
Plot::Axis around(const std::vector<double>& values, std::string title) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low / 1.08, *high * 1.08, true, std::move(title)};
}

std::string plots(const TuneResult& found) {
  std::vector<double> measured, predicted;
  for (const TuneCandidate& c : found.candidates) {
    if (c.measured <= 0) continue;
    measured.push_back(c.measured * 1e3);
    predicted.push_back(std::max(c.predicted * 1e3, 1e-6));
  }
  if (measured.size() < 2) return "";
  const Plot::Axis times = around(measured, "measured, ms");
  Plot search({0.5, static_cast<double>(found.candidates.size()) + 0.5, false, "candidate"}, times);
  std::vector<std::pair<double, double>> best;
  double least = measured.front();
  for (std::size_t i = 0; i < found.candidates.size(); ++i) {
    const TuneCandidate& c = found.candidates[i];
    if (c.measured <= 0) continue;
    const double number = static_cast<double>(i + 1), ms = c.measured * 1e3;
    if (!best.empty()) best.emplace_back(number, least);
    least = std::min(least, ms);
    best.emplace_back(number, least);
    search.dot(number, ms, c.recipe.empty() ? "#c0392b" : "#2d6cb5",
               fmt::format("{:.4f} ms: {}", ms, c.text()));
  }
  search.line(best, "#2e8b57");
  Plot model(around(predicted, "predicted, ms"), times);
  const double low = std::max(times.low, *std::min_element(predicted.begin(), predicted.end()) / 1.08);
  const double high = std::min(times.high, *std::max_element(predicted.begin(), predicted.end()) * 1.08);
  if (low < high) model.line({{low, low}, {high, high}}, "#aab2be", "4 3");
  for (std::size_t i = 0, m = 0; i < found.candidates.size(); ++i) {
    const TuneCandidate& c = found.candidates[i];
    if (c.measured <= 0) continue;
    model.dot(predicted[m], measured[m], c.recipe.empty() ? "#c0392b" : "#2d6cb5", c.text());
    ++m;
  }
  return search.figure("The search: each candidate's time, and the best so far. Red: no schedule.") +
         model.figure(fmt::format("The model: rank correlation {:.2f}. Dashed: as predicted.",
                                  found.rank_correlation));
}

std::string table(const TuneResult& found) {
  std::string rows;
  const auto milliseconds = [](double time) {
    return time > 0 ? fmt::format("{:.4f}", time * 1e3) : "-";
  };
  for (const TuneCandidate& c : found.in_order()) {
    const char* kind = c.text() == found.best.text() ? "best"
                       : c.recipe.empty()            ? "plain"
                       : c.measured > 0              ? "measured"
                                                     : "refused";
    rows += fmt::format("<tr class=\"{}\"><td>{}</td><td>{}</td><td>{:.4f}</td><td>{}{}</td></tr>\n",
                        kind, milliseconds(c.measured), milliseconds(c.settled), c.predicted * 1e3,
                        escaped(c.text()), c.refused.empty() ? "" : ": " + escaped(c.refused));
  }
  return "<p>The fastest, and no schedule, were measured again in turn: this decides.</p>\n"
         "<table><thead><tr><th>measured, ms</th><th>in turn, ms</th><th>predicted, "
         "ms</th><th>schedule</th></tr>"
         "</thead><tbody>\n" +
         rows + "</tbody></table>\n";
}

std::string folded(const std::string& title, const std::string& text, bool open = false) {
  if (text.empty()) return "";
  return fmt::format("<details{}><summary>{}</summary><pre>{}</pre></details>\n", open ? " open" : "",
                     escaped(title), escaped(text));
}

/// The page around what is told of the winner.
std::string page_of(const TuneResult& found, const std::string& name,
                    const std::vector<std::int64_t>& extents, const Target& target,
                    const std::string& winner) {
  const double before = found.candidates.front().seconds();
  std::string headline = found.best.text();
  if (found.best.seconds() > 0) {
    headline += fmt::format(": {:.4f} ms", found.best.seconds() * 1e3);
    if (before > 0)
      headline +=
          fmt::format(", {:.2f} times as fast as without a schedule", before / found.best.seconds());
  }
  std::string page = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                     escaped(name) + " tuned</title><style>" + kStyle + "</style></head><body>\n";
  page += fmt::format("<h1>{} of {} on {}</h1>\n<p>{}</p>\n", escaped(name), fmt::join(extents, " x "),
                      escaped(tuning::device_name(target)), escaped(headline));
  page += fmt::format("<p>{} candidates tried of {} that the model ranked, in {:.1f} s.</p>\n",
                      found.candidates.size(), found.considered, found.seconds);
  page += plots(found) + "<h2>What was measured</h2>\n" + table(found) + "<h2>The winner</h2>\n";
  page += folded("Schedule", to_string(found.schedule), true);
  return page + winner + "</body></html>\n";
}

}  // namespace

std::string tune_report_html(const TuneResult& found, const Func& output,
                             const std::vector<std::int64_t>& extents, const Target& target) {
  std::string winner = folded("Loops", output.print_loop_nest(target), true);
  winner += folded("Plan", output.print_plan(target));
  if (target.is_gpu()) {
    std::ostringstream figures;
    TrafficOptions options;
    options.extents = extents;
    print(traffic_of(output, options), figures);
    winner += folded("Figures", figures.str()) + folded("PTX", compile_to_ptx(output));
  }
  return page_of(found, output.name(), extents, target, winner);
}

std::string tune_report_html(const TuneResult& found, const Iteration& steps, const std::string& name,
                             const std::vector<std::int64_t>& extents, const Target& target) {
  std::string winner = folded("Loops", steps.print_loop_nest(target), true);
  if (target.is_gpu()) winner += folded("PTX", steps.compile_to_ptx());
  return page_of(found, name, extents, target, winner);
}

}  // namespace mica::tools
