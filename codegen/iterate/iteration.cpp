#include "codegen/iterate/iteration.h"

#include <algorithm>
#include <cstdio>

#include "codegen/compile.h"
#include "codegen/iterate/checkpoint.h"
#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/in_place_step.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/joint_step.h"
#include "codegen/iterate/open_edges.h"
#include "codegen/iterate/step_reach.h"
#include "dsl/expr/names.h"
#include "dsl/pipeline/func_graph.h"

namespace mica {
namespace {

void check_value(const Replacement& r) {
  const std::string arrow = r.field.name() + " after a step";
  if (r.input && r.input->data() == r.field.data()) {
    throw UserError(arrow + " holds what it held: leave this pair out", r.where);
  }
  if (r.input) {
    if (r.input->type() == r.field.type() && r.input->dimensions() == r.field.dimensions()) return;
    throw UserError(arrow + " holds what " + r.input->name() + " held, but " + r.field.name() + " has " +
                        counted(static_cast<std::size_t>(r.field.dimensions()), "dimension") + " of " +
                        to_string(r.field.type()) + " and " + r.input->name() + " has " +
                        counted(static_cast<std::size_t>(r.input->dimensions()), "dimension") + " of " +
                        to_string(r.input->type()),
                    r.where);
  }
  const Func& func = *r.func;
  if (!func.defined()) {
    throw UserError(arrow + " holds " + func.name() + ", which is not defined: write " + func.name() +
                        "(...) = ... first",
                    r.where);
  }
  const auto types = func.types();
  if (r.element < 0 || r.element >= static_cast<int>(types.size())) {
    throw UserError(func.name() + " has " + counted(types.size(), "value") + ", but element " +
                        std::to_string(r.element) + " is to replace " + r.field.name(),
                    r.where);
  }
  const Type type = types[static_cast<std::size_t>(r.element)];
  if (type == r.field.type() && func.dimensions() == r.field.dimensions()) return;
  throw UserError(arrow + " holds " + func.name() + ", but " + r.field.name() + " has " +
                      counted(static_cast<std::size_t>(r.field.dimensions()), "dimension") + " of " +
                      to_string(r.field.type()) + " and " + func.name() + " has " +
                      counted(static_cast<std::size_t>(func.dimensions()), "dimension") + " of " +
                      to_string(type),
                  r.where);
}

void check_box(const iterate::Ranges& box, int dimensions, const CallSite& at) {
  if (static_cast<int>(box.size()) != dimensions) {
    throw UserError("over was given " + counted(box.size(), "range") + ", but the fields have " +
                        counted(static_cast<std::size_t>(dimensions), "dimension") +
                        "; give {min, extent} for each",
                    at);
  }
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (box[d].second >= 1) continue;
    throw UserError("over was given an extent of " + std::to_string(box[d].second) + " in dimension " +
                        std::to_string(d) + "; it must be 1 or more",
                    at);
  }
}

}  // namespace

Replacement::Replacement(const ImageParam& field_arg, const Func& value, CallSite at)
    : Replacement(field_arg, value, 0, at) {}

Replacement::Replacement(const ImageParam& field_arg, const Func& value, int element_arg, CallSite at)
    : field(field_arg), func(value), element(element_arg), where(at) {}

Replacement::Replacement(const ImageParam& field_arg, const ImageParam& value, CallSite at)
    : field(field_arg), input(value), where(at) {}

const Param<std::int32_t>& iterate::step_param() {
  static const Param<std::int32_t> param("step");
  return param;
}

Expr step() { return iterate::step_param(); }

std::size_t Iteration::State::field_number(const ImageParam& field, const CallSite& at) const {
  std::vector<std::string> names;
  for (std::size_t f = 0; f < replacements.size(); ++f) {
    if (replacements[f].field.data() == field.data()) return f;
    names.push_back(replacements[f].field.name());
  }
  throw UserError(field.name() + " is none of the fields that this Iteration replaces" +
                      did_you_mean(field.name(), names) + ": they are " + joined(names),
                  at);
}

Iteration::State::Output& Iteration::State::output_of(const Func& func, const CallSite& at) {
  for (Output& output : outputs) {
    if (output.func.function() == func.function()) return output;
  }
  std::vector<std::string> names;
  for (const Output& output : outputs) names.push_back(output.func.name());
  throw UserError(
      func.name() + " replaces no field of this Iteration; those that do are " + joined(names), at);
}

std::vector<Func> Iteration::State::funcs() const {
  std::vector<Func> all;
  for (const Output& output : outputs) all.push_back(output.func);
  return all;
}

Iteration::State::Compiled Iteration::State::compiled_for(const Target& target) {
  const std::lock_guard lock(code->compiling);
  std::vector<Schedule> schedules;
  for (const Output& output : outputs) schedules.push_back(output.func.schedule());
  std::vector<Compiled>& known = code->compiled;
  auto found = std::find_if(known.begin(), known.end(),
                            [&](const Compiled& one) { return one.target == target; });
  if (found == known.end()) {
    found = known.emplace(found);
    found->target = target;
    found->copier = std::make_shared<iterate::BoxCopier>(target);
  }
  if (!found->step.defined() || found->schedules != schedules) {
    found->in_place = nullptr;
    if (in_place) found->in_place = std::make_shared<iterate::CompiledInPlace>(*this, target);
    found->step = in_place ? found->in_place->away : compile(funcs(), target);
    found->schedules = schedules;
  }
  for (std::size_t i = found->sources.size(); i < sources.size(); ++i) {
    found->sources.push_back(sources[i].compile_for(target));
  }
  for (std::size_t i = found->receivers.size(); i < receivers.size(); ++i) {
    found->receivers.push_back(receivers[i].compile_for(target));
  }
  return *found;
}

std::shared_ptr<Iteration::State> Iteration::State::scheduled_as(
    const std::vector<Func>& funcs, int steps, std::shared_ptr<Code> funcs_code) const {
  auto same = std::make_shared<State>();
  same->replacements = replacements;
  same->outputs = outputs;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    same->outputs[o].func = funcs[o];
    for (Replacement& r : same->replacements) {
      if (r.func && r.func->function() == outputs[o].func.function()) r.func = funcs[o];
    }
  }
  same->reads = reads;
  same->periods = periods;
  same->reach = reach;
  same->mark = mark;
  same->sources = sources;
  same->receivers = receivers;
  same->callbacks = callbacks;
  same->limits = limits;
  same->checkpoint = checkpoint;
  same->progress = progress;
  same->bar = bar;
  same->tile_steps = steps;
  same->tile_is_chosen = true;
  same->tile_where = tile_where;
  if (funcs_code != nullptr) same->code = std::move(funcs_code);
  same->where = where;
  return same;
}

Iteration::Iteration(std::vector<Replacement> replacements, CallSite at)
    : state_(std::make_shared<State>()) {
  State& s = *state_;
  s.where = at;
  s.replacements = std::move(replacements);
  if (s.replacements.empty()) {
    throw UserError("an Iteration replaces one field at least: Iteration({{u, next}})", at);
  }
  for (std::size_t f = 0; f < s.replacements.size(); ++f) {
    const Replacement& r = s.replacements[f];
    for (std::size_t before = 0; before < f; ++before) {
      if (s.replacements[before].field.data() != r.field.data()) continue;
      throw UserError("field " + r.field.name() + " is replaced twice, first" +
                          line_of(SourceLocation(s.replacements[before].where)),
                      r.where);
    }
    check_value(r);
    if (!r.func) continue;
    auto found = std::find_if(s.outputs.begin(), s.outputs.end(), [&](const State::Output& output) {
      return output.func.function() == r.func->function();
    });
    if (found == s.outputs.end()) {
      const std::vector<std::size_t> none(r.func->types().size(), s.replacements.size());
      found = s.outputs.insert(s.outputs.end(), {*r.func, none, {}, at});
    }
    std::size_t& taken = found->fields[static_cast<std::size_t>(r.element)];
    if (taken < s.replacements.size()) {
      throw UserError(r.func->name() + " is to replace both " + s.replacements[taken].field.name() +
                          " and " + r.field.name() + ": name one, and let the other hold what it held",
                      r.where);
    }
    taken = f;
  }
  if (s.outputs.empty()) {
    throw UserError("no pair of this Iteration has a Func: a step would compute nothing", at);
  }
  for (const State::Output& output : s.outputs) {
    for (std::size_t i = 0; i < output.fields.size(); ++i) {
      if (output.fields[i] < s.replacements.size()) continue;
      throw UserError("element " + std::to_string(i) + " of " + output.func.name() +
                          " replaces no field: give a pair for it, {field, " + output.func.name() +
                          ", " + std::to_string(i) + "}",
                      at);
    }
  }
  s.reads = std::make_shared<const iterate::StepReads>(s.funcs());
  std::vector<std::shared_ptr<const ImageData>> fields;
  for (const Replacement& r : s.replacements) fields.push_back(r.field.data());
  const iterate::JointStep joint = iterate::joint_step(s, iterate::ReadFuncs::Inline);
  if (joint.why.empty()) s.periods = iterate::periods_of(joint.func, fields);
  if (joint.why.empty() && !s.periods.any() && s.reads->at_remainders()) {
    // Where other dimensions have edges, one sees it when those are opened.
    if (const auto opened = iterate::open_edges(joint.func)) {
      const std::vector<Var> args = joint.func.args();
      Func inside(joint.func.name());
      inside(std::vector<Expr>(args.begin(), args.end())) = Tuple(opened->values);
      s.periods = iterate::periods_of(inside, fields);
    }
  }
  for (const Replacement& r : s.replacements) {
    const bool is_source = std::any_of(
        s.replacements.begin(), s.replacements.end(),
        [&](const Replacement& other) { return other.input && other.input->data() == r.field.data(); });
    if (is_source || s.reads->reads(r.field.data().get())) {
      if (!r.input) continue;
      (void)s.field_number(*r.input, r.where);
      continue;
    }
    throw UserError("nothing in the step reads " + r.field.name() +
                        ", which it replaces: a step computes the fields from what they held before",
                    r.where);
  }
  char mark[17];
  std::snprintf(mark, sizeof mark, "%016llx",
                static_cast<unsigned long long>(iterate::mark_of(functions_of(s.funcs()))));
  s.mark = mark;
}

Iteration& Iteration::over(std::vector<std::pair<std::int64_t, std::int64_t>> box, CallSite at) {
  for (State::Output& output : state_->outputs) {
    check_box(box, output.func.dimensions(), at);
    output.over = box;
    output.where = at;
  }
  return *this;
}

Iteration& Iteration::over(const Func& func, std::vector<std::pair<std::int64_t, std::int64_t>> box,
                           CallSite at) {
  State::Output& output = state_->output_of(func, at);
  check_box(box, func.dimensions(), at);
  output.over = std::move(box);
  output.where = at;
  return *this;
}

namespace {
[[noreturn]] void refuse_both(const CallSite& at) {
  throw UserError(
      "time_tile computes several steps from one copy of the fields into another, and in_place "
      "keeps one: ask for one of the two",
      at);
}
}  // namespace

Iteration& Iteration::time_tile(int steps, CallSite at) {
  if (steps < 1) {
    throw UserError("time_tile was given " + std::to_string(steps) + " steps; give 1 or more", at);
  }
  if (steps > 1 && state_->in_place) refuse_both(at);
  state_->tile_steps = steps;
  state_->tile_is_chosen = true;
  state_->tile_where = at;
  return *this;
}

Iteration& Iteration::in_place(CallSite at) {
  if (state_->tile_steps > 1) refuse_both(at);
  (void)iterate::make_in_place_step(*state_, at);
  state_->in_place = at;
  state_->code = std::make_shared<State::Code>();
  return *this;
}

Schedule Iteration::schedule() const {
  Schedule schedule = schedule_of(state_->funcs());
  schedule.steps = state_->tile_steps;
  return schedule;
}

Iteration& Iteration::apply(const Schedule& schedule, CallSite at) {
  if (schedule.steps < 1) {
    throw UserError(
        "the schedule takes " + std::to_string(schedule.steps) + " steps at once; 1 at least are taken",
        at);
  }
  Schedule of_step = schedule;
  of_step.steps = 1;
  placed_at(at, [&] { apply_schedule(state_->funcs(), of_step); });
  return time_tile(schedule.steps, at);
}

namespace {

void find_reach(Iteration::State& s) {
  if (s.reach != nullptr) return;
  const iterate::JointStep joint = iterate::joint_step(s, iterate::ReadFuncs::Inline);
  if (!joint.why.empty()) return;  // which time_tile refuses
  std::vector<std::shared_ptr<const ImageData>> fields;
  for (const Replacement& r : s.replacements) fields.push_back(r.field.data());
  s.reach = std::make_shared<const iterate::StepReach>(iterate::reach_of(joint.func, fields));
}

}  // namespace

Iteration& Iteration::add_at(const ImageParam& field, std::vector<Place> places, const AnyBuffer& series,
                             CallSite at) {
  (void)state_->field_number(field, at);
  state_->sources.emplace_back(field, places, series, at);
  find_reach(*state_);
  return *this;
}

Iteration& Iteration::record(const ImageParam& field, std::vector<Place> places, const AnyBuffer& values,
                             CallSite at) {
  (void)state_->field_number(field, at);
  state_->receivers.emplace_back(field, places, values, at);
  find_reach(*state_);
  return *this;
}

Iteration& Iteration::every(std::int64_t n, std::function<void(const RunningIteration&)> callback,
                            CallSite at) {
  if (n < 1) throw UserError("every was given " + std::to_string(n) + " steps; give 1 or more", at);
  state_->callbacks.push_back({n, std::move(callback)});
  return *this;
}

Iteration& Iteration::on_progress(std::function<void(std::int64_t, std::int64_t)> callback) {
  state_->progress = std::move(callback);
  return *this;
}

Iteration& Iteration::show_progress(std::string label) {
  state_->bar = std::move(label);
  return *this;
}

Iteration& Iteration::stable_if(const Expr& condition, CallSite at) {
  state_->limits.push_back({condition, at});
  return *this;
}

Iteration& Iteration::checkpoint(std::string path, std::int64_t every_steps, CallSite at) {
  if (every_steps < 1) {
    throw UserError("checkpoint was given " + std::to_string(every_steps) + " steps; give 1 or more",
                    at);
  }
  state_->checkpoint = {std::move(path), every_steps};
  return *this;
}

std::int64_t Iteration::resume(const std::string& path, const std::vector<RunInput>& fields,
                               CallSite at) const {
  std::vector<iterate::SavedField> saved;
  for (const Replacement& r : state_->replacements) {
    const auto given = std::find_if(fields.begin(), fields.end(),
                                    [&](const RunInput& in) { return in.image == r.field.data(); });
    if (given == fields.end()) {
      throw UserError("resume was given no buffer for field " + r.field.name(), at);
    }
    saved.push_back({r.field.name(), given->buffer});
  }
  return iterate::read_checkpoint(path, state_->mark, saved, at);
}

}  // namespace mica
