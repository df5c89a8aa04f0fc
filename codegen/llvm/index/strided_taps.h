// Vector loads of one expression whose lanes lie a few elements apart, next to each other: u(2*x) and
// u(2*x + 1) read the same neighbours, and each picks its lanes from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "codegen/analysis/equal_nodes.h"
#include "dsl/expr/expr.h"

namespace mica::llvm_backend {

/// Distances of lanes whose elements are loaded as vectors of neighbours.
inline constexpr std::int64_t kNarrowestStride = 2, kWidestStride = 4;

class StridedTaps {
 public:
  /// Finds the taps of `e`, if it is defined, that are read whatever its values are: not in the branches
  /// of a Select, which may be loaded for some lanes only.
  explicit StridedTaps(const Expr& e);

  /// How many elements in front of `first`, a lane's element of a load of `buffer` with lanes `stride`
  /// apart, another tap of the expression starts, where a further one makes all `stride` elements from
  /// there be read: 0 <= result < stride. -1: there are no such taps.
  [[nodiscard]] std::int64_t elements_before(const std::string& buffer, const Expr& first,
                                             std::int64_t stride);

 private:
  using Line = std::tuple<std::string, std::int64_t, const ExprNode*>;  // taps that differ by a constant
  struct Place {
    Line line;
    std::int64_t constant = 0;
  };
  Place place(const std::string& buffer, const Expr& first, std::int64_t stride);

  analysis::EqualNodes nodes_;
  std::map<Line, std::map<std::int64_t, std::int64_t>> lines_;  ///< elements before each constant, or -1
};

}  // namespace mica::llvm_backend
