// lane_index: which elements the lanes of a vector index are, where they follow a simple rule.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dsl/expr/expr.h"

namespace mica::llvm_backend {

/// Lane n*q + p is at bases[p] + q*stride, where n is the number of bases, a power of two. An index that
/// is linear in the lane has one base; (x + lane)/2 has the bases x/2 and (x + 1)/2, and stride 1.
struct LaneIndex {
  std::vector<Expr> bases;  ///< scalars
  std::int64_t stride = 0;
};

/// The form of a vector index, which does not wrap, or nothing.
std::optional<LaneIndex> lane_index(const Expr& e);
/// Where a GPU thread has `lanes` elements from `first` on: are those of the next thread in x the ones
/// behind them?
bool is_side_by_side(const Expr& first, int lanes);

}  // namespace mica::llvm_backend
