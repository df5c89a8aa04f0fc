// What realize asks about tuned schedules (codegen/tuned.h).
#include "codegen/tuned.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "schedules/tune/graph_mark.h"
#include "schedules/tune/store.h"
#include "schedules/tune/subject.h"

namespace mica {
namespace {

bool tune_now() {
  const char* const value = std::getenv("MICA_TUNE");
  return value != nullptr && std::string_view(value) != "0" && std::string_view(value) != "";
}

TuneCandidate found_by_tuning(const Func& output, const Target& target,
                              const std::vector<std::int64_t>& extents, const RunOptions& options) {
  TuneOptions search{.extents = extents};
  search.target = target;
  search.inputs = options.inputs;
  search.params = options.params;
  // A handle of its own: the one that is being realized keeps what is compiled for it.
  const TuneResult result = tune(Func(std::make_shared<FunctionData>(*output.function())), search);
  const double before = result.candidates.front().seconds();
  fmt::print(stderr, "mica: tuned {} in {:.1f} s: {}{}\n", output.name(), result.seconds,
             result.best.text(),
             result.best.seconds() > 0 && before > 0
                 ? fmt::format(", {:.4f} ms, {:.2f} times as fast as without a schedule",
                               result.best.seconds() * 1e3, before / result.best.seconds())
                 : "");
  return result.best;
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
  try {
    std::optional<TuneCandidate> best;
    const std::filesystem::path path = tuning::TuneStore::path_from_environment();
    if (!path.empty()) {
      const tuning::TunedKey key{tuning::graph_mark(output), tuning::device_name(target), extents};
      const auto entry = tuning::TuneStore(path).find(key);
      if (entry && (!tune_now() || entry->key.shape_class() == key.shape_class())) best = entry->best;
    }
    if (!best && tune_now()) best = found_by_tuning(output, target, extents, options);
    if (!best || best->recipe.empty()) return std::nullopt;
    const tuning::Subject subject(output, extents, target, CallSite::current());
    return TunedFunc{subject.scheduled(*best), best->text()};
  } catch (const Error& e) {
    fmt::print(stderr, "mica: no tuned schedule for {}: {}\n", output.name(), e.what());
    return std::nullopt;
  }
}

}  // namespace mica
