// A schedule's exact figures as a table and as JSON.
#pragma once

#include <iosfwd>

#include <nlohmann/json.hpp>

#include "codegen/analysis/traffic/traffic.h"

namespace mica::tools {

/// Everything in `traffic`, with the names of codegen/analysis/traffic/traffic.h.
nlohmann::ordered_json to_json(const Traffic& traffic);
/// What tools/measure_traffic.sh compares with counters: one flat object a kernel, in bytes, the kernels
/// named as they are launched.
nlohmann::ordered_json to_predictions(const Traffic& traffic);
/// Lines for people.
void print(const Traffic& traffic, std::ostream& out);

}  // namespace mica::tools
