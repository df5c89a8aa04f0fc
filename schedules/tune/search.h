// One search for a schedule: what is ranked, compiled, measured and kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "schedules/tune/trials.h"

namespace mica::tuning {

/// What a schedule is looked for, and how candidates are tried.
struct Wanted {
  const Subject& subject;
  std::uint64_t mark = 0;  ///< of the algorithm, in the store
  std::string name;        ///< there, for people
  std::function<std::unique_ptr<Trials>()> make_trials;
  /// Compiles a candidate, for targets on which nothing is measured. UserErrors of compile.
  std::function<void(const TuneCandidate&)> compile;
  /// Called when the store has another schedule: who asked it before asks again.
  std::function<void()> forget;
};

/// On the emulator nothing is measured. UserErrors at `at`: a budget below 0, seconds that are not
/// positive.
TuneResult searched(const Wanted& wanted, const TuneOptions& options, const CallSite& at);

}  // namespace mica::tuning
