// Candidates compiled, run and timed on arrays of the tuner's own.
#pragma once

#include <vector>

#include "runtime/run/executable.h"
#include "schedules/tune/subject.h"

namespace mica::tuning {

/// The middle one; of an even number the upper.
double median(std::vector<double> values);
std::vector<AnyBuffer*> pointers(std::vector<AnyBuffer>& buffers);

/// Arrays that the candidates of one search run on. Inputs are those of the options or those that are
/// set, where they are large enough, and else random values in rows as Mica aligns them.
class Trials {
 public:
  /// UserErrors of compile for the algorithm without a schedule, and of RunOptions.
  Trials(const Subject& subject, const TuneOptions& options);

  /// The candidate compiled for these arrays to its last instruction, on any thread. UserErrors of
  /// compile, DeviceErrors.
  [[nodiscard]] Executable compiled(const TuneCandidate& candidate) const;
  /// Seconds of a run, the median of several after one that is not counted; of fewer where a run takes
  /// longer than twice `best`. UserErrors and DeviceErrors of a run.
  [[nodiscard]] double seconds(Executable& executable, double best);
  /// Keeps what `executable` computes, which others are compared with. UserErrors and DeviceErrors of a
  /// run.
  void expect(Executable& executable);
  /// Does it compute the same bits?
  [[nodiscard]] bool right(Executable& executable);

 private:
  [[nodiscard]] std::vector<AnyBuffer> poisoned_outputs() const;
  void run(Executable& executable);
  [[nodiscard]] double timed(Executable& executable, int runs);

  const Subject& subject_;
  RunOptions options_;
  std::vector<Type> types_;  ///< of the outputs
  std::vector<AnyBuffer> outputs_, expected_;
};

}  // namespace mica::tuning
