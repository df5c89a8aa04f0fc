#include "tools/mica/roofline.h"

#include <algorithm>

#include <fmt/format.h>

#include "schedules/tune/predict.h"
#include "tools/mica/svg.h"

namespace mica::tools {
namespace {

/// A candidate in the plot, per second in units of 1e9.
struct Dot {
  const TuneCandidate* candidate;
  double operations = 0;
  double of_memory = 0, of_l2 = 0;  ///< operations a byte; of_l2 0: not known
};

/// Where nothing was measured, what was predicted.
double seconds_of(const TuneCandidate& candidate, bool measured) {
  return measured ? candidate.seconds() : candidate.predicted;
}

std::vector<Dot> dots_of(const TuneResult& found, const tuning::Subject& subject, bool measured) {
  std::vector<Dot> dots;
  const tuning::Features& features = subject.features();
  double bytes = features.written_bytes;
  for (const tuning::Reads& reads : features.inputs) bytes += reads.bytes;
  for (const TuneCandidate& candidate : found.candidates) {
    const double seconds = seconds_of(candidate, measured);
    if (seconds <= 0) continue;
    Dot dot{&candidate};
    double operations = features.operations * static_cast<double>(subject.points());
    if (subject.target().is_gpu()) {
      Traffic traffic;
      try {
        traffic = tuning::traffic_of(subject, candidate);
      } catch (const UserError&) {
        continue;  // it was measured before the algorithm's inputs had this form
      }
      operations = 0;
      for (const KernelTraffic& kernel : traffic.kernels)
        operations += static_cast<double>(kernel.operations);
      dot.of_memory = operations / static_cast<double>(traffic.total(&KernelTraffic::dram).sum());
      dot.of_l2 = operations / static_cast<double>(traffic.total(&KernelTraffic::l2).sum());
    } else {
      dot.of_memory = features.operations / bytes;
    }
    dot.operations = operations / seconds * 1e-9;
    if (operations > 0) dots.push_back(dot);
  }
  return dots;
}

}  // namespace

std::string roofline(const TuneResult& found, const Func& output,
                     const std::vector<std::int64_t>& extents, const Target& target) {
  const tuning::Subject subject(output, extents, target, CallSite::current());
  const bool measured = std::any_of(found.candidates.begin(), found.candidates.end(),
                                    [](const TuneCandidate& c) { return c.seconds() > 0; });
  const std::vector<Dot> dots = dots_of(found, subject, measured);
  if (dots.empty()) return "";
  const tuning::Rates rates = tuning::rates_of(target, measured);
  const bool wide = subject.features().widest > 4;
  const double peak = rates.arithmetic * (wide ? 0.5 : 1) * 1e-9;
  const double copy = rates.copy * 1e-9, l2 = rates.l2 * 1e-9;

  const bool levels = target.is_gpu();
  std::vector<double> x{peak / copy}, y{peak};
  if (levels) x.push_back(peak / l2);
  for (const Dot& dot : dots) {
    y.push_back(dot.operations);
    x.push_back(dot.of_memory);
    if (levels) x.push_back(dot.of_l2);
  }
  const SvgPlot::Axis across = SvgPlot::around(x, "operations a byte", 2);
  // The lowest roof is seen from the left edge on.
  y.push_back(std::min(peak, copy * across.low));
  const SvgPlot::Axis up = SvgPlot::around(y, "10^9 operations a second", 1.5);
  SvgPlot plot(across, up);
  const auto roof = [&](double rate, const char* style) {
    // From the left or the lower edge up to the peak.
    const double from = std::max(across.low, up.low / rate), corner = std::min(peak / rate, across.high);
    plot.line({{from, rate * from}, {corner, rate * corner}}, style);
  };
  roof(copy, "line blue");
  if (levels) roof(l2, "line orange dashed");
  const double from = levels ? std::max(across.low, peak / l2) : peak / copy;
  plot.line({{std::min(from, across.high), peak}, {across.high, peak}}, "line gray");

  const auto is_best = [&](const Dot& dot) { return dot.candidate->text() == found.best.text(); };
  for (const bool best : {false, true}) {  // the winner on top of all
    for (const Dot& dot : dots) {
      if (is_best(dot) != best) continue;
      const std::string color = best ? "green" : dot.candidate->recipe.empty() ? "red" : "blue";
      const std::string hint =
          fmt::format("{}: {:.4g} * 10^9 operations a second", dot.candidate->text(), dot.operations);
      const double radius = best ? 6 : 4;
      if (levels) {
        plot.mark(dot.of_l2, dot.operations, "ring " + color,
                  fmt::format("{}, {:.3g} a byte from the L2", hint, dot.of_l2), radius);
      }
      plot.mark(dot.of_memory, dot.operations, "dot " + color,
                fmt::format("{}, {:.3g} a byte", hint, dot.of_memory), radius);
    }
  }
  std::string caption =
      measured ? "The roofs. " : "The roofs; nothing was measured: times are those predicted. ";
  caption +=
      fmt::format("Green, large: the winner. Red: no schedule. Blue line: a copy, {:.0f} GB/s{}. ", copy,
                  measured ? ", measured" : "");
  if (levels) {
    caption += fmt::format(
        "Discs: by bytes of memory. Rings: by bytes of the L2, whose roof is dashed, {:.0f} GB/s. ", l2);
  } else {
    caption += "Bytes: each value read and written once; what stays in a cache may stand above. ";
  }
  return plot.figure(caption +
                     fmt::format("Gray: arithmetic on {}, {:.0f} * 10^9 a second, fma as two{}.",
                                 wide ? "64 bits" : "32 bits", peak,
                                 levels ? "" : ", taken from the vectors' width at 3 GHz"));
}

}  // namespace mica::tools
