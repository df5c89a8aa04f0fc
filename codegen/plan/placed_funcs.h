// Which Funcs are computed inside a definition's loops, at which of them, and which boxes of them one
// iteration reads.
#pragma once

#include <map>
#include <set>
#include <string>

#include "codegen/analysis/bounds.h"
#include "codegen/plan/frame/loop_vars.h"
#include "codegen/program.h"

namespace mica::planning {

/// The loops of definition `index` of `func`.
struct Loops {
  const FunctionData& func;
  std::size_t index;
  const LoopVars& vars;
};

/// The place of loop `dim` among those of `vars`, 0 for the innermost; empty: the march, or else the
/// innermost block loop. -1 if there is none.
int position_of(const LoopVars& vars, const std::string& dim);
/// Where inside the loops of Func `root` `func` is computed, directly or inside another Func; null if it
/// is not.
const Placement* place_in(const Program& program, const std::string& root, const std::string& func);
/// The loop in which `func` is computed, directly or inside another Func; -1 if none.
int loop_of(const Program& program, const Loops& loops, const std::string& func);
/// Boxes of all Funcs computed at loop `position` or deeper, while the loops in `fixed` keep their
/// values.
std::map<std::string, analysis::Box> boxes_at(const Program& program, const Loops& loops,
                                              const std::set<std::string>& fixed, std::size_t position);
/// Is any Func computed inside the loops?
bool keeps_funcs(const Program& program, const Loops& loops);
/// Do the threads of a warp give each other points of it, so that all of them compute theirs?
bool exchanges(const Program& program, const FunctionData& func);

}  // namespace mica::planning
