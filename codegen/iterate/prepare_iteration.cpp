// Iteration::prepare.
#include <algorithm>

#include "codegen/iterate/run_setup.h"

namespace mica {
namespace {

using iterate::is_inside;
using iterate::Ranges;
using iterate::text_of;

/// The buffers of `results` for the outputs of `plan`, in their order.
std::vector<AnyBuffer> outputs_of(const Iteration::State& state, const iterate::StepPlan& plan,
                                  const std::vector<RunInput>& results, const CallSite& at) {
  std::vector<AnyBuffer> outputs;
  for (const std::size_t f : plan.launches.front().fields) {
    const ImageParam& field = state.replacements[f].field;
    const auto is_its = [&](const RunInput& result) { return result.image == field.data(); };
    const auto found = std::find_if(results.begin(), results.end(), is_its);
    if (found == results.end()) {
      throw UserError("prepare was given no buffer for what field " + field.name() +
                          " holds after it: {{" + field.name() + ", buffer}, ...}",
                      at);
    }
    const Ranges box = iterate::ranges_of(found->buffer);
    if (!is_inside(box, plan.rules[f].box)) {
      throw UserError("the result for field " + field.name() + " has points " + text_of(box) +
                          ", but the steps compute " + text_of(plan.rules[f].box) +
                          ": crop it to points in there",
                      found->where);
    }
    outputs.push_back(found->buffer);
  }
  for (auto result = results.begin(); result != results.end(); ++result) {
    if (std::any_of(results.begin(), result,
                    [&](const RunInput& before) { return before.image == result->image; })) {
      throw UserError(
          "prepare was given two results for field " + result->image->name + ": name it once",
          result->where);
    }
    const std::size_t f = state.field_number(ImageParam(result->image), result->where);
    const std::vector<std::size_t>& replaced = plan.launches.front().fields;
    if (std::find(replaced.begin(), replaced.end(), f) != replaced.end()) continue;
    throw UserError("prepare was given a result for field " + result->image->name +
                        ", which holds after a step what " + state.replacements[f].input->name() +
                        " held: leave it out, and name that buffer in its place for the next step",
                    result->where);
  }
  return outputs;
}

}  // namespace

PreparedRun Iteration::prepare(const std::vector<RunInput>& fields, const std::vector<RunInput>& results,
                               const PrepareOptions& options, CallSite at) {
  State& state = *state_;
  if (!state.sources.empty() || !state.receivers.empty()) {
    throw UserError(
        "prepare makes one run of the step, but this Iteration has sources or receivers, which act "
        "after each: use run, or add them in a Func of your own",
        at);
  }
  if (state.in_place) {
    throw UserError(
        "prepare makes one run from the fields into other memory, and in_place keeps them where they "
        "are: "
        "use run, or leave in_place out",
        at);
  }
  const Target target = options.target ? *options.target : Target::best();
  const iterate::RunSetup setup(state, fields, target, options.params, at);
  setup.check_used(nullptr);
  iterate::warn_of_limits(state, options.params);
  iterate::StepPlan steps = setup.single();
  if (state.tile_steps > 1) {
    const auto tiles = setup.tile(false);
    if (tiles == nullptr) {
      throw UserError("the " + std::to_string(state.tile_steps) +
                          " steps of time_tile are not computed at once here: prepare one step, with "
                          "time_tile(1), and run it as often",
                      at);
    }
    steps = *tiles;
  }
  RunOptions given = setup.options();
  std::vector<AnyBuffer> outputs = outputs_of(state, steps, results, at);
  std::vector<AnyBuffer*> pointers;
  for (AnyBuffer& output : outputs) pointers.push_back(&output);
  iterate::give_lines(steps, given.inputs);
  given.params.insert(given.params.end(), steps.params.begin(), steps.params.end());
  given.params.emplace_back(iterate::step_param(), options.first_step, at);
  given.stream = options.stream;
  Executable& run = steps.launches.front().run;
  return run.prepare(pointers, iterate::used_by(run, given), at);
}

}  // namespace mica
