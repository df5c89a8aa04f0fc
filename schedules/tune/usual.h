// Schedules that were the fastest of their kind on an H200, or on an AMD EPYC 9005, fitted to a grid:
// what a search looks at first, and what the model chooses from where nothing was tuned.
#pragma once

#include <vector>

#include "schedules/tune/predict.h"
#include "schedules/tune/subject.h"

namespace mica::tuning {

/// Candidates for the subject's grid: of a GPU marches whose chunks fill whole rounds of its
/// multiprocessors, several planes or rows of a thread, tiles of several steps; of a CPU rows, and tiles
/// of several steps. None where none suits the algorithm.
std::vector<TuneCandidate> usual_candidates(const Subject& subject);

/// On a smaller grid a launch is most of the time.
bool is_worth_choosing(const std::vector<std::int64_t>& extents);
/// What is taken where nothing was tuned.
struct Choice {
  /// Those that should take clearly less time than no schedule, the fastest first, with predictions;
  /// none on small grids, and on the CPU for the step of an Iteration.
  std::vector<TuneCandidate> better;
  TuneCandidate none;  ///< no schedule, with its prediction if there was something to compare with
  double saved = 0;    ///< seconds a run, or a step, that the first should take less than `none`
};
Choice chosen(const Subject& subject);

}  // namespace mica::tuning
