// Taps that stick out of their arrays in the vectors at a row's ends, kept in small arrays. A part of
// split_interiors.
//
//   before  for lane in [0, 16): f[x*16 + lane] = u[(x*16 + lane - 1) % n] + v[(x*16 + lane) % n]
//   after   for lane in [those outside): w[16 + lane] = u[(x*16 + lane - 1) % n]
//           vectorized lane: w[16 + lane + moved] = u[x*16 + lane + moved - 1]
//           ...
//           vectorized lane: f[x*16 + lane] = w[16 + lane] + v[x*16 + lane]
//
// So such a vector computes each of its values once, with vectors, and only taps take the long way. What
// has just been stored in pieces is slow to load as a vector: there is to be other work between.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis/interiors.h"
#include "codegen/analysis/value_ranges.h"
#include "codegen/ir/stmt.h"

namespace mica::passes {

struct EdgeWindows {
  struct Array {
    std::string name;
    Type type;
  };
  /// Three vectors each for side 0 and for side 1: of lanes from -width to 2*width - 1.
  std::vector<Array> arrays;
  ir::Stmt fill;         ///< stores a point of all of them
  ir::Stmt fill_inside;  ///< where all taps are inside
  ir::Stmt body;         ///< the point computed with them, where `inequalities` hold
  std::vector<analysis::Inequality> inequalities;  ///< in the loop's variable; rests have the lane

  /// The variable that says for which side, left or right, the statements are.
  static std::string side_of(const ir::For& loop) { return loop.name + ".side"; }
  /// `stmt` in the arrays' memory.
  [[nodiscard]] ir::Stmt around(ir::Stmt stmt, std::int64_t width) const;
};

/// The windows of `loop` over the vectors that are all of its body, which stores and does nothing else;
/// none where no tap sticks out further than others of its array, or too many do. `ranges`: of the names
/// around the body of the vector's loop.
std::optional<EdgeWindows> find_windows(const ir::For& loop, const analysis::Ranges& ranges);

}  // namespace mica::passes
