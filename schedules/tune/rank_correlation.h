// How well times that were predicted put candidates in the order of those that were measured.
#pragma once

#include <vector>

#include "schedules/tune/tune.h"

namespace mica::tuning {

/// Spearman's rank correlation (TuneResult::rank_correlation), of those that have both times, as they
/// were measured first. 0: of fewer than three, or where all of one are the same.
double rank_correlation(const std::vector<TuneCandidate>& candidates);

}  // namespace mica::tuning
