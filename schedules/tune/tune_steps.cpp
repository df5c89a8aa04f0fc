#include "schedules/tune/tune_steps.h"

#include <algorithm>
#include <limits>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/iterate/copy_funcs.h"
#include "codegen/iterate/patches.h"
#include "codegen/iterate/time_levels.h"
#include "schedules/tune/graph_mark.h"
#include "schedules/tune/search.h"
#include "schedules/tune/step_trials.h"

namespace mica::tuning {
namespace {

bool has_one_definition(const Func& func) {
  const auto& definitions = func.function()->definitions;
  return definitions.size() == 1 && !definitions.front().recurrence;
}

/// Steps that may be taken at once: one where others need to be looked at in between.
int most_at_once(const Iteration::State& state, const iterate::RunSetup& setup) {
  constexpr std::int64_t kMost = 64;
  const std::vector<Func> funcs = state.funcs();
  if (!std::all_of(funcs.begin(), funcs.end(), has_one_definition)) return 1;
  if (!iterate::joint_step(state, iterate::ReadFuncs::Inline).why.empty()) return 1;
  const auto most = static_cast<int>(std::min(kMost, iterate::steps_between(state)));
  const auto fits = [&](int steps) {
    return iterate::find_patches(state, steps, setup.fields(), setup.box(), setup.options()).why.empty();
  };
  int steps = 1;
  while (steps < most && fits(steps + 1)) ++steps;
  return steps;
}

Stepping stepping_of(const Iteration::State& user, const std::shared_ptr<Iteration::State>& state,
                     const iterate::RunSetup& setup) {
  Stepping stepping{.state = state, .whole = setup.is_whole(), .most = most_at_once(user, setup)};
  const std::int64_t due = iterate::steps_between(user);
  stepping.due = due == std::numeric_limits<std::int64_t>::max() ? 0 : due;
  const iterate::Ranges& box = setup.box();
  for (const RunInput& input : setup.options().inputs) {
    if (input.buffer.dimensions() != static_cast<int>(box.size())) continue;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const BufferDim& dim = input.buffer.dim(static_cast<int>(d));
      stepping.symbols[fmt::format("{}.min.{}", input.image->name, d)] = dim.min - box[d].first;
      stepping.symbols[fmt::format("{}.extent.{}", input.image->name, d)] = dim.extent;
    }
  }
  stepping.apart = !setup.is_box_of_all();
  for (std::size_t o = 0; o < state->outputs.size(); ++o) {
    const iterate::Ranges& own = setup.boxes()[o];
    const iterate::Ranges field = iterate::ranges_of(setup.fields()[state->outputs[o].fields.front()]);
    iterate::Ranges& kept = stepping.kept.emplace_back();
    for (std::size_t d = 0; d < own.size(); ++d) {
      const std::int64_t before = own[d].first - field[d].first;
      kept.emplace_back(before, field[d].second - own[d].second - before);
    }
  }
  return stepping;
}

std::string names_of(const Iteration::State& state) {
  std::vector<std::string> names;
  for (const Func& f : state.funcs()) names.push_back(f.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<std::int64_t> extents_of(const iterate::Ranges& box) {
  std::vector<std::int64_t> extents;
  for (const auto& [min, extent] : box) extents.push_back(extent);
  return extents;
}

std::shared_ptr<Iteration::State> bare(const Iteration::State& state) {
  auto same = state.scheduled_as(iterate::without_schedule(state.funcs()), 1);
  same->sources.clear();
  same->receivers.clear();
  same->callbacks.clear();
  same->limits.clear();
  same->checkpoint.reset();
  same->progress = {};
  same->bar.reset();
  return same;
}

Subject subject_of(const Iteration::State& state, const std::shared_ptr<Iteration::State>& plain,
                   const iterate::RunSetup& setup, const CallSite& at) {
  return {plain->funcs(), extents_of(setup.box()), setup.target(), at, stepping_of(state, plain, setup)};
}

TunedKey step_key(const Iteration::State& state, const std::vector<iterate::Ranges>& boxes, bool whole,
                  const Target& target) {
  return {step_mark(state, whole), device_name(target), extents_of(boxes.front())};
}

TuneResult tune_steps(Iteration::State& state, const std::vector<RunInput>& fields,
                      const TuneOptions& options, const CallSite& at) {
  if (!options.extents.empty()) {
    throw UserError(
        "tune: extents were given, but the fields of an Iteration say which points a step "
        "computes: leave them out, or say another box with over",
        at);
  }
  if (!options.outputs.empty()) {
    throw UserError(
        "tune: output arrays were given, but a step of an Iteration writes its fields: leave "
        "them out",
        at);
  }
  const Target target = options.target ? *options.target : Target::best();
  const std::shared_ptr<Iteration::State> plain = bare(state);
  std::vector<RunInput> given = fields;
  given.insert(given.end(), options.inputs.begin(), options.inputs.end());
  const iterate::RunSetup setup(*plain, given, target, options.params, at);
  setup.check_places(state);
  const Subject subject = subject_of(state, plain, setup, at);
  const Wanted wanted{.subject = subject,
                      .mark = step_mark(state, setup.is_whole()),
                      .name = names_of(state),
                      .make_trials = [&] { return trials_of_steps(subject, setup); },
                      .compile =
                          [&](const TuneCandidate& candidate) {
                            static_cast<void>(trials_of_steps(subject, setup)->compiled(candidate));
                          },
                      // The next run asks the store again.
                      .forget =
                          [&] {
                            const std::lock_guard lock(state.tuning);
                            state.tuned.clear();
                          }};
  return searched(wanted, options, at);
}

}  // namespace mica::tuning

namespace mica {

TuneResult tune(const Iteration& steps, const std::vector<RunInput>& fields, const TuneOptions& options,
                CallSite at) {
  if (steps.state()->in_place) {
    throw UserError(
        "tune compares steps with two copies of the fields, and in_place keeps one: tune the "
        "Iteration first, apply what it finds, then ask for in_place",
        at);
  }
  return tuning::tune_steps(*steps.state(), fields, options, at);
}

}  // namespace mica
