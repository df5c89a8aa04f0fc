// Blocks of which some points lie outside the domain, and the same work as in the others.
//
//   before  if x - 4 <= u's last: u.staged[x - 4] = u[x - 4]     if x < n: next[x] = ...
//   after   u.staged[x - 4] = u[min(x - 4, u's last)]            v = ...;  if x < n: next[x] = v
//
// What is computed for points outside is made of values inside and thrown away, so that a test stands
// only before a store, and all blocks run the same code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codegen/plan/placed_funcs.h"
#include "codegen/program.h"

namespace mica::passes {

/// That all of `guards` hold but those of loop `march`; undefined if there are none.
Expr inside_of(const std::vector<planning::Guard>& guards, const std::string& march);
/// Which blocks run a code.
enum class ClampedBlocks : std::uint8_t {
  All,
  Overlapping,  ///< all, which reach below the domain's first point, too
  AtTheEdge,  ///< those with points outside: loops stay loops where they can, which takes few registers
};
/// By array, what the pipeline reads of each input and holds of each Func.
std::map<std::string, analysis::Box> needed_boxes(const Program& program);
/// `stmt`, the work of a block of the loops `own`, whose loads from global memory stay within their
/// arrays, and of blocks AtTheEdge within the boxes `needed` of them.
ir::Stmt clamped(const Program& program, const planning::Loops& own, ClampedBlocks blocks,
                 const std::map<std::string, analysis::Box>& needed, const ir::Stmt& stmt);
/// `stmt`, whose values are computed wherever the point is, and stored where `condition` holds; without
/// a look at each lane where `all_lanes` does, which is the same condition outside of vectors.
ir::Stmt with_tested_stores(const ir::Stmt& stmt, const Expr& condition, const Expr& all_lanes);

}  // namespace mica::passes
