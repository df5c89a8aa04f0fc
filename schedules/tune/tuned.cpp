// What realize and Iteration::run ask about tuned schedules (codegen/tuned.h).
#include "codegen/tuned.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "schedules/tune/graph_mark.h"
#include "schedules/tune/store.h"
#include "schedules/tune/subject.h"
#include "schedules/tune/tune_steps.h"

namespace mica {
namespace {

bool tune_now() {
  const char* const value = std::getenv("MICA_TUNE");
  return value != nullptr && std::string_view(value) != "0" && std::string_view(value) != "";
}

/// Says what a search came to.
void say(const std::string& name, const TuneResult& result) {
  const double before = result.candidates.front().seconds();
  fmt::print(stderr, "mica: tuned {} in {:.1f} s: {}{}\n", name, result.seconds, result.best.text(),
             result.best.seconds() > 0 && before > 0
                 ? fmt::format(", {:.4f} ms, {:.2f} times as fast as without a schedule",
                               result.best.seconds() * 1e3, before / result.best.seconds())
                 : "");
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

/// What the store has for a key; where schedules are tuned now, of its very class of shapes.
std::optional<TuneCandidate> stored(const tuning::TunedKey& key) {
  const std::filesystem::path path = tuning::TuneStore::path_from_environment();
  if (path.empty()) return std::nullopt;
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

bool schedules_are_tuned() {
  if (tune_now()) return true;
  std::error_code ignored;
  const std::filesystem::path path = tuning::TuneStore::path_from_environment();
  return !path.empty() && std::filesystem::exists(path, ignored);
}

std::optional<TunedFunc> tuned(const Func& output, const Target& target,
                               const std::vector<std::int64_t>& extents, const RunOptions& options) {
  return or_told(output.name(), [&]() -> std::optional<TunedFunc> {
    std::optional<TuneCandidate> best =
        stored({tuning::graph_mark(output), tuning::device_name(target), extents});
    if (!best && tune_now()) best = found_by_tuning(output, target, extents, options);
    if (!best || best->recipe.empty()) return std::nullopt;
    const tuning::Subject subject(output, extents, target, CallSite::current());
    return TunedFunc{subject.scheduled(*best).front(), best->text()};
  });
}

std::optional<TunedSteps> tuned_steps(const Iteration::State& state, const Target& target,
                                      const std::vector<iterate::Ranges>& boxes, bool whole,
                                      const std::vector<RunInput>& given,
                                      const std::vector<RunParam>& params) {
  const std::string name = state.outputs.front().func.name();
  return or_told(name, [&]() -> std::optional<TunedSteps> {
    const tuning::TunedKey key = tuning::step_key(state, boxes, whole, target);
    std::optional<TuneCandidate> best = stored(key);
    if (!best && tune_now()) {
      TuneOptions search;
      search.target = target;
      search.params = params;
      // Another state with the same steps: the one that is being run holds its own while it asks.
      const auto same = state.scheduled_as(state.funcs(), 1);
      const TuneResult result = tuning::tune_steps(*same, given, search, state.where);
      say(name, result);
      best = result.best;
    }
    if (!best || best->recipe.empty()) return std::nullopt;
    const tuning::Subject subject(state.funcs(), key.extents, target, CallSite::current());
    return TunedSteps{subject.scheduled(*best), best->steps()};
  });
}

}  // namespace mica
