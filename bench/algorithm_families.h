// The makers of the algorithms, by the file that holds them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/algorithms.h"

namespace mica::bench {

/// Names and makers, in the order in which `mica list` prints them.
using AlgorithmMakers = std::vector<std::pair<std::string, std::function<Algorithm()>>>;

AlgorithmMakers small_stencils();        ///< radius 1, images included
AlgorithmMakers high_order_stencils();   ///< radius 4
AlgorithmMakers multi_field_stencils();  ///< several inputs or outputs
AlgorithmMakers programs();              ///< steps and sweeps of whole programs
AlgorithmMakers magnetohydrodynamics();  ///< 8 fields

}  // namespace mica::bench
