// From which element the accesses of an array count.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/stmt.h"

namespace mica::analysis {

/// Coordinates of one element an array, one an array dimension.
using Origins = std::map<std::string, std::vector<Expr>>;

/// For every array that a nest does not make itself: the part of its indices that consists of
/// `symbols` and is the same in most of the accesses; arrays for which it is 0 in every dimension are
/// left out. An index less its origin needs less arithmetic in each thread, and the address of the
/// element at the origin is worked out once, by the host. `nest` is not flattened, and its indices are
/// scalars.
///
///   next[next.min.0 + x] = u[next.min.0 + x - 1] + u[next.min.0 + x + 1]
///   symbols {next.min.0, u.min.0}  ->  next: (next.min.0), u: (next.min.0)
Origins array_origins(const ir::Stmt& nest, const std::set<std::string>& symbols);

}  // namespace mica::analysis
