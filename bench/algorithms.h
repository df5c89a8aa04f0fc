// The stencils of the documents as algorithms, by name: what the tool and the benchmarks schedule.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedules/mica.h"

namespace mica::bench {

/// An algorithm with the handles that a run needs.
struct Algorithm {
  std::string name;
  std::string description;
  Func output{"output"};
  std::vector<ImageParam> inputs;
  std::vector<int> halo;  ///< points that inputs need beyond the output on each side, a dimension
  std::string schedule;   ///< a named schedule that suits it
};

/// "copy3d", "stencil7", "stencil7-f64", "box27", "star25", "blur-u16", "blur-f32", "jacobi2d": see
/// algorithm_names. UserError that lists the names otherwise.
Algorithm make_algorithm(const std::string& name);
std::vector<std::string> algorithm_names();

}  // namespace mica::bench
