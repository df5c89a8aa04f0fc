// Iteration::run and run_until.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>

#include "codegen/iterate/checkpoint.h"
#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/progress_report.h"
#include "dsl/expr/names.h"
#include "dsl/expr/print.h"
#include "dsl/expr/traverse.h"
#include "runtime/run/evaluate.h"

namespace mica {
namespace {

using iterate::FieldRule;
using iterate::Ranges;

/// The buffer that `input` stands for in this run: undefined if nothing is set.
AnyBuffer buffer_of(const std::shared_ptr<const ImageData>& image, const std::vector<RunInput>& given) {
  for (const RunInput& input : given) {
    if (input.image == image) return input.buffer;
  }
  const std::shared_ptr<AnyBuffer> bound = std::atomic_load(&image->bound);
  return bound != nullptr ? *bound : AnyBuffer();
}

/// The user's buffers of the fields, in the order of the pairs.
std::vector<AnyBuffer> buffers_of(const Iteration::State& s, const std::vector<RunInput>& given,
                                  const CallSite& at) {
  std::vector<AnyBuffer> fields;
  for (const Replacement& r : s.replacements) {
    const auto is_field = [&](const RunInput& input) { return input.image == r.field.data(); };
    const auto found = std::find_if(given.begin(), given.end(), is_field);
    if (found == given.end()) {
      throw UserError("the run was given no buffer for field " + r.field.name() + ": {{" +
                          r.field.name() + ", buffer}, ...}",
                      at);
    }
    if (std::count_if(given.begin(), given.end(), is_field) > 1) {
      throw UserError("the run was given field " + r.field.name() + " twice: name it once", at);
    }
    for (std::size_t before = 0; before < fields.size(); ++before) {
      if (!fields[before].overlaps(found->buffer)) continue;
      throw UserError("the buffers of fields " + s.replacements[before].field.name() + " and " +
                          r.field.name() + " share memory: give each its own",
                      at);
    }
    fields.push_back(found->buffer);
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const Replacement& r = s.replacements[f];
    if (!r.input) continue;
    const AnyBuffer& other = fields[s.field_number(*r.input, at)];
    if (iterate::ranges_of(other) == iterate::ranges_of(fields[f])) continue;
    throw UserError("after a step " + r.field.name() + " holds what " + r.input->name() +
                        " held, but their buffers have other boxes: " + fields[f].describe() + " and " +
                        other.describe(),
                    at);
  }
  return fields;
}

/// The points at which all fields of an output have elements.
Ranges common_box(const Iteration::State::Output& output, const std::vector<AnyBuffer>& fields) {
  Ranges common = iterate::ranges_of(fields[output.fields.front()]);
  for (const std::size_t f : output.fields) {
    const Ranges other = iterate::ranges_of(fields[f]);
    for (std::size_t d = 0; d < common.size(); ++d) {
      const std::int64_t begin = std::max(common[d].first, other[d].first);
      const std::int64_t end =
          std::min(common[d].first + common[d].second, other[d].first + other[d].second);
      common[d] = {begin, end - begin};
    }
  }
  return common;
}

/// The boxes that a step computes, by output.
std::vector<Ranges> stepped_boxes(const Iteration::State& s, const Plan& plan,
                                  const std::vector<AnyBuffer>& fields,
                                  const std::vector<RunInput>& given,
                                  const std::vector<RunParam>& params, const CallSite& at) {
  std::vector<Ranges> boxes;
  std::vector<bool> fixed;
  for (const auto& output : s.outputs) {
    Ranges box = common_box(output, fields);
    if (output.over) {
      for (std::size_t d = 0; d < box.size(); ++d) {
        const auto& [min, extent] = (*output.over)[d];
        if (min >= box[d].first && min + extent <= box[d].first + box[d].second) continue;
        throw UserError("over asks for points " + std::to_string(min) + " to " +
                            std::to_string(min + extent - 1) + " of dimension " + std::to_string(d) +
                            ", but the buffers that " + output.func.name() + " replaces hold " +
                            std::to_string(box[d].first) + " to " +
                            std::to_string(box[d].first + box[d].second - 1),
                        output.where);
      }
      box = *output.over;
    }
    boxes.push_back(box);
    fixed.push_back(output.over.has_value());
  }
  std::vector<std::pair<const ImageData*, AnyBuffer>> inputs;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.image == nullptr) continue;
    const AnyBuffer bound = buffer_of(buffer.image, given);
    if (!bound.defined()) {
      throw UserError("input " + buffer.image->name + " is not set: name it beside the fields, {" +
                          buffer.image->name + ", buffer}",
                      at);
    }
    inputs.emplace_back(buffer.image.get(), bound);
  }
  std::map<const ParamData*, std::int64_t> values;
  for (const Plan::Scalar& scalar : plan.scalars) {
    if (scalar.param->type.is_float()) continue;
    std::uint64_t bits = scalar.param->bits;
    for (const RunParam& param : params) {
      if (param.param == scalar.param) bits = param.bits;
    }
    values[scalar.param.get()] = unpack_value(bits, scalar.param->type).i;
  }
  return s.reads->inside(std::move(boxes), fixed, inputs, values, at);
}

std::vector<FieldRule> rules_of(const Iteration::State& s, const Plan& plan,
                                const std::vector<Ranges>& boxes, const CallSite& at) {
  std::vector<std::string> outputs;
  std::map<std::string, int> fields;
  for (const PlanBuffer& buffer : plan.buffers) {
    if (buffer.is_output) outputs.push_back(buffer.name);
    for (std::size_t f = 0; f < s.replacements.size(); ++f) {
      if (buffer.image == s.replacements[f].field.data()) fields[buffer.name] = static_cast<int>(f);
    }
  }
  std::vector<FieldRule> rules(s.replacements.size());
  int number = 0;
  for (std::size_t o = 0; o < s.outputs.size(); ++o) {
    for (const std::size_t f : s.outputs[o].fields) {
      rules[f].output = number;
      rules[f].box = boxes[o];
      for (const PlanSharing& pair : plan.sharing) {
        if (pair.output != outputs[static_cast<std::size_t>(number)] || !pair.obstacle.empty()) continue;
        const auto found = fields.find(pair.input);
        if (found != fields.end()) rules[f].may_overwrite.push_back(found->second);
      }
      ++number;
    }
  }
  for (std::size_t f = 0; f < rules.size(); ++f) {
    const auto& input = s.replacements[f].input;
    if (input) rules[f].field = static_cast<int>(s.field_number(*input, at));
  }
  return rules;
}

void warn_of_limits(const Iteration::State& s, const std::vector<RunParam>& params) {
  for (const auto& limit : s.limits) {
    iterate::Condition condition(limit.condition, {}, Target::host(), limit.where);
    const iterate::Judgement now = condition.evaluate({.params = params});
    if (now.holds) continue;
    std::fprintf(stderr,
                 "warning: %s: the limit of stability %s does not hold: its left side is %g; the steps "
                 "may grow without bounds\n",
                 to_string(SourceLocation(limit.where)).c_str(), brief(limit.condition).c_str(),
                 now.value);
  }
}

bool reads(const Plan& plan, const RunInput& input) {
  return std::any_of(plan.buffers.begin(), plan.buffers.end(),
                     [&](const PlanBuffer& buffer) { return buffer.image == input.image; });
}

bool reads(const Plan& plan, const RunParam& param) {
  return std::any_of(plan.scalars.begin(), plan.scalars.end(),
                     [&](const Plan::Scalar& scalar) { return scalar.param == param.param; });
}

bool mentions(const Expr& e, const RunParam& param) {
  bool found = false;
  walk(e, [&](const Expr& node) {
    const auto* ref = node.as<ParamRef>();
    found = found || (ref != nullptr && ref->param == param.param);
  });
  return found;
}

/// One run, between its first step and its last.
class Run final : public RunningIteration {
 public:
  Run(Iteration::State& state, const std::vector<RunInput>& given, const Target& target,
      const std::vector<RunParam>& params, std::int64_t first_step, const CallSite& at)
      : state_(state),
        target_(target),
        at_(at),
        executable_(state.executable_for(target)),
        done_(first_step),
        first_(first_step) {
    const Plan& plan = executable_.plan();
    fields_ = buffers_of(state, given, at);
    const std::vector<Ranges> boxes = stepped_boxes(state, plan, fields_, given, params, at);
    for (const auto& sources : state.sources) {
      sources.check_inside(fields_[state.field_number(sources.field(), at)]);
    }
    warn_of_limits(state, params);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      all_.inputs.emplace_back(state.replacements[f].field, fields_[f], at);
    }
    for (const RunInput& input : given) {
      const bool is_field = std::any_of(all_.inputs.begin(), all_.inputs.end(),
                                        [&](const RunInput& f) { return f.image == input.image; });
      if (!is_field) all_.inputs.push_back(input);
    }
    all_.params = params;
    all_.params.emplace_back(iterate::step_param(), static_cast<std::int32_t>(first_step), at);
    buffers_ =
        std::make_unique<iterate::FieldBuffers>(fields_, rules_of(state, plan, boxes, at), target);
  }

  [[nodiscard]] std::int64_t steps_done() const override { return done_; }
  [[nodiscard]] AnyBuffer field(const ImageParam& field, CallSite at) const override {
    return buffers_->current(state_.field_number(field, at));
  }

  void step() {
    buffers_->prepare();
    for (std::size_t f = 0; f < fields_.size(); ++f) all_.inputs[f].buffer = buffers_->current(f);
    const auto number = static_cast<std::int32_t>(done_);
    all_.params.back() = RunParam(iterate::step_param(), number, at_);
    std::vector<AnyBuffer> outputs;
    for (const auto& output : state_.outputs) {
      for (const std::size_t f : output.fields) outputs.push_back(buffers_->output(f));
    }
    std::vector<AnyBuffer*> pointers;
    for (AnyBuffer& output : outputs) pointers.push_back(&output);
    executable_.run(pointers, iterate::used_by(executable_, all_), at_);
    buffers_->advance();
    for (auto& sources : state_.sources) {
      sources.add(buffers_->current(state_.field_number(sources.field(), at_)), done_, target_);
    }
    for (auto& receivers : state_.receivers) {
      receivers.record(buffers_->current(state_.field_number(receivers.field(), at_)), done_, target_);
    }
    ++done_;
  }

  /// What is due between this step and the next.
  void call_back() {
    for (const auto& callback : state_.callbacks) {
      if (done_ % callback.every == 0) callback.call(*this);
    }
    if (state_.checkpoint && done_ % state_.checkpoint->every == 0) save();
  }

  void finish() { buffers_->finish(); }
  void save_last() {
    if (state_.checkpoint && done_ % state_.checkpoint->every != 0) save();
  }
  /// finish, whatever goes wrong: another error is on its way.
  void finish_after_error() noexcept {
    try {
      finish();
    } catch (const std::exception&) {  // the first error says more
    }
  }

  /// UserErrors: an input or a Param was given that neither the step nor `until`, if there is one, uses.
  void check_used(const Plan* until) const {
    const Plan& plan = executable_.plan();
    for (std::size_t i = fields_.size(); i < all_.inputs.size(); ++i) {
      const RunInput& input = all_.inputs[i];
      if (reads(plan, input) || (until != nullptr && reads(*until, input))) continue;
      throw UserError("the run is given input " + input.image->name + ", which no step reads",
                      input.where);
    }
    for (std::size_t i = 0; i + 1 < all_.params.size(); ++i) {
      const RunParam& param = all_.params[i];
      bool used = reads(plan, param) || (until != nullptr && reads(*until, param));
      for (const auto& limit : state_.limits) used = used || mentions(limit.condition, param);
      if (used) continue;
      throw UserError("the run is given Param " + param.param->name + ", which no step uses",
                      param.where);
    }
  }

  [[nodiscard]] RunOptions options_now() {
    for (std::size_t f = 0; f < fields_.size(); ++f) all_.inputs[f].buffer = buffers_->current(f);
    return all_;
  }
  [[nodiscard]] std::int64_t steps() const { return done_ - first_; }
  void check_receivers(std::int64_t steps) const {
    for (const auto& receivers : state_.receivers) {
      receivers.check(fields_[state_.field_number(receivers.field(), at_)], first_, steps);
    }
  }

 private:
  void save() {
    std::vector<iterate::SavedField> saved;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      saved.push_back({state_.replacements[f].field.name(), buffers_->current(f)});
    }
    iterate::write_checkpoint(state_.checkpoint->path, state_.mark, done_, saved);
  }

  Iteration::State& state_;
  Target target_;
  CallSite at_;
  Executable executable_;
  std::int64_t done_, first_;
  std::vector<AnyBuffer> fields_;  ///< the user's
  RunOptions all_;  ///< inputs: the fields, then what else was given; params: the step last
  std::unique_ptr<iterate::FieldBuffers> buffers_;
};

constexpr std::int64_t kMostSteps = std::int64_t{1} << 31;  // step() is an Int(32)

void check_steps(std::int64_t first, std::int64_t steps, const CallSite& at) {
  if (first >= 0 && steps >= 0 && first <= kMostSteps - steps) return;
  throw UserError(std::to_string(steps) + " steps from step " + std::to_string(first) +
                      " on were asked for; both are 0 or more and end by 2^31",
                  at);
}

/// Judges the residual: UserErrors when it is lost.
class Residual {
 public:
  Residual(const Expr& condition, const std::vector<Func>& steps, const UntilOptions& options,
           const Target& target, const CallSite& at)
      : text_(brief(condition)),
        growth_(options.growth),
        at_(at),
        condition_(condition, steps, target, at) {}

  [[nodiscard]] const Plan& plan() const { return condition_.plan(); }

  bool holds(Run& run, IterationResult& result) {
    const iterate::Judgement now = condition_.evaluate(run.options_now());
    result.value = now.value;
    const std::string after = " after " + counted(static_cast<std::size_t>(run.steps_done()), "step");
    if (std::isnan(now.value)) {
      throw UserError("the left side of " + text_ + " is NaN" + after +
                          ": the fields are as at that step; is the time step too long?",
                      at_);
    }
    if (least_ && now.value > growth_ * *least_ && !now.holds) {
      throw UserError("the left side of " + text_ + " grows: it is " + std::to_string(now.value) +
                          after + ", and was " + std::to_string(*least_) + " at its least, after " +
                          std::to_string(least_at_) + ": the fields are as at that step",
                      at_);
    }
    if (!least_ || now.value < *least_) {
      least_ = now.value;
      least_at_ = run.steps_done();
    }
    return now.holds;
  }

 private:
  std::string text_;
  double growth_;
  CallSite at_;
  iterate::Condition condition_;
  std::optional<double> least_;
  std::int64_t least_at_ = 0;
};

}  // namespace

IterationResult Iteration::run(const std::vector<RunInput>& fields, std::int64_t steps,
                               const IterationOptions& options, CallSite at) {
  check_steps(options.first_step, steps, at);
  Run run(*state_, fields, options.target ? *options.target : Target::best(), options.params,
          options.first_step, at);
  run.check_receivers(steps);
  run.check_used(nullptr);
  iterate::ProgressReport progress(state_->progress, state_->bar, steps);
  try {
    while (run.steps() < steps) {
      run.step();
      run.call_back();
      progress.update(run.steps());
    }
    run.save_last();
    progress.finish(run.steps());
  } catch (...) {
    run.finish_after_error();
    throw;
  }
  run.finish();
  return {.steps = steps};
}

IterationResult Iteration::run_until(const std::vector<RunInput>& fields, const Expr& condition,
                                     const UntilOptions& options, CallSite at) {
  check_steps(options.first_step, options.max_steps, at);
  if (options.check_every < 1) {
    throw UserError("check_every is " + std::to_string(options.check_every) + "; give 1 step or more",
                    at);
  }
  const Target target = options.target ? *options.target : Target::best();
  std::vector<Func> steps;
  for (const auto& output : state_->outputs) steps.push_back(output.func);
  Residual residual(condition, steps, options, target, at);
  Run run(*state_, fields, target, options.params, options.first_step, at);
  run.check_receivers(options.max_steps);
  run.check_used(&residual.plan());
  iterate::ProgressReport progress(state_->progress, state_->bar, 0);
  IterationResult result;
  try {
    while (!(result.converged = residual.holds(run, result)) && run.steps() < options.max_steps) {
      for (std::int64_t i = 0; i < options.check_every && run.steps() < options.max_steps; ++i) {
        run.step();
        run.call_back();
        progress.update(run.steps());
      }
    }
    run.save_last();
    progress.finish(run.steps());
  } catch (...) {
    run.finish_after_error();
    throw;
  }
  run.finish();
  result.steps = run.steps();
  return result;
}

}  // namespace mica
