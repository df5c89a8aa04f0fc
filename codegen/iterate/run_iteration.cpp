// Iteration::run and run_until.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>

#include "codegen/iterate/checkpoint.h"
#include "codegen/iterate/iteration_state.h"
#include "codegen/iterate/progress_report.h"
#include "codegen/iterate/run_setup.h"
#include "codegen/iterate/step_runs.h"
#include "codegen/iterate/time_levels.h"
#include "dsl/expr/names.h"
#include "dsl/expr/print.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

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
  /// `at_once`: the steps between two looks at a condition, or all of the run's.
  Run(Iteration::State& state, const std::vector<RunInput>& given, const Target& target,
      const std::vector<RunParam>& params, std::int64_t first_step, std::int64_t at_once,
      const CallSite& at)
      : state_(state),
        target_(target),
        at_(at),
        compiled_(state.compiled_for(target)),
        done_(first_step),
        first_(first_step) {
    const Plan& plan = compiled_.step.plan();
    fields_ = iterate::buffers_of(state, given, at);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      given_.inputs.emplace_back(state.replacements[f].field, fields_[f], at);
    }
    for (const RunInput& input : given) {
      const bool is_field = std::any_of(given_.inputs.begin(), given_.inputs.end(),
                                        [&](const RunInput& f) { return f.image == input.image; });
      if (!is_field) given_.inputs.push_back(input);
    }
    given_.params = params;
    keep_what_is_set(plan);
    const std::vector<Ranges> boxes =
        iterate::stepped_boxes(state, plan, fields_, given_.inputs, given_.params, at);
    for (const auto& sources : state.sources) {
      sources.check_inside(fields_[state.field_number(sources.field(), at)]);
    }
    iterate::warn_of_limits(state, params);
    iterate::StepPlan single{.run = compiled_.step, .rules = iterate::rules_of(state, plan, boxes, at)};
    for (const auto& output : state.outputs) {
      single.fields.insert(single.fields.end(), output.fields.begin(), output.fields.end());
    }
    auto tile = make_tile(single, boxes);
    std::int64_t stretch = at_once;
    for (const auto& callback : state.callbacks) stretch = std::min(stretch, callback.every);
    if (state.checkpoint) stretch = std::min(stretch, state.checkpoint->every);
    steps_ = std::make_unique<iterate::StepRuns>(state, compiled_, given_, std::move(single),
                                                 std::move(tile), stretch, at);
  }

  [[nodiscard]] std::int64_t steps_done() const override { return done_; }
  [[nodiscard]] AnyBuffer field(const ImageParam& field, CallSite at) const override {
    return current(state_.field_number(field, at));
  }

  /// Steps up to the next at which something is due, `most` at most, and what is due then.
  void advance(std::int64_t most, std::int64_t left) {
    done_ += steps_->advance(done_, std::min(most, steps_until_due()), left);
    for (const auto& callback : state_.callbacks) {
      if (done_ % callback.every == 0) callback.call(*this);
    }
    if (state_.checkpoint && done_ % state_.checkpoint->every == 0) save();
  }

  void finish() { steps_->finish(); }
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

  /// UserErrors before the first step. `until`: of the condition, if there is one. `what` has `at_once`
  /// steps.
  void check(const Plan* until, std::int64_t steps, std::int64_t at_once,
             const std::string& what) const {
    for (const auto& receivers : state_.receivers) {
      receivers.check(fields_[state_.field_number(receivers.field(), at_)], first_, steps);
    }
    check_used(until);
    if (at_once == 0 || state_.tile_steps <= at_once) return;
    throw UserError("time_tile(" + std::to_string(state_.tile_steps) +
                        ") asks for more steps at once than " + what + " has, " +
                        std::to_string(at_once) + ": give at most that",
                    state_.tile_where);
  }

  [[nodiscard]] RunOptions options_now() const { return steps_->options_now(); }
  [[nodiscard]] std::int64_t steps() const { return done_ - first_; }

 private:
  /// Inputs and Params that the run is not given have all along what they hold when it begins.
  void keep_what_is_set(const Plan& plan) {
    for (const PlanBuffer& buffer : plan.buffers) {
      if (buffer.image == nullptr || buffer.image->is_buffer) continue;
      const bool known = std::any_of(given_.inputs.begin(), given_.inputs.end(),
                                     [&](const RunInput& in) { return in.image == buffer.image; });
      const std::shared_ptr<AnyBuffer> bound = std::atomic_load(&buffer.image->bound);
      if (!known && bound != nullptr) given_.inputs.emplace_back(ImageParam(buffer.image), *bound, at_);
    }
    for (const Plan::Scalar& scalar : plan.scalars) {
      const bool known = std::any_of(given_.params.begin(), given_.params.end(),
                                     [&](const RunParam& p) { return p.param == scalar.param; });
      if (known || scalar.param == iterate::step_param().data()) continue;
      RunParam value(iterate::step_param(), 0, at_);
      value.param = scalar.param;
      value.bits = scalar.param->bits.load();
      given_.params.push_back(value);
    }
  }

  /// An input or a Param was given that neither the step nor `until`, if there is one, uses.
  void check_used(const Plan* until) const {
    const Plan& plan = compiled_.step.plan();
    for (std::size_t i = fields_.size(); i < given_.inputs.size(); ++i) {
      const RunInput& input = given_.inputs[i];
      if (reads(plan, input) || (until != nullptr && reads(*until, input))) continue;
      throw UserError("the run is given input " + input.image->name + ", which no step reads",
                      input.where);
    }
    for (const RunParam& param : given_.params) {
      bool used = reads(plan, param) || (until != nullptr && reads(*until, param));
      for (const auto& limit : state_.limits) used = used || mentions(limit.condition, param);
      if (used) continue;
      throw UserError("the run is given Param " + param.param->name + ", which no step uses",
                      param.where);
    }
  }

  void save() {
    std::vector<iterate::SavedField> saved;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      saved.push_back({state_.replacements[f].field.name(), current(f)});
    }
    iterate::write_checkpoint(state_.checkpoint->path, state_.mark, done_, saved);
  }

  [[nodiscard]] const AnyBuffer& current(std::size_t field) const {
    return steps_->fields().current(field);
  }

  /// Steps until a callback or a checkpoint is due.
  [[nodiscard]] std::int64_t steps_until_due() const {
    std::int64_t least = kMostSteps;
    const auto due = [&](std::int64_t every) { least = std::min(least, every - done_ % every); };
    for (const auto& callback : state_.callbacks) due(callback.every);
    if (state_.checkpoint) due(state_.checkpoint->every);
    return least;
  }

  /// Can all that a tile reads be given in_lines of the stepped box? Fields may come to be in memory of
  /// Mica's, which can.
  [[nodiscard]] bool has_lines(const std::vector<iterate::FieldRule>& rules, const Ranges& box) const {
    if (!target_.is_gpu() || iterate::asks_for_row_ends(state_)) return false;
    for (std::size_t i = 0; i < given_.inputs.size(); ++i) {
      const AnyBuffer& input = given_.inputs[i].buffer;
      const bool leaves =
          i < rules.size() && rules[i].output >= 0 && !iterate::has_aligned_rows(input, box);
      if (!leaves && !iterate::in_lines(input, box[0].first).defined()) return false;
    }
    return true;
  }

  /// How several steps at once are computed; null: they are not.
  std::unique_ptr<iterate::StepPlan> make_tile(const iterate::StepPlan& single,
                                               const std::vector<Ranges>& boxes) {
    if (state_.tile_steps < 2) return nullptr;
    const auto note = [&](const std::string& why) {
      std::fprintf(stderr, "note: %s: time_tile(%d) computes step by step: %s\n",
                   to_string(SourceLocation(state_.tile_where)).c_str(), state_.tile_steps, why.c_str());
    };
    if (!state_.sources.empty() || !state_.receivers.empty()) {
      note("sources and receivers act between single steps");
      return nullptr;
    }
    const bool whole = std::all_of(fields_.begin(), fields_.end(), [&](const AnyBuffer& field) {
      return iterate::ranges_of(field) == boxes.front();
    });
    const bool in_lines = !whole && has_lines(single.rules, boxes.front());
    const auto made = state_.tile_for(target_, whole, in_lines);
    if (!made->compiled.why.empty()) note(made->compiled.why);
    auto tile = std::make_unique<iterate::StepPlan>();
    if (in_lines && made->compiled.why.empty()) tile->lines_from = boxes.front()[0].first;
    tile->run = made->compiled.executable;
    tile->steps = made->steps;
    tile->rules = single.rules;
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      tile->fields.push_back(f);
      tile->rules[f] = {.output = static_cast<int>(f), .box = boxes.front()};
      // What lies outside of a field that takes another's values is that one's, after as many steps.
      std::size_t from = f;
      for (int n = 0; n < tile->steps && state_.replacements[from].input; ++n) {
        from = state_.field_number(*state_.replacements[from].input, at_);
      }
      tile->rules[f].outside = static_cast<int>(from);
    }
    const auto& margins = made->levels.margins;
    const AnyBuffer& first = fields_[state_.outputs.front().fields.front()];
    Ranges field = iterate::ranges_of(first);
    if (tile->lines_from) field = iterate::in_lines(first.type(), field, *tile->lines_from);
    for (std::size_t d = 0; d < margins.size(); ++d) {
      const auto& [min, extent] = boxes.front()[d];
      const std::int64_t before = min - field[d].first;
      const std::int64_t after = field[d].second - extent - before;
      if (std::max(before, after) > iterate::TimeLevels::kWidestMargin) {
        note("more than " + std::to_string(iterate::TimeLevels::kWidestMargin) +
             " points keep their values beside the box");
        return nullptr;
      }
      tile->params.emplace_back(margins[d].first, before, at_);
      tile->params.emplace_back(margins[d].second, after, at_);
    }
    return tile;
  }

  Iteration::State& state_;
  Target target_;
  CallSite at_;
  Iteration::State::Compiled compiled_;
  std::int64_t done_, first_;
  std::vector<AnyBuffer> fields_;  ///< the user's
  RunOptions given_;               ///< inputs: the fields, then what else was given
  std::unique_ptr<iterate::StepRuns> steps_;
};

/// Carries a run out: `loop` calls advance and reports. Whatever happens, the user's buffers hold the
/// fields after it.
template <typename Loop>
void carry_out(Run& run, const Iteration::State& state, std::int64_t total, const Loop& loop) {
  iterate::ProgressReport progress(state.progress, state.bar, total);
  try {
    loop([&](std::int64_t end, std::int64_t last) {
      while (run.steps() < end) {
        run.advance(end - run.steps(), last - run.steps());
        progress.update(run.steps());
      }
    });
    run.save_last();
    progress.finish(run.steps());
  } catch (...) {
    run.finish_after_error();
    throw;
  }
  run.finish();
}

void check_steps(std::int64_t first, std::int64_t steps, const CallSite& at) {
  if (first >= 0 && steps >= 0 && first <= kMostSteps - steps) return;
  throw UserError(std::to_string(steps) + " steps from step " + std::to_string(first) +
                      " on were asked for; both are 0 or more and end by 2^31",
                  at);
}

/// Judges the residual: UserErrors when it is lost.
class Residual {
 public:
  Residual(std::shared_ptr<const iterate::Condition> condition, std::string text,
           const UntilOptions& options, const CallSite& at)
      : condition_(std::move(condition)), text_(std::move(text)), growth_(options.growth), at_(at) {}

  bool holds(Run& run, IterationResult& result) {
    const iterate::Judgement now = condition_->evaluate(run.options_now());
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
  std::shared_ptr<const iterate::Condition> condition_;
  std::string text_;
  double growth_;
  CallSite at_;
  std::optional<double> least_;
  std::int64_t least_at_ = 0;
};

}  // namespace

IterationResult Iteration::run(const std::vector<RunInput>& fields, std::int64_t steps,
                               const IterationOptions& options, CallSite at) {
  check_steps(options.first_step, steps, at);
  Run run(*state_, fields, options.target ? *options.target : Target::best(), options.params,
          options.first_step, steps, at);
  run.check(nullptr, steps, steps, "the run");
  carry_out(run, *state_, steps, [&](const auto& advance_to) { advance_to(steps, steps); });
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
  const auto compiled = state_->condition_for(condition, target, at);
  const std::int64_t at_once = std::min(options.check_every, options.max_steps);
  Run run(*state_, fields, target, options.params, options.first_step, at_once, at);
  run.check(&compiled->plan(), options.max_steps, at_once, "check_every");
  Residual residual(compiled, brief(condition), options, at);
  IterationResult result;
  carry_out(run, *state_, 0, [&](const auto& advance_to) {
    while (!(result.converged = residual.holds(run, result)) && run.steps() < options.max_steps) {
      advance_to(std::min(run.steps() + options.check_every, options.max_steps), options.max_steps);
    }
  });
  result.steps = run.steps();
  return result;
}

}  // namespace mica
