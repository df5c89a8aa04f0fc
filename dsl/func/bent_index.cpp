#include "dsl/func/bent_index.h"

#include "dsl/expr/operators.h"

namespace mica::boundary {

Expr Range::max() const { return min + extent - 1; }

Expr clamped(const Expr& x, const Range& range) { return clamp(x, range.min, range.max()); }

Expr wrapped(const Expr& x, const Range& range) { return range.min + (x - range.min) % range.extent; }

// Mirrored offsets lie inside by construction; the clamp changes no value, and lets the bounds of the
// access be read off.
Expr mirrored(const Expr& x, const Range& range) {
  // Offsets repeat with period 2*extent; the second half runs backwards.
  const Expr offset = (x - range.min) % (2 * range.extent);
  return clamped(range.min + min(offset, 2 * range.extent - 1 - offset), range);
}

Expr mirrored_about_edge(const Expr& x, const Range& range) {
  // Period 2*extent - 2; an extent of 1 gives period 0, and a remainder by 0 is 0.
  const Expr period = 2 * range.extent - 2;
  const Expr offset = (x - range.min) % period;
  return clamped(range.min + min(offset, period - offset), range);
}

}  // namespace mica::boundary
