// The stencils of the documents as algorithms, by name: what the tool and the benchmarks schedule.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedules/mica.h"

namespace mica::bench {

/// An algorithm with the handles that a run needs. Several outputs are the values of one Func.
struct Algorithm {
  std::string name;
  std::string description;
  Func output{"output"};
  std::vector<ImageParam> inputs;
  std::vector<int> halo;  ///< points that inputs need beyond the output on each side, a dimension
  std::string schedule;   ///< a named schedule that suits it
  /// Extents that are the algorithm's own, a dimension; 0, or none: as many points as are asked for.
  std::vector<std::int64_t> fixed = {};

  /// Of outputs of `size` points along each side.
  [[nodiscard]] std::vector<std::int64_t> extents(std::int64_t size) const;
};

/// The algorithm of a name in algorithm_names(), with Funcs and ImageParams of its own. UserError that
/// lists the names otherwise.
Algorithm make_algorithm(const std::string& name);
/// "copy3d", "stencil7", "star25", ..., in a fixed order.
std::vector<std::string> algorithm_names();

/// schedules::apply for those who name a schedule on a command line: errors name no line of C++.
void apply_named(Algorithm& algorithm, const std::string& schedule,
                 const schedules::Parameters& parameters);

}  // namespace mica::bench
