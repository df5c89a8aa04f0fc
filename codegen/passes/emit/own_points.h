// The points of a thread, and the tests that stand before them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/stmt.h"
#include "codegen/plan/loop_vars.h"

namespace mica::passes {

/// Tests that are still to be written at some place of a nest.
struct OpenGuards {
  std::vector<planning::Guard> guards;
  std::set<std::string> fixed = {};  ///< loops around

  /// Takes those out that `loop` alone leaves open and whose offset grows by a constant with each of its
  /// iterations: how many of them each allows.
  std::vector<Expr> take_rooms(const std::string& loop);
  /// Takes those out whose loops all stand around: that they hold; undefined if there are none.
  Expr take_decided();
};

/// `point` at each of the points that a thread has inside of the `left` innermost loops of `vars`, under
/// the tests of `open`. `by_lanes`: a Vectorized loop is one, else its points are written out.
ir::Stmt own_points(const planning::LoopVars& vars, std::size_t left, const OpenGuards& open,
                    bool by_lanes, const ir::Stmt& point);

}  // namespace mica::passes
