#include "schedules/tune/tune.h"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/compile.h"
#include "schedules/tune/graph_mark.h"
#include "schedules/tune/search.h"

namespace mica {

std::string TuneCandidate::text() const {
  std::string text = recipe.empty() ? "no schedule" : recipe;
  for (const auto& [name, value] : parameters) text += fmt::format(" {}={}", name, value);
  return text;
}

int TuneCandidate::steps() const { return static_cast<int>(parameter(schedules::kStepsAtOnce, 1)); }

std::int64_t TuneCandidate::parameter(const std::string& name, std::int64_t otherwise) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? otherwise : found->second;
}

std::vector<TuneCandidate> TuneResult::in_order() const {
  std::vector<TuneCandidate> order = candidates;
  const auto place = [](const TuneCandidate& c) {
    return std::pair(c.settled > 0 ? 0 : c.measured > 0 ? 1 : 2, c.seconds());
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const TuneCandidate& a, const TuneCandidate& b) { return place(a) < place(b); });
  return order;
}

std::string TuneResult::report() const {
  const auto milliseconds = [](double time) {
    return time > 0 ? fmt::format("{:11.4f}", time * 1e3) : fmt::format("{:>11}", "-");
  };
  std::string text = "measured ms  in turn ms  predicted ms  schedule\n";
  for (const TuneCandidate& c : in_order()) {
    text += fmt::format("{} {}  {:12.4f}  {}{}\n", milliseconds(c.measured), milliseconds(c.settled),
                        c.predicted * 1e3, c.text(), c.refused.empty() ? "" : "  (" + c.refused + ")");
  }
  text +=
      fmt::format("{} of {} candidates measured in {:.1f} s; rank correlation with the model {:.2f}\n",
                  std::count_if(candidates.begin(), candidates.end(),
                                [](const TuneCandidate& c) { return c.measured > 0; }),
                  considered, seconds, rank_correlation);
  const double before = candidates.front().seconds();
  if (best.seconds() > 0 && before > 0) {
    text += fmt::format("best {:.4f} ms, {:.2f} times as fast as without a schedule\n",
                        best.seconds() * 1e3, before / best.seconds());
  }
  if (!note.empty()) text += "not kept: " + note + "\n";
  return text;
}

namespace {

std::string names_of(const std::vector<Func>& funcs) {
  std::vector<std::string> names;
  for (const Func& f : funcs) names.push_back(f.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

TuneResult tune(const Func& output, const TuneOptions& options, CallSite at) {
  return tune(std::vector<Func>{output}, options, at);
}

TuneResult tune(const std::vector<Func>& outputs, const TuneOptions& options, CallSite at) {
  const Target target = options.target ? *options.target : Target::best();
  tuning::Subject subject(outputs, options.extents, target, at);
  subject.set_outputs(options.outputs, at);
  const tuning::Wanted wanted{
      .subject = subject,
      .mark = tuning::graph_mark(outputs),
      .name = names_of(outputs),
      .make_trials = [&] { return tuning::trials_of_funcs(subject, options); },
      .compile =
          [&](const TuneCandidate& candidate) {
            static_cast<void>(compile(subject.scheduled(candidate), subject.target()).kernels());
          },
      // The next realize of a Func asks the store again.
      .forget =
          [&] {
            for (const Func& f : outputs) {
              std::atomic_store(&f.function()->compiled, std::shared_ptr<CompiledFunc>());
            }
          }};
  return tuning::searched(wanted, options, at);
}

}  // namespace mica
