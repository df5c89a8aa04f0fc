// Divisions that a loop does not change, taken out of it. A part of split_interiors.
//
//   before  for x in [0, n): f[x] = u[x + (y % m)*stride] + v[x, y % m]
//   after   let x.still0 = y % m
//             for x in [0, n): f[x] = u[x + x.still0*stride] + v[x, x.still0]
//
// LLVM leaves a division where it stands unless it is sure to be reached: not in a loop that a test or
// another loop is around. Division by 0 gives 0 here, so that it may be computed too early.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codegen/ir/stmt.h"

namespace mica::passes {

struct StillDivisions {
  ir::Stmt body;                                     ///< the loop's, with names for the divisions
  std::vector<std::pair<std::string, Expr>> values;  ///< of the names, each once
};

/// The quotients and remainders by what is no constant in `loop` that neither it nor anything bound in
/// its body changes.
StillDivisions bind_still(const ir::For& loop);

}  // namespace mica::passes
