// tune: the best schedule for an algorithm, a grid and a machine, found by trying.
//
//   Schedule best = tune(next, {.extents = {512, 512, 512}, .budget = 20});
//   next.apply(best);
//
//   heat.apply(tune(heat, {{u, a}}));       // of an Iteration: also how many steps are taken at once
//
// Candidates are named schedules (schedules/registry.h) with values of their parameters. A model ranks
// them (schedules/tune/predict.h), those that look best are compiled and timed, and what was measured
// corrects the model for those that follow. docs/tuning.md has the whole of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "codegen/iterate/iteration.h"
#include "runtime/run/run_options.h"
#include "runtime/run/target.h"
#include "schedules/registry.h"

namespace mica {

/// A schedule that was looked at.
struct TuneCandidate {
  /// A name of the registry; empty: no schedule, for which compile chooses by itself.
  std::string recipe;
  schedules::Parameters parameters;
  double predicted = 0;  ///< seconds a run, or a step of an Iteration
  double measured = 0;   ///< the same, the median; 0: it was not run
  /// The same of the fastest few, measured again in turn at the end, which decides; 0 for others.
  double settled = 0;
  /// Why it was not measured although it was chosen: compile's refusal, a device's error.
  std::string refused;
  /// A thread's registers, and bytes of local memory (what it spills, and arrays of its own), of each
  /// kernel, once it is compiled for a GPU. Empty: not known.
  std::vector<int> registers = {}, local_bytes = {};

  /// "march/plane tile_x=32 chunk=64", or "no schedule".
  [[nodiscard]] std::string text() const;
  /// Of an Iteration's step: how many are taken at once.
  [[nodiscard]] int steps() const;
  /// The value of a parameter; `otherwise` where there is none of the name.
  [[nodiscard]] std::int64_t parameter(const std::string& name, std::int64_t otherwise) const;
  /// The better founded of the two.
  [[nodiscard]] double seconds() const { return settled > 0 ? settled : measured; }
};

struct TuneOptions {
  /// Points of the outputs along each dimension, dimension 0 first. None for an Iteration: its fields
  /// say how many a step computes.
  std::vector<std::int64_t> extents = {};
  /// Candidates that are measured at most, with that of no schedule. 0: none is, and the result is what
  /// realize, or a run of an Iteration, takes where nothing was tuned.
  int budget = 20;
  /// After this time no other candidate is begun.
  double seconds = 15;
  /// Target::best() if there is none.
  std::optional<Target> target = {};
  /// What runs read, as RunOptions has it. For inputs that are neither named nor set to a buffer that is
  /// large enough, arrays of random values are made.
  std::vector<RunInput> inputs = {};
  std::vector<RunParam> params = {};
  /// Arrays as those that runs will write, one for each value of each output: those of the tuner's own
  /// are laid out like them. They are not written. Empty: rows as Mica aligns them. Where another
  /// dimension than the first has its points beside each other in memory, the store, whose schedules are
  /// for other arrays, takes no part; where it is the last of three (2 to 4 colours of a picture),
  /// schedules for that are tried on the CPU. UserErrors: of other extents or types, strides that are
  /// not positive, for an Iteration.
  std::vector<AnyBuffer> outputs = {};
  /// Take what the store of tuned schedules (schedules/tune/store.h) knows of this search, and keep
  /// there what it finds, for later searches and for realize.
  bool keep = true;
  /// Measure again what the store knows.
  bool again = false;
  /// Draw candidates at random from all legal ones in place of the most promising ones: what the model
  /// is measured by.
  bool draw = false;
  /// Of those draws: another number draws others.
  std::uint64_t seed = 2;
  /// Candidates of this recipe alone, such as "time/march", beside no schedule; empty: of all that suit.
  /// The store takes no part then, as others may be faster. UserErrors: one that does not suit, with
  /// those that do.
  std::string only = {};
  /// Called after each candidate with what it came to and the best so far.
  std::function<void(const TuneCandidate& latest, const TuneCandidate& best)> progress = {};
  /// Ends the search with the best so far.
  std::stop_token stop = {};
};

struct TuneResult {
  Schedule schedule;   ///< of the best
  TuneCandidate best;  ///< also among the candidates
  /// In the order in which they were tried; the first has no schedule.
  std::vector<TuneCandidate> candidates;
  std::size_t considered = 0;  ///< legal ones that the model ranked
  double seconds = 0;          ///< of the whole search
  std::string note;            ///< why nothing was kept in the store, if it was to be
  /// Spearman's rank correlation of predicted and measured times (C. Spearman, The American Journal of
  /// Psychology 15 (1904) 72-101); 0 for fewer than three.
  double rank_correlation = 0;

  operator const Schedule&() const { return schedule; }  // NOLINT: tune(...) is a schedule
  /// Those that were settled, then those that were only measured, then those that were refused, each by
  /// their times.
  [[nodiscard]] std::vector<TuneCandidate> in_order() const;
  /// A table of the candidates in this order, and what the search cost.
  [[nodiscard]] std::string report() const;
};

/// Looks for the fastest schedule of `output` and the Funcs behind it, whose own directives do not
/// count and stay as they are. Runs write into arrays of the tuner's own. The result is never slower, as
/// measured, than no schedule at all. On the emulator, whose time says nothing, nothing is measured: the
/// result is the model's choice for an H200.
/// UserErrors: extents that are not one for each dimension or below 1, a budget below 0, seconds that
/// are not positive, an algorithm that no schedule lets compile.
TuneResult tune(const Func& output, const TuneOptions& options, CallSite at = CallSite::current());
/// The same of several outputs of one pipeline, which get one schedule's directives each, and are
/// computed over the same extents: `apply_schedule({f, g}, tune({f, g}, options))`. UserErrors also: no
/// output, outputs of different dimensions.
TuneResult tune(const std::vector<Func>& outputs, const TuneOptions& options,
                CallSite at = CallSite::current());

/// Looks for the fastest way to carry out the steps of an Iteration: a schedule of its step, and how
/// many steps are taken at once. Times are those of one of many steps, as Iteration::run launches them.
///
///   heat.apply(tune(heat, {{u, a}}));
///
/// `fields`: what a run would be given, fields and other inputs. They are read and never written: steps
/// work on copies of the fields, from their values on. Callbacks, checkpoints, sources and receivers
/// have no part in it, but no more steps are tried at once than they allow. The Iteration and its Funcs
/// stay as they are; their own directives do not count. UserErrors: of Iteration::run, extents in the
/// options, a budget below 0, seconds that are not positive.
TuneResult tune(const Iteration& steps, const std::vector<RunInput>& fields,
                const TuneOptions& options = {}, CallSite at = CallSite::current());

}  // namespace mica
