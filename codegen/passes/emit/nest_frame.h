// One definition under construction by NestBuilder.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/nest_builder.h"
#include "dsl/expr/operators.h"

namespace mica::passes {

struct NestBuilder::Frame {
  const FunctionData& func;
  std::size_t index;
  LoopVars vars;
  std::vector<Guard> guards = {};    ///< not yet emitted
  Expr clip = {};                    ///< further condition on the point, or undefined
  Expr tested = {};                  ///< points where this does not hold are computed and not stored
  std::set<std::string> fixed = {};  ///< loops around the current place

  /// Set while the loops are emitted for a Func that is kept in the threads' registers: what stands in
  /// the innermost place instead of the Func's own store.
  std::function<ir::Stmt()> body = {};
  /// Set inside the loop along which registers carry the Func's recurrence.
  const Carried* carried = nullptr;
  /// The thread's points may lie outside: its loops are not written out.
  bool rolled = false;
  /// Of a definition at the root.
  const planning::KernelPlan* kernel = nullptr;
  /// Of blocks whose threads keep what is read beside their own points.
  std::optional<planning::CommonFrame> common = {};

  [[nodiscard]] bool decided(const Guard& guard) const {
    for (const auto& name : guard.loops) {
      if (!fixed.count(name)) return false;
    }
    return true;
  }
  /// How many iterations of `loop` the guard allows, when it is the only loop left open and the guarded
  /// offset grows by a constant with each.
  [[nodiscard]] std::optional<Expr> room_for(const Guard& guard, const std::string& loop) const {
    if (!guard.loops.count(loop)) return std::nullopt;
    for (const auto& name : guard.loops) {
      if (name != loop && !fixed.count(name)) return std::nullopt;
    }
    analysis::Linear offset = analysis::linearize(guard.offset);
    const std::int64_t step = offset.take(loop);
    if (step < 1) return std::nullopt;
    for (const auto& term : offset.terms) {
      if (uses_loop(term.first, loop)) return std::nullopt;
    }
    const Expr room = guard.extent - analysis::to_expr(offset);
    return simplify(step == 1 ? room
                              : (room + make_const(Int(32), step - 1)) / make_const(Int(32), step));
  }

 private:
  static bool uses_loop(const Expr& e, const std::string& loop);
};

}  // namespace mica::passes
