#include "bench/sweep.h"

#include <algorithm>
#include <charconv>
#include <ostream>

#include <fmt/format.h>

#include "bench/chart.h"
#include "bench/measure.h"
#include "bench/page.h"
#include "bench/report.h"
#include "dsl/expr/names.h"
#include "runtime/run/device.h"

namespace mica::bench {
namespace {

constexpr std::int64_t kMostValues = 1000;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

[[noreturn]] void refuse(const std::string& text) {
  throw UserError("--sweep " + text +
                  " is neither name=v1,v2,... nor name=first:last:step with integers from 1 on");
}

std::int64_t positive(const std::string& number, const std::string& text) {
  std::int64_t value = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || stop != end || value < 1) refuse(text);
  return value;
}

std::string dash(double value, int width, int digits) {
  return value > 0 ? fmt::format("{:>{}.{}f}", value, width, digits) : fmt::format("{:>{}}", "-", width);
}

double value_of(const Result& r, const std::string& parameter) {
  return static_cast<double>(r.parameters.at(parameter));
}

Chart chart_of(const std::vector<Result>& results, const Case& c, const Sweep& sweep,
               const Options& options) {
  Chart chart;
  const std::int64_t size = options.size > 0 ? options.size : c.size;
  chart.title =
      fmt::format("{}, {} points a side, {}", c.name, size, device_for(options.target)->name());
  chart.x_label = sweep.parameter;
  chart.y_label = "effective bandwidth, GB/s";
  Series mica{"Mica", {}}, twin{"hand-written CUDA", {}}, copy{"device copy", {}, true};
  for (const Result& r : results) {
    const double x = value_of(r, sweep.parameter);
    if (r.ms > 0) mica.points.emplace_back(x, r.bandwidth(r.ms));
    if (r.twin_ms > 0) twin.points.emplace_back(x, r.bandwidth(r.twin_ms));
    if (r.copy_ms > 0) copy.points.emplace_back(x, r.bandwidth(r.copy_ms));
  }
  // The copy does not depend on the parameter: its level is its best.
  double best = 0;
  for (const auto& [x, y] : copy.points) best = std::max(best, y);
  for (auto& [x, y] : copy.points) y = best;
  for (Series* s : {&mica, &twin, &copy}) {
    if (!s->points.empty()) chart.series.push_back(std::move(*s));
  }
  return chart;
}

void write_figure(const Chart& chart, const Figure& figure, const std::string& name, std::ostream& out) {
  const std::string svg = figure.svg.empty() ? name + ".svg" : figure.svg;
  write_text(svg, to_svg(chart));
  out << svg << "\n";
  if (!figure.png) return;
  const std::string png = (svg.ends_with(".svg") ? svg.substr(0, svg.size() - 4) : svg) + ".png";
  write_png(chart, png);
  out << png << "\n";
}

}  // namespace

Sweep parse_sweep(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse(text);
  Sweep sweep{text.substr(0, equals), {}};
  const std::string values = text.substr(equals + 1);
  const std::vector<std::string> range = split(values, ':');
  if (range.size() == 3) {
    const std::int64_t first = positive(range[0], text), last = positive(range[1], text);
    const std::int64_t step = positive(range[2], text);
    if (first <= last && (last - first) / step >= kMostValues) {
      throw UserError(fmt::format("--sweep {} has {} values; a sweep has at most {}: take a larger step",
                                  text, (last - first) / step + 1, kMostValues));
    }
    for (std::int64_t k = 0; first <= last && k <= (last - first) / step; ++k) {
      sweep.values.push_back(first + k * step);
    }
  } else {
    for (const std::string& v : split(values, ',')) sweep.values.push_back(positive(v, text));
  }
  if (sweep.values.empty()) refuse(text);
  std::sort(sweep.values.begin(), sweep.values.end());
  sweep.values.erase(std::unique(sweep.values.begin(), sweep.values.end()), sweep.values.end());
  return sweep;
}

std::vector<Result> run_sweep(const Options& options, const Sweep& sweep, const Figure& figure,
                              std::ostream& out) {
  const std::vector<Case> chosen = select_cases(options.filter);
  if (chosen.size() > 1) {
    std::string names;
    for (const Case& c : chosen) names += (names.empty() ? "" : ", ") + c.name;
    throw UserError("a sweep is of one case, and these match: " + names);
  }
  Case c = chosen.front();
  if (has_schedule(c)) {
    std::vector<std::string> known;
    for (const auto& parameter : schedules::find(c.schedule).parameters) known.push_back(parameter.name);
    if (std::find(known.begin(), known.end(), sweep.parameter) == known.end()) {
      throw UserError("--sweep " + sweep.parameter + ": schedule " + c.schedule +
                      " has no such parameter" + did_you_mean(sweep.parameter, known) + "; it has " +
                      joined(known));
    }
  }
  if (c.twin.chunk_parameter != sweep.parameter) c.twin = {};
  const bool on_gpu = options.target.backend == Backend::Cuda;
  out << fmt::format("{} on {}, median of {} interleaved runs\n", c.name,
                     device_for(options.target)->name(), options.runs);
  out << "GB/s are effective: every input read and every output written once\n";
  std::string heading =
      fmt::format("{:>12}{:>10}{:>10}{:>12}", sweep.parameter, "ms", "GB/s", "copy GB/s");
  if (on_gpu) heading += fmt::format("{:>12}{:>6}", "twin GB/s", "regs");
  out << Inked{Ink::Strong, heading} << "\n";
  std::vector<Result> results;
  for (const std::int64_t value : sweep.values) {
    c.parameters[sweep.parameter] = value;
    c.twin.chunk = value;
    try {
      const Result r = measure(c, options);
      if ((r.ms >= 0 && !r.right) || (r.twin_ms >= 0 && !r.twin_right)) {
        throw InternalError(fmt::format("the bits of {} or of its twin at {}={} differ from the host's",
                                        c.name, sweep.parameter, value));
      }
      out << fmt::format("{:>12}", value) << dash(r.ms, 10, 4) << dash(r.bandwidth(r.ms), 10, 1)
          << dash(r.bandwidth(r.copy_ms), 12, 1);
      if (on_gpu) {
        out << dash(r.bandwidth(r.twin_ms), 12, 1)
            << (r.mica.registers >= 0 ? fmt::format("{:>6}", r.mica.registers) : "     -");
      }
      out << "  " << r.note << std::endl;
      if (r.ms > 0 || r.twin_ms > 0) results.push_back(r);
    } catch (const UserError& e) {
      out << fmt::format("{:>12}  ", value) << Inked{Ink::Bad, "refused"} << ": " << e.what() << "\n";
    }
  }
  if (results.empty()) throw UserError("nothing of " + c.name + " could be measured");
  std::string name = c.name + "-" + sweep.parameter;
  std::replace(name.begin(), name.end(), '/', '-');
  write_figure(chart_of(results, c, sweep, options), figure, name, out);
  if (!options.json.empty()) write_json(options.json, options, results);
  return results;
}

}  // namespace mica::bench
