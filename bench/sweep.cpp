#include "bench/sweep.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "bench/measure.h"
#include "bench/page.h"
#include "bench/report.h"
#include "bench/split.h"
#include "dsl/expr/names.h"
#include "runtime/run/device.h"
#include "tools/pictures/plot.h"

namespace mica::bench {
namespace {

constexpr std::int64_t kMostValues = 1000;

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

// Powers of two between the ends; the values themselves where there are fewer than two.
std::vector<double> ticks_of(double from, double to, const std::vector<Result>& results,
                             const std::string& parameter) {
  std::vector<double> ticks;
  for (double power = std::ceil(std::log2(from)); power <= std::log2(to); ++power) {
    ticks.push_back(std::exp2(power));
  }
  if (ticks.size() > 1) return ticks;
  ticks.clear();
  for (const Result& r : results) ticks.push_back(value_of(r, parameter));
  return ticks;
}

// Effective bandwidth from zero against the parameter's logarithm.
void draw(pictures::Page& page, const std::string& title, const std::vector<Result>& results,
          const std::string& parameter) {
  std::vector<pictures::PlotPoint> mica, twin, copy;
  double fastest = 0, best_copy = 0;
  for (const Result& r : results) {
    const double x = value_of(r, parameter);
    if (r.ms > 0) mica.push_back({x, r.bandwidth(r.ms)});
    if (r.twin_ms > 0) twin.push_back({x, r.bandwidth(r.twin_ms)});
    for (const double ms : {r.ms, r.twin_ms, r.copy_ms}) fastest = std::max(fastest, r.bandwidth(ms));
    best_copy = std::max(best_copy, r.bandwidth(r.copy_ms));
  }
  const double rim = std::exp2(0.25);
  const double from = value_of(results.front(), parameter) / rim;
  const double to = value_of(results.back(), parameter) * rim;
  // The copy does not depend on the parameter: its level is its best.
  if (best_copy > 0) copy = {{from, best_copy}, {to, best_copy}};
  pictures::Plot plot = page.plot({.left = 90, .top = 50, .width = 780, .height = 400},
                                  {parameter, from, to, true, ticks_of(from, to, results, parameter)},
                                  {"effective bandwidth, GB/s", 0, 1.35 * fastest}, title);
  const auto line = [&](const auto& points, const pictures::Color& color, const char* label) {
    if (!points.empty()) plot.curve(points, color, label).dots(points, color, "", 4, true);
  };
  line(mica, pictures::kBlue, "Mica");
  line(twin, pictures::kOrange, "hand-written CUDA");
  if (!copy.empty()) plot.curve(copy, pictures::kGray, "device copy", 2, true);
  plot.legend(pictures::Corner::TopRight);  // above everything
}

void write_figure(const std::string& title, const std::vector<Result>& results,
                  const std::string& parameter, const std::string& svg, bool also_png,
                  std::ostream& out) {
  const auto save = [&](pictures::FileKind kind, const std::string& path) {
    pictures::Page page(920, 530, kind);
    draw(page, title, results, parameter);
    page.save(path);
    out << path << "\n";
  };
  save(pictures::FileKind::Svg, svg);
  const std::string stem = svg.ends_with(".svg") ? svg.substr(0, svg.size() - 4) : svg;
  if (also_png) save(pictures::FileKind::Png, stem + ".png");
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
  const std::string title =
      fmt::format("{}, {} points a side, {}", c.name, options.size > 0 ? options.size : c.size,
                  device_for(options.target)->name());
  write_figure(title, results, sweep.parameter, figure.svg.empty() ? name + ".svg" : figure.svg,
               figure.png, out);
  if (!options.json.empty()) write_json(options.json, options, results);
  return results;
}

}  // namespace mica::bench
