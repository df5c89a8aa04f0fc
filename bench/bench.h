// Schedules timed against hand-written CUDA kernels (twins) and a device copy, in one process.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "runtime/run/target.h"

namespace mica::bench {

struct Options {
  Target target;
  /// The case of this name, or all cases whose name contains it.
  std::string filter;
  std::int64_t size = 0;  ///< points along each side; 0: the case's own
  /// Arrays without any padding, as a user's own often are, and one point less along each side where no
  /// size is given: rows that do not start at whole vectors.
  bool dense = false;
  /// Extents and strides are compiled in, as for a case that says so.
  bool bake = false;
  int runs = 25;                     ///< timed runs of each contender, interleaved; the median counts
  std::string twins;                 ///< folder of the twins' cubins; empty: look beside the program
  schedules::Parameters parameters;  ///< of the schedule, in place of the case's own
  std::string json;                  ///< file for the results; empty: none
};

/// What kernels ask of a GPU: the most of any of them.
struct Resources {
  int registers = -1;     ///< a thread; -1: not known
  int shared_bytes = 0;   ///< a block, static and dynamic
  int local_bytes = -1;   ///< a thread: spills and local arrays; -1: not known
  double occupancy = -1;  ///< resident warps over the most there can be, the least of any; -1: not known
};

/// One case's figures. Times are medians, in milliseconds; -1 where there is none.
struct Result {
  std::string name, schedule;
  schedules::Parameters parameters;  ///< as the case gives them
  std::int64_t points = 0;           ///< of one output
  std::int64_t bytes = 0;            ///< of all inputs read once and all outputs written once
  double ms = -1;
  double copy_ms = -1;  ///< device copy that reads and writes `bytes` together, in the same rounds
  double twin_ms = -1;
  Resources mica, twin;
  bool right = false;       ///< bits equal to the host's
  bool twin_right = false;  ///< the twin's bits equal to them too
  std::string note;         ///< why there is no time of Mica's or of the twin's; empty: nothing to say

  /// Gigabytes (1e9) a second at `milliseconds`.
  [[nodiscard]] double bandwidth(double milliseconds) const {
    return milliseconds > 0 ? static_cast<double>(bytes) / milliseconds * 1e-6 : 0;
  }
};

/// The cases that a filter names. UserError if it names none.
std::vector<Case> select_cases(const std::string& filter);

/// Runs all cases that match, prints a table to `out`, writes JSON if asked. A case whose schedule is
/// not in the registry is listed with its twin's time alone. InternalError at the end when a schedule's
/// bits or a twin's differ from the host's, UserError when a case's schedule was refused.
std::vector<Result> run(const Options& options, std::ostream& out);

}  // namespace mica::bench
