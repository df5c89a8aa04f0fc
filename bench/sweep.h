// One case measured for several values of a parameter, and its figure.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace mica::bench {

struct Sweep {
  std::string parameter;
  std::vector<std::int64_t> values;  ///< all positive, ascending
};

/// Reads "name=v1,v2,..." or "name=first:last:step" (ends included). UserError for anything else, for
/// values below 1 and for a range of more than 1000 values.
Sweep parse_sweep(const std::string& text);

/// The files that a sweep writes.
struct Figure {
  std::string svg;   ///< empty: "<case>-<parameter>.svg" with '/' as '-'
  bool png = false;  ///< also a file of that name that ends in .png
};

/// Measures the one case that the filter names for every value, prints a line for each, and draws
/// effective bandwidth (Result::bytes over time) against the parameter: Mica's, the twin's if it takes
/// the parameter, and the copy's. Values that the schedule refuses are listed and left out. JSON if
/// `options` ask for it.
/// UserErrors: the filter names several cases; nothing could be measured; a file cannot be written.
/// InternalError when bits differ from the host's.
std::vector<Result> run_sweep(const Options& options, const Sweep& sweep, const Figure& figure,
                              std::ostream& out);

}  // namespace mica::bench
