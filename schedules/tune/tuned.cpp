// What realize and Iteration::run ask about tuned schedules (codegen/tuned.h).
#include "codegen/tuned.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "dsl/pipeline/func_graph.h"
#include "schedules/tune/graph_mark.h"
#include "schedules/tune/store.h"
#include "schedules/tune/subject.h"
#include "schedules/tune/tune_steps.h"
#include "schedules/tune/usual.h"

namespace mica {
namespace {

std::string_view wish() {
  const char* const value = std::getenv("MICA_TUNE");
  return value == nullptr ? std::string_view() : std::string_view(value);
}
bool tune_now() { return wish() != "" && wish() != "0" && wish() != "model"; }

constexpr double kSingle = 0.5;  // seconds that a schedule of one step takes to compile for a GPU

/// Runs, or steps, in which `choice` saves the time that it takes to compile it: who has run so often is
/// taken to go on. Of several steps at once the code is long, and a few are tried.
double pays_after(const tuning::Choice& choice, const Target& target) {
  constexpr double kSeveral = 2.5, kOnHost = 0.2, kSeveralOnHost = 1;  // seconds
  if (wish() == "model") return 0;
  const bool several = choice.better.front().steps() > 1;
  const double seconds = target.is_gpu() ? (several ? kSeveral : kSingle)
                         : several       ? kSeveralOnHost
                                         : kOnHost;
  return seconds / choice.saved;
}

/// Says what a search came to.
void say(const std::string& name, const TuneResult& result) {
  const double before = result.candidates.front().seconds();
  fmt::print(stderr, "mica: tuned {} in {:.1f} s: {}{}{}\n", name, result.seconds, result.best.text(),
             result.best.seconds() > 0 && before > 0
                 ? fmt::format(", {:.4f} ms, {:.2f} times as fast as without a schedule",
                               result.best.seconds() * 1e3, before / result.best.seconds())
                 : "",
             result.note.empty() ? "" : "; not kept: " + result.note);
}

TuneCandidate found_by_tuning(const Func& output, const Target& target,
                              const std::vector<std::int64_t>& extents, const RunOptions& options) {
  TuneOptions search{.extents = extents};
  search.target = target;
  search.inputs = options.inputs;
  search.params = options.params;
  // A handle of its own: the one that is being realized keeps what is compiled for it.
  const TuneResult result = tune(Func(std::make_shared<FunctionData>(*output.function())), search);
  say(output.name(), result);
  return result.best;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return !path.empty() && std::filesystem::exists(path, ignored);
}

/// Is there anything to be asked of the store, or of a search?
bool is_searched() { return tune_now() || is_there(tuning::TuneStore::path_from_environment()); }

/// May the model choose?
bool may_choose() { return wish() != "0"; }

/// Tells the subject how a run's outputs lie in memory. False: in no way that a schedule is made for.
bool lie_as(tuning::Subject& subject, const std::vector<AnyBuffer*>& outputs) {
  std::vector<AnyBuffer> arrays;
  for (const AnyBuffer* output : outputs) arrays.push_back(*output);
  try {
    subject.set_outputs(arrays, CallSite::current());
    return true;
  } catch (const UserError&) {
    return false;
  }
}

/// What the store has for a key; where schedules are tuned now, of its very class of shapes.
std::optional<TuneCandidate> stored(const tuning::TunedKey& key) {
  const std::filesystem::path path = tuning::TuneStore::path_from_environment();
  if (!is_there(path)) return std::nullopt;  // a look makes none
  const auto entry = tuning::TuneStore(path).find(key);
  if (!entry || (tune_now() && entry->key.shape_class() != key.shape_class())) return std::nullopt;
  return entry->best;
}

/// What `work` gives; nothing, and a line on standard error, after an error.
template <typename Work>
auto or_told(const std::string& name, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& e) {
    fmt::print(stderr, "mica: no tuned schedule for {}: {}\n", name, e.what());
    return std::nullopt;
  }
}

}  // namespace

bool may_be_tuned() { return may_choose() || is_searched(); }

double asks_after(const std::vector<Func>& outputs, std::int64_t points, const Target& target) {
  // The compiler's choice took up to 2.8 times as long as a copy of its bytes (docs/tuning.md); what
  // takes longer still is asked for later than it could be.
  constexpr double kSlow = 4;
  if (!target.is_gpu() || is_searched() || wish() == "model") return 0;
  const auto runs = or_told(outputs.front().name(), [&]() -> std::optional<double> {
    const tuning::Rates rates = tuning::rates_of(target, false);
    const FuncGraph graph = collect_graph(functions_of(outputs));
    double bytes = 0;
    for (const auto& image : graph.images) bytes += image->type.bytes();
    for (const Func& output : outputs) {
      for (const Type type : output.types()) bytes += type.bytes();
    }
    const double operations = static_cast<double>(arithmetic_in(graph));
    const double a_point = bytes / rates.copy + operations / rates.instructions;
    return kSingle / (kSlow * static_cast<double>(points) * a_point);
  });
  return runs.value_or(0);
}

std::optional<TunedFunc> tuned(const Func& output, const Target& target,
                               const std::vector<AnyBuffer*>& outputs, const RunOptions& options) {
  return or_told(output.name(), [&]() -> std::optional<TunedFunc> {
    std::vector<std::int64_t> extents;
    for (const BufferDim& dim : outputs.front()->dims()) extents.push_back(dim.extent);
    std::optional<TuneCandidate> best;
    if (is_searched()) best = stored({tuning::graph_mark(output), tuning::device_name(target), extents});
    if (!best && tune_now()) best = found_by_tuning(output, target, extents, options);
    if (best ? best->recipe.empty() : !(may_choose() && tuning::is_worth_choosing(extents)))
      return std::nullopt;
    tuning::Subject subject(output, extents, target, CallSite::current());
    if (!lie_as(subject, outputs)) return std::nullopt;
    if (best) return TunedFunc{subject.scheduled(*best).front(), best->text()};
    const tuning::Choice choice = tuning::chosen(subject);
    if (choice.better.empty()) return std::nullopt;
    const TuneCandidate& one = choice.better.front();
    return TunedFunc{subject.scheduled(one).front(), one.text(), pays_after(choice, target)};
  });
}

TunedRun tuned_steps(const Iteration::State& state, const iterate::RunSetup& run) {
  const std::string name = state.outputs.front().func.name();
  const auto found = or_told(name, [&]() -> std::optional<TunedRun> {
    std::optional<TuneCandidate> best;
    if (is_searched()) {
      best = stored(tuning::step_key(state, run.boxes(), run.is_whole(), run.target()));
    }
    if (!best && tune_now()) {
      TuneOptions search;
      search.target = run.target();
      search.params = run.options().params;
      // Another state with the same steps: the one that is being run holds its own while it asks.
      const auto same = state.scheduled_as(state.funcs(), 1);
      const TuneResult result = tuning::tune_steps(*same, run.options().inputs, search, state.where);
      say(name, result);
      best = result.best;
    }
    const auto extents = tuning::extents_of(run.boxes().front());
    const bool choosable = may_choose() && tuning::is_worth_choosing(extents);
    if (best ? best->recipe.empty() : !choosable) return std::nullopt;
    const tuning::Subject subject = tuning::subject_of(state, tuning::bare(state), run, state.where);
    if (best) return TunedRun{{{subject.scheduled(*best), best->steps()}}};
    const tuning::Choice choice = tuning::chosen(subject);
    if (choice.better.empty()) return std::nullopt;
    TunedRun ways{{}, false, pays_after(choice, run.target())};
    for (const TuneCandidate& one : choice.better) {
      ways.ways.push_back({subject.scheduled(one), one.steps()});
    }
    return ways;
  });
  return found.value_or(TunedRun());
}

}  // namespace mica
