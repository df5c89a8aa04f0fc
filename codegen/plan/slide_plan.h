// Which dimensions of a Func slide: of the box that an iteration reads, the part that earlier iterations
// have computed need not be computed again, if its storage outlives them.
//
//   f(x, y) = g(x, y - 1) + g(x, y + 1), g computed at loop y and stored outside of it
//
//     y = 0   g  -1  0  1            all of the box
//     y = 1       .  0  1  2         from 2 on: `next`, one past the box of the iteration before
//     y = 2          .  1  2  3      3 indices are alive: storage for 4 is folded, y mod 4
//
// A dimension slides along the innermost loop that it depends on, if both ends of its box go one way
// with that loop and no other dimension depends on the loop. Then a point of the box that is not new was
// new in an earlier iteration of those loops, under the same iterations of the loops around them; the
// first iteration of a loop computes everything. A loop that no dimension depends on computes in its
// first iteration alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/analysis/bounds.h"
#include "codegen/plan/frame/loop_vars.h"

namespace mica::planning {

struct SlidDim {
  std::size_t dim = 0;   ///< of the Func
  std::size_t loop = 0;  ///< of the loops given
  Expr next;             ///< the first index to compute, in iterations but the first of the loop
  /// The most indices that an iteration reads, where that is known.
  std::optional<std::int64_t> alive;
};

struct SlidePlan {
  std::vector<SlidDim> dims;       ///< the one along the innermost loop first
  std::vector<std::size_t> still;  ///< loops of which all iterations read the same, innermost first
  /// Why each iteration computes its whole box, as "g has updates, ..."; empty if one does not.
  std::string obstacle;

  [[nodiscard]] bool slides() const { return !dims.empty() || !still.empty(); }
  /// The dimension whose storage can be folded: around its loop there is none whose iterations come back
  /// to indices that the fold has given up. Null if there is no such dimension.
  [[nodiscard]] const SlidDim* folded() const;
};

/// `box` is what one iteration of loops.front() reads of `func`, and `loops` are the loops from there to
/// the storage, innermost first. `guards` are the conditions under which these loops' iterations are
/// carried out.
SlidePlan plan_slides(const FunctionData& func, const analysis::Box& box,
                      const std::vector<LoopVars::Loop>& loops, const std::vector<Guard>& guards);

}  // namespace mica::planning
