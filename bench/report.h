// Results as text and as JSON.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace mica::bench {

/// The line above the results of a target.
void print_heading(const Target& target, std::ostream& out);
/// One line: times in milliseconds and the share of the copy's bandwidth; on a GPU also the ratio to the
/// twin's time, and Mica's registers a thread, shared bytes a block, local bytes a thread and occupancy.
void print_result(const Result& result, const Target& target, std::ostream& out);
/// UserError when the file cannot be written.
void write_text(const std::string& path, const std::string& text);
/// Writes all results, the date (UTC) and the device. UserError when the file cannot be written.
void write_json(const std::string& path, const Options& options, const std::vector<Result>& results);

}  // namespace mica::bench
