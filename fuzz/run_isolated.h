// Cases run in a process of their own, so that a crash or an endless loop is an outcome too.
#pragma once

#include <functional>
#include <vector>

#include "fuzz/fuzz_case.h"

namespace mica::test {

/// Asked between two cases and twice a second: is that all?
using Stop = std::function<bool()>;

using RunCase = std::function<Outcome(const FuzzCase&)>;

/// Runs the cases one after another in a child process, each for at most `seconds` of processor time, or
/// ten times as long by the clock. When a case ends the
/// child, it has that outcome and the rest go on in another child. The caller must have no threads that
/// hold locks: it is forked. Once `stop` says so no more is run, and the outcomes are those of the first
/// cases; `seen`, if given, is told each outcome as soon as it is there. `run` is what the child does.
std::vector<Outcome> run_isolated(const std::vector<FuzzCase>& cases, int seconds, const Stop& stop = {},
                                  const std::function<void(const Outcome&)>& seen = {},
                                  const RunCase& run = run_case);

}  // namespace mica::test
