#include "schedules/tune/step_trials.h"

#include <algorithm>
#include <utility>

#include "codegen/iterate/step_runs.h"
#include "codegen/iterate/time_levels.h"
#include "runtime/run/gpu_timer.h"

namespace mica::tuning {
namespace {

using iterate::RunSetup;
using iterate::StepRuns;

/// Moves (steps, or tiles of them) in one graph of launches at most, and in a sample.
constexpr std::int64_t kFewestInGraph = 4, kMostInGraph = 128, kMostMoves = 1024;
/// The steps that a run seems to have before it, for graphs to be worth their price.
constexpr std::int64_t kManySteps = std::int64_t{1} << 40;

/// Fields that steps may write. Trials take them in turn.
struct Shadows {
  std::vector<RunInput> inputs;  ///< the shadows, by field, then the run's other inputs
  std::vector<AnyBuffer> outputs;
  std::shared_ptr<iterate::BoxCopier> copier;
};

class StepTrial final : public Trial {
 public:
  StepTrial(const Subject& subject, const RunSetup& user, Shadows& shadows,
            const TuneCandidate& candidate)
      : user_(user),
        shadows_(shadows),
        due_(subject.stepping()->due),
        at_once_(candidate.steps()),
        state_(subject.scheduled_steps(candidate)),
        setup_(*state_, shadows.inputs, subject.target(), user.options().params, CallSite::current()) {
    if (at_once_ > 1) {
      const auto made = setup_.tile_of(*state_, at_once_);
      if (!made->why.empty()) throw UserError(made->why);
      tile_ = setup_.tile(*made);
    }
    load();
  }

  [[nodiscard]] std::vector<KernelInfo> kernels() const override {
    return way().launches.front().run.kernels();
  }

  [[nodiscard]] double seconds(double best) override {
    // Each launch by itself first: what they take says how many a graph shall have.
    std::unique_ptr<StepRuns> runs = fresh(1);
    const std::int64_t unit = unit_of_steps();
    carry_out(*runs, unit);
    double first = timed(*runs, unit);
    const auto of_unit = [&] { return first * static_cast<double>(unit); };
    constexpr double kLong = 0.05, kLaunches = 2e-5;
    constexpr int kFewSamples = 3;
    const bool is_slow = best > 0 && first > 2 * best;
    if (of_unit() > kLong) {
      return is_slow ? first : sampled([&] { return timed(*runs, unit); }, kFewSamples);
    }
    carry_out(*runs, 2 * unit);
    first = timed(*runs, unit);
    // Short launches take the host longer than the GPU.
    if (best > 0 && first > 2 * best && of_unit() > kLaunches) return first;
    const auto wanted = static_cast<std::int64_t>(kSecondsAtOnce / std::max(first * at_once_, 1e-7));
    const std::int64_t moves = std::clamp<std::int64_t>(wanted / 2 * 2, 1, kMostMoves);
    const std::int64_t in_graph = std::min(moves, kMostInGraph);
    if (in_graph >= kFewestInGraph) {
      runs = fresh(in_graph * at_once_);
      carry_out(*runs, rounded(2 * in_graph * at_once_, unit));
    }
    const std::int64_t steps = rounded(moves * at_once_, unit);
    return sampled([&] { return timed(*runs, steps); });
  }

  [[nodiscard]] int steps_to_compare() const override { return at_once_ > 1 ? 2 * at_once_ + 1 : 3; }

  [[nodiscard]] std::vector<AnyBuffer> results(int steps) override {
    const std::unique_ptr<StepRuns> runs = fresh(1);
    for (std::int64_t done = 0; done < steps;) done += runs->advance(done, steps - done, 1);
    runs->finish();
    std::vector<AnyBuffer> copies;
    for (std::size_t f = 0; f < setup_.fields().size(); ++f) {
      copies.push_back(setup_.fields()[f].copy());
    }
    return copies;
  }

 private:
  [[nodiscard]] const iterate::StepPlan& way() const {
    return tile_ != nullptr ? *tile_ : setup_.single();
  }

  /// Compiles what runs on the shadows will launch.
  void load() {
    std::vector<AnyBuffer> outputs;
    for (const std::size_t f : way().launches.front().fields) {
      outputs.push_back(shadows_.outputs[f].cropped(way().rules[f].box));
    }
    RunOptions options = setup_.options();
    options.params.insert(options.params.end(), way().params.begin(), way().params.end());
    Executable run = way().launches.front().run;
    run.load(pointers(outputs), iterate::used_by(run, options));
  }

  /// Steps on the user's values, with graphs of up to `stretch` steps.
  [[nodiscard]] std::unique_ptr<StepRuns> fresh(std::int64_t stretch) const {
    for (std::size_t f = 0; f < setup_.fields().size(); ++f) {
      shadows_.copier->copy(user_.fields()[f], setup_.fields()[f],
                            iterate::ranges_of(setup_.fields()[f]));
    }
    auto tile = tile_ != nullptr ? std::make_unique<iterate::StepPlan>(*tile_) : nullptr;
    return std::make_unique<StepRuns>(*state_, setup_.compiled(), setup_.options(), setup_.single(),
                                      std::move(tile), stretch, CallSite::current());
  }

  /// Steps from which on all repeats: a tile, or those between two that something is due after, unless
  /// they are so many that what they leave over hardly counts.
  [[nodiscard]] std::int64_t unit_of_steps() const {
    constexpr int kFew = 16;
    return due_ > 0 && due_ < kFew * at_once_ ? due_ : at_once_;
  }
  static std::int64_t rounded(std::int64_t steps, std::int64_t unit) {
    return (steps + unit - 1) / unit * unit;
  }

  /// All with the same number, so that nothing that is read by it has to be longer.
  void carry_out(StepRuns& runs, std::int64_t steps) const {
    const std::int64_t unit = unit_of_steps();
    for (std::int64_t done = 0; done < steps;) {
      const std::int64_t until = unit > at_once_ ? unit - done % unit : steps - done;
      done += runs.advance(0, std::min(until, steps - done), kManySteps);
    }
  }
  [[nodiscard]] double timed(StepRuns& runs, std::int64_t steps) const {
    GpuTimer timer(shadows_.copier->target());
    timer.start();
    carry_out(runs, steps);
    timer.stop();
    return timer.milliseconds() * 1e-3 / static_cast<double>(steps);
  }

  const RunSetup& user_;
  Shadows& shadows_;
  std::int64_t due_;
  int at_once_;
  std::shared_ptr<Iteration::State> state_;
  RunSetup setup_;
  std::unique_ptr<iterate::StepPlan> tile_;
};

/// An array like the field as steps have it in memory: on a GPU in aligned rows, whatever the user's.
AnyBuffer shadow_of(const AnyBuffer& field, const iterate::Ranges& box, const Target& target) {
  return target.is_gpu() ? iterate::aligned_like(field, box) : AnyBuffer(field.type(), field.dims());
}

class StepTrials final : public Trials {
 public:
  StepTrials(const Subject& subject, const RunSetup& setup) : subject_(subject), user_(setup) {
    const Iteration::State& state = *subject.stepping()->state;
    const std::vector<iterate::FieldRule>& rules = setup.single().rules;
    shadows_.inputs = setup.options().inputs;
    for (std::size_t f = 0; f < setup.fields().size(); ++f) {
      const AnyBuffer& field = setup.fields()[f];
      const iterate::Ranges box = rules[f].output < 0 ? iterate::ranges_of(field) : rules[f].box;
      const AnyBuffer shadow = shadow_of(field, box, subject.target());
      shadows_.inputs[f] = RunInput(state.replacements[f].field, shadow);
      shadows_.outputs.push_back(iterate::aligned_like(field, iterate::box_around({box, setup.box()})));
    }
    shadows_.copier = std::make_shared<iterate::BoxCopier>(subject.target());
  }
  [[nodiscard]] std::unique_ptr<Trial> compiled(const TuneCandidate& candidate) const override {
    return std::make_unique<StepTrial>(subject_, user_, shadows_, candidate);
  }

 private:
  const Subject& subject_;
  const RunSetup& user_;
  mutable Shadows shadows_;  ///< written by the one thread that measures
};

}  // namespace

std::unique_ptr<Trials> trials_of_steps(const Subject& subject, const RunSetup& setup) {
  return std::make_unique<StepTrials>(subject, setup);
}

}  // namespace mica::tuning
