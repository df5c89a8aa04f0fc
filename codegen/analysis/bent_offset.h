// Indices that boundary conditions keep inside of an array.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dsl/expr/expr.h"

namespace mica::analysis {

/// c, if `index` is `var` + c but for what keeps it to a box: limits, a remainder, a mirror. Nothing for
/// others, and for those of more operations than a boundary condition has.
std::optional<std::int64_t> bent_offset(const Expr& index, const std::string& var);

}  // namespace mica::analysis
