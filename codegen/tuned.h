// What realize asks about Funcs that have no directive at all. The answers are those of schedules/tune,
// which stands above this layer: schedules/tune/tuned.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "runtime/run/run_options.h"
#include "runtime/run/target.h"

namespace mica {

/// A copy of an algorithm with the schedule that tuning found, and that schedule's name.
struct TunedFunc {
  Func func;
  std::string schedule;
};

/// Is there a store of tuned schedules, or is the environment variable MICA_TUNE set to something else
/// than 0?
bool schedules_are_tuned();

/// The schedule that the store has for `output` on such a target and grid; where it has none and
/// MICA_TUNE is set, the one that tune() finds now, which says so on standard error. Nothing: the
/// compiler chooses. What is wrong with the store is said on standard error.
std::optional<TunedFunc> tuned(const Func& output, const Target& target,
                               const std::vector<std::int64_t>& extents, const RunOptions& options);

}  // namespace mica
