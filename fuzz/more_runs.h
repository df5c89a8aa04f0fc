// Further runs of a case whose first run was right.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "fuzz/fuzz_case.h"

namespace mica::test {

/// How many threads run a case at once.
inline constexpr int kCaseThreads = 3;

/// An output, Tuple elements one after another, and an input of its type whose memory holds its box.
using Replacement = std::pair<std::size_t, std::size_t>;
std::vector<Replacement> replacements(const FuzzCase& drawn);
/// For each of them the case with that output in that input's memory: refused because of the memory that
/// they share, or right.
Outcome run_in_place(const FuzzCase& drawn, const BoundCase& bound, Executable& executable);

/// The case of thread `number`: other contents of the inputs, and Params that are larger by 1 + number.
FuzzCase case_of_thread(const FuzzCase& drawn, int number);
/// The executable run by several threads at once, each with the inputs and Params of its own case.
Outcome run_in_threads(const FuzzCase& drawn, const BoundCase& bound, Executable& executable);

}  // namespace mica::test
