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

constexpr std::int64_t kMostSteps = std::int64_t{1} << 31;  // step() is an Int(32)

/// One run, between its first step and its last.
class Run final : public RunningIteration {
 public:
  /// `at_once`: the steps between two looks at a condition, or all of the run's.
  Run(std::shared_ptr<Iteration::State> state, const iterate::RunSetup& given, std::int64_t first_step,
      std::int64_t at_once, const CallSite& at)
      : owner_(std::move(state)),
        state_(*owner_),
        at_(at),
        setup_(given.scheduled_as(state_)),
        done_(first_step),
        first_(first_step) {
    steps_ = std::make_unique<iterate::StepRuns>(state_, setup_.compiled(), setup_.options(),
                                                 setup_.single(), setup_.tile(),
                                                 std::min(at_once, iterate::steps_between(state_)), at);
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
      receivers.check(first_, steps);
    }
    setup_.check_used(until);
    if (at_once == 0 || state_.tile_steps <= at_once) return;
    throw UserError("time_tile(" + std::to_string(state_.tile_steps) +
                        ") asks for more steps at once than " + what + " has, " +
                        std::to_string(at_once) + ": give at most that",
                    state_.tile_where);
  }

  [[nodiscard]] RunOptions options_now() const { return steps_->options_now(); }
  [[nodiscard]] std::int64_t steps() const { return done_ - first_; }

 private:
  void save() {
    std::vector<iterate::SavedField> saved;
    for (std::size_t f = 0; f < setup_.fields().size(); ++f) {
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

  std::shared_ptr<Iteration::State> owner_;
  Iteration::State& state_;
  CallSite at_;
  iterate::RunSetup setup_;
  std::int64_t done_, first_;
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
  const Target target = options.target ? *options.target : Target::best();
  const iterate::RunSetup given(*state_, fields, target, options.params, at,
                                {steps, iterate::steps_between(*state_)});
  const auto state = iterate::tuned_for_run(state_, given, steps);
  Run run(state, given, options.first_step, steps, at);
  iterate::warn_of_limits(*state_, options.params);
  run.check(nullptr, steps, steps, "the run");
  carry_out(run, *state, steps, [&](const auto& advance_to) { advance_to(steps, steps); });
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
  const iterate::RunSetup given(*state_, fields, target, options.params, at,
                                {options.max_steps, std::min(at_once, iterate::steps_between(*state_))});
  const auto state = iterate::tuned_for_run(state_, given, at_once);
  Run run(state, given, options.first_step, at_once, at);
  iterate::warn_of_limits(*state_, options.params);
  run.check(&compiled->plan(), options.max_steps, at_once, "check_every");
  Residual residual(compiled, brief(condition), options, at);
  IterationResult result;
  carry_out(run, *state, 0, [&](const auto& advance_to) {
    while (!(result.converged = residual.holds(run, result)) && run.steps() < options.max_steps) {
      advance_to(std::min(run.steps() + options.check_every, options.max_steps), options.max_steps);
    }
  });
  result.steps = run.steps();
  return result;
}

}  // namespace mica
