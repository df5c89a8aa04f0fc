// Iteration::run and run_until.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "codegen/iterate/checkpoint.h"
#include "codegen/iterate/field_buffers.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/progress_report.h"
#include "codegen/iterate/run_setup.h"
#include "codegen/iterate/time_levels.h"
#include "dsl/expr/names.h"
#include "dsl/expr/print.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

using iterate::FieldRule;
using iterate::Ranges;

constexpr std::int64_t kMostSteps = std::int64_t{1} << 31;  // step() is an Int(32)

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
        compiled_(state.compiled_for(target)),
        done_(first_step),
        first_(first_step) {
    const Plan& plan = compiled_.step.plan();
    fields_ = iterate::buffers_of(state, given, at);
    const std::vector<Ranges> boxes = iterate::stepped_boxes(state, plan, fields_, given, params, at);
    for (const auto& sources : state.sources) {
      sources.check_inside(fields_[state.field_number(sources.field(), at)]);
    }
    iterate::warn_of_limits(state, params);
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
    rules_ = iterate::rules_of(state, plan, boxes, at);
    make_tile(boxes);
    buffers_ = std::make_unique<iterate::FieldBuffers>(fields_, rules_, target, compiled_.copier);
  }

  [[nodiscard]] std::int64_t steps_done() const override { return done_; }
  [[nodiscard]] AnyBuffer field(const ImageParam& field, CallSite at) const override {
    return buffers_->current(state_.field_number(field, at));
  }

  /// One step, or a tile of them where `most` and what is due next leave room.
  void step(std::int64_t most) {
    const bool tiled = tile_ != nullptr && std::min(most, steps_until_due()) >= tile_->steps;
    const std::vector<FieldRule>& rules = tiled ? tile_rules_ : rules_;
    buffers_->prepare(rules);
    for (std::size_t f = 0; f < fields_.size(); ++f) all_.inputs[f].buffer = buffers_->current(f);
    all_.params.back() = RunParam(iterate::step_param(), static_cast<std::int32_t>(done_), at_);
    std::vector<AnyBuffer> outputs;
    if (tiled) {
      for (std::size_t f = 0; f < fields_.size(); ++f) outputs.push_back(buffers_->output(f));
    } else {
      for (const auto& output : state_.outputs) {
        for (const std::size_t f : output.fields) outputs.push_back(buffers_->output(f));
      }
    }
    std::vector<AnyBuffer*> pointers;
    for (AnyBuffer& output : outputs) pointers.push_back(&output);
    Executable executable = tiled ? tile_->compiled.executable : compiled_.step;
    RunOptions options = all_;
    if (tiled) options.params.insert(options.params.end(), tile_params_.begin(), tile_params_.end());
    executable.run(pointers, iterate::used_by(executable, options), at_);
    buffers_->advance();
    for (std::size_t i = 0; i < compiled_.sources.size(); ++i) {
      const iterate::Sources& sources = state_.sources[i];
      sources.add(compiled_.sources[i], current(sources.field()), done_);
    }
    for (std::size_t i = 0; i < compiled_.receivers.size(); ++i) {
      const iterate::Receivers& receivers = state_.receivers[i];
      receivers.record(compiled_.receivers[i], current(receivers.field()), done_);
    }
    done_ += tiled ? tile_->steps : 1;
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
    const Plan& plan = compiled_.step.plan();
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
  /// UserError if time_tile asked for more than `steps` steps at once; `what` has so many.
  void check_tile(std::int64_t steps, const std::string& what) const {
    if (steps == 0 || state_.tile_steps <= steps) return;
    throw UserError("time_tile(" + std::to_string(state_.tile_steps) +
                        ") asks for more steps at once than " + what + " has, " + std::to_string(steps) +
                        ": give at most that",
                    state_.tile_where);
  }
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

  [[nodiscard]] const AnyBuffer& current(const ImageParam& field) const {
    return buffers_->current(state_.field_number(field, at_));
  }

  /// Steps until a callback or a checkpoint is due.
  [[nodiscard]] std::int64_t steps_until_due() const {
    std::int64_t least = kMostSteps;
    const auto due = [&](std::int64_t every) { least = std::min(least, every - done_ % every); };
    for (const auto& callback : state_.callbacks) due(callback.every);
    if (state_.checkpoint) due(state_.checkpoint->every);
    return least;
  }

  void make_tile(const std::vector<Ranges>& boxes) {
    if (state_.tile_steps < 2) return;
    if (!state_.sources.empty() || !state_.receivers.empty()) {
      note("sources and receivers act between single steps");
      return;
    }
    const bool whole = std::all_of(fields_.begin(), fields_.end(), [&](const AnyBuffer& field) {
      return iterate::ranges_of(field) == boxes.front();
    });
    tile_ = state_.tile_for(target_, whole);
    if (!tile_->compiled.why.empty()) note(tile_->compiled.why);
    tile_rules_ = rules_;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      tile_rules_[f] = {.output = static_cast<int>(f), .box = boxes.front()};
      // What lies outside of a field that takes another's values is that one's, after as many steps.
      std::size_t from = f;
      for (int n = 0; n < tile_->steps && state_.replacements[from].input; ++n) {
        from = state_.field_number(*state_.replacements[from].input, at_);
      }
      tile_rules_[f].outside = static_cast<int>(from);
    }
    const auto& margins = tile_->levels.margins;
    const Ranges field = iterate::ranges_of(fields_[state_.outputs.front().fields.front()]);
    for (std::size_t d = 0; d < margins.size(); ++d) {
      const auto& [min, extent] = boxes.front()[d];
      const std::int64_t before = min - field[d].first;
      const std::int64_t after = field[d].second - extent - before;
      if (std::max(before, after) > iterate::TimeLevels::kWidestMargin) {
        note("more than " + std::to_string(iterate::TimeLevels::kWidestMargin) +
             " points keep their values beside the box");
        tile_ = nullptr;
        return;
      }
      tile_params_.emplace_back(margins[d].first, before, at_);
      tile_params_.emplace_back(margins[d].second, after, at_);
    }
  }

  void note(const std::string& why) const {
    std::fprintf(stderr, "note: %s: time_tile(%d) computes step by step: %s\n",
                 to_string(SourceLocation(state_.tile_where)).c_str(), state_.tile_steps, why.c_str());
  }

  Iteration::State& state_;
  Target target_;
  CallSite at_;
  Iteration::State::Compiled compiled_;
  std::int64_t done_, first_;
  std::vector<AnyBuffer> fields_;  ///< the user's
  RunOptions all_;  ///< inputs: the fields, then what else was given; params: the step last
  std::vector<FieldRule> rules_, tile_rules_;
  std::shared_ptr<const Iteration::State::Tile> tile_;  ///< null: single steps alone
  std::vector<RunParam> tile_params_;
  std::unique_ptr<iterate::FieldBuffers> buffers_;
};

void check_steps(std::int64_t first, std::int64_t steps, const CallSite& at) {
  if (first >= 0 && steps >= 0 && first <= kMostSteps - steps) return;
  throw UserError(std::to_string(steps) + " steps from step " + std::to_string(first) +
                      " on were asked for; both are 0 or more and end by 2^31",
                  at);
}

/// Judges the residual: UserErrors when it is lost.
class Residual {
 public:
  Residual(const Expr& condition, Executable judge, const UntilOptions& options, const CallSite& at)
      : text_(brief(condition)), growth_(options.growth), at_(at), condition_(std::move(judge)) {}

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
  run.check_tile(steps, "the run");
  iterate::ProgressReport progress(state_->progress, state_->bar, steps);
  try {
    while (run.steps() < steps) {
      run.step(steps - run.steps());
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
  Residual residual(condition, state_->condition_for(condition, target, at), options, at);
  Run run(*state_, fields, target, options.params, options.first_step, at);
  run.check_receivers(options.max_steps);
  run.check_used(&residual.plan());
  run.check_tile(std::min(options.check_every, options.max_steps), "check_every");
  iterate::ProgressReport progress(state_->progress, state_->bar, 0);
  IterationResult result;
  try {
    while (!(result.converged = residual.holds(run, result)) && run.steps() < options.max_steps) {
      const std::int64_t end = std::min(run.steps() + options.check_every, options.max_steps);
      while (run.steps() < end) {
        run.step(end - run.steps());
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
