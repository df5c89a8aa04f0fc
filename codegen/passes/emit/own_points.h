// The points of a thread, and the tests that stand before them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "codegen/ir/stmt.h"
#include "codegen/plan/frame/loop_vars.h"

namespace mica::passes {

/// Tests that are still to be written at some place of a nest.
struct OpenGuards {
  std::vector<planning::Guard> guards;
  std::set<std::string> fixed = {};  ///< loops around

  /// What is left of a loop.
  struct Room {
    Expr all;    ///< that it is the whole loop; undefined where nothing is tested
    Expr count;  ///< how many of its iterations
  };
  /// Takes those out that `loop`, of so many iterations, alone leaves open and whose offset grows by a
  /// constant with each of them.
  Room take_room(const std::string& loop, const Expr& extent);
  /// Takes those out whose loops all stand around: that they hold; undefined if there are none.
  Expr take_decided();
};

/// `point` at each of the points that a thread has inside of the `left` innermost loops of `vars`, under
/// the tests of `open`. `by_lanes`: a Vectorized loop is one, else its points are written out.
ir::Stmt own_points(const planning::LoopVars& vars, std::size_t left, const OpenGuards& open,
                    bool by_lanes, const ir::Stmt& point);

}  // namespace mica::passes
