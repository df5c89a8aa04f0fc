// The candidates of a search below the roofs of the machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dsl/func/func.h"
#include "schedules/tune/tune.h"

namespace mica::tools {

/// Operations a second against operations a byte (S. Williams, A. Waterman, D. Patterson: Roofline,
/// Communications of the ACM 52 (2009) 65-76), twice on a GPU: of the bytes between memory and chip, and
/// of those from the L2 (a roof for each level: C. Yang, T. Kurth, S. Williams: Hierarchical Roofline,
/// Concurrency and Computation 32 (2020) e5547), both as codegen/analysis/traffic/traffic.h has them. On
/// the host bytes are those of each value read and written once. The roofs: what a copy moves, measured
/// now where that means something, and what schedules/tune/predict.h knows of the L2 and of arithmetic.
/// A candidate that was not measured stands where it was predicted if none was measured. An HTML figure;
/// empty of an algorithm without arithmetic on values.
std::string roofline(const TuneResult& found, const Func& output,
                     const std::vector<std::int64_t>& extents, const Target& target);

}  // namespace mica::tools
