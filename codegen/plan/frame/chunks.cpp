#include "codegen/plan/frame/chunks.h"

#include "dsl/expr/operators.h"

namespace mica::planning {

// One chunk more for each of the halves that begin inside.
Expr Chunks::count(const Expr& extent) const {
  Expr count = (extent + (chunk - 1)) / chunk;
  for (int planes = shortest; planes < chunk; planes *= 2) count = count + select(extent > planes, 1, 0);
  return count;
}

// Straight between whole numbers, and steeper from each to the next up to a chunk's planes: the largest
// of the straight lines.
Expr Chunks::planes(const Expr& chunks) const {
  Expr all = chunks * shortest;
  for (int slope = 2 * shortest, first = 1; slope <= chunk; slope *= 2, ++first) {
    all = max(all, (chunks - first) * slope);
  }
  return all;
}

}  // namespace mica::planning
