// An algorithm on host arrays, slab by slab, with copies beside kernels.
#pragma once

#include <vector>

#include "bench/algorithms.h"
#include "runtime/run/copy_pipeline.h"
#include "runtime/run/executable.h"

namespace mica::bench {

/// Runs of an algorithm of one input and one output whose arrays stay on the host, in slabs of the
/// slowest dimension.
class StreamedRun {
 public:
  /// `input` has the algorithm's halo around the box of `output`.
  StreamedRun(const Executable& executable, const Algorithm& algorithm, const AnyBuffer& input,
              const AnyBuffer& output, int slabs, const Target& target);
  /// All slabs come in, are computed if `kernels`, and go out: seconds of each stage and in all.
  PipelineTimes run(bool kernels);
  /// `output` becomes what the last run with kernels computed.
  void get(const AnyBuffer& output) const;

 private:
  struct Slot {
    AnyBuffer in, out;
  };
  Executable executable_;
  ImageParam param_;
  std::int64_t halo_, slabs_, thickness_;
  Target target_;
  AnyBuffer input_, output_;  ///< of the host, page-locked
  std::vector<Slot> slots_;
};

}  // namespace mica::bench
