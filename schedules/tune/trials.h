// Candidates compiled, run and timed on arrays of the tuner's own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/run/executable.h"
#include "schedules/tune/subject.h"

namespace mica::tuning {

/// The middle one; of an even number the upper.
double median(std::vector<double> values);
std::vector<AnyBuffer*> pointers(std::vector<AnyBuffer>& buffers);

/// A candidate's code on the arrays of one search. Used by one thread.
class Trial {
 public:
  virtual ~Trial() = default;
  [[nodiscard]] virtual std::vector<KernelInfo> kernels() const = 0;
  /// Seconds of a run, or of a step; of fewer samples where it takes longer than twice `best`, if that
  /// is not 0. UserErrors and DeviceErrors of a run.
  [[nodiscard]] virtual double seconds(double best) = 0;
  /// Of an Iteration: steps in which all of its code is run. Of others 1.
  [[nodiscard]] virtual int steps_to_compare() const { return 1; }
  /// What a run, or so many steps, compute. UserErrors and DeviceErrors of a run.
  [[nodiscard]] virtual std::vector<AnyBuffer> results(int steps) = 0;
};

/// What candidates are tried on.
class Trials {
 public:
  virtual ~Trials() = default;
  /// The candidate compiled for these arrays to its last instruction, on any thread; its Trial is used
  /// while this lives. UserErrors of compile, DeviceErrors.
  [[nodiscard]] virtual std::unique_ptr<Trial> compiled(const TuneCandidate& candidate) const = 0;
};

/// For Funcs: inputs are those of the options or those that are set, where they are large enough, and
/// else random values in rows as Mica aligns them. UserErrors of compile for the algorithm without a
/// schedule, and of RunOptions.
std::unique_ptr<Trials> trials_of_funcs(const Subject& subject, const TuneOptions& options);

/// What runs of one sample take together at least, where they are short: a launch takes microseconds, a
/// clock a part of one.
constexpr double kSecondsAtOnce = 2e-3;
/// The median of several samples.
double sampled(const std::function<double()>& sample, int samples = 7);

}  // namespace mica::tuning
