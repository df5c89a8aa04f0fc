// Candidates of the tuner that were measured on a GPU, as bench/results/*-tune.csv has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "bench/time_steps.h"
#include "runtime/run/device.h"
#include "schedules/tune/predict.h"
#include "schedules/tune/subject.h"
#include "schedules/tune/tune.h"

namespace mica::bench {

struct Measured {
  std::string algorithm;  ///< of make_algorithm, or "time/" and the name of a time case
  std::vector<std::int64_t> extents;
  double seconds = 0;
  std::vector<KernelInfo> kernels;  ///< registers and bytes of local memory; of each
  TuneCandidate candidate;
};

/// A line of `mica tune`'s table: "march/plane tile_x=32 chunk=64", or "no schedule".
TuneCandidate candidate_of(const std::string& text);

/// The subject of a search for the step of a time case whose fields have so many points, all but a rim
/// of `rim` points of which are stepped.
tuning::Subject step_subject(const TimeStep& step, const std::vector<std::int64_t>& extents,
                             std::int64_t rim, const Target& target);

/// What a table of `mica tune --table` has of candidates that were measured, every `stride`th line of
/// it. UserErrors: no such file; a line with fewer columns than the first, which names them: algorithm,
/// extents, milliseconds, registers, schedule, and local_bytes or stack where they are known.
std::vector<Measured> read_measured(const std::filesystem::path& table, std::size_t stride = 1);

/// Subjects of an H200, made once for each algorithm and grid.
class MeasuredSubjects {
 public:
  const tuning::Subject& of(const Measured& measured);
  [[nodiscard]] const tuning::Rates& rates() const { return rates_; }

 private:
  Target target_ = Target::gpu_emulator();
  tuning::Rates rates_ = tuning::rates_of(target_, false);
  std::map<std::pair<std::string, std::vector<std::int64_t>>, tuning::Subject> subjects_;
};

}  // namespace mica::bench
