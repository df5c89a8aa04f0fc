// Schedules timed against hand-written CUDA kernels (twins) and a device copy, in one process.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "runtime/target.h"

namespace mica::bench {

struct Options {
  Target target;
  std::string filter;     ///< only cases whose name contains this
  std::int64_t size = 0;  ///< points along each side; 0: the case's own
  int runs = 25;          ///< timed runs of each contender, interleaved; the median counts
  std::string twins;      ///< folder of the twins' cubins; empty: look beside the program
  std::string json;       ///< file for the results; empty: none
};

/// One case's figures. Bandwidth counts one read and one write a point.
struct Result {
  std::string name, schedule;
  std::int64_t points = 0;
  double ms = 0;        ///< median
  double copy_ms = 0;   ///< device copy of as many bytes, median of the same rounds
  double twin_ms = -1;  ///< hand-written kernel; -1 when there is none at hand
  int registers = -1, shared_bytes = 0, local_bytes = -1;
  bool right = false;       ///< bits equal to the host's
  bool twin_right = false;  ///< the twin's bits equal to them too
};

/// Runs all cases that match, prints a table to `out`, writes JSON if asked. InternalError when a
/// schedule's bits differ from the host's.
std::vector<Result> run(const Options& options, std::ostream& out);

}  // namespace mica::bench
