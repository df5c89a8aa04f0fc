// Cases run in a process of their own, so that a crash or an endless loop is an outcome too.
#pragma once

#include <vector>

#include "fuzz/fuzz_case.h"

namespace mica::test {

/// Runs the cases one after another in a child process, each for at most `seconds` of processor time, or
/// ten times as long by the clock. When a case ends the
/// child, it has that outcome and the rest go on in another child. The caller must have no threads that
/// hold locks: it is forked.
std::vector<Outcome> run_isolated(const std::vector<FuzzCase>& cases, int seconds);

}  // namespace mica::test
