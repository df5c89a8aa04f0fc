// One definition under construction by NestBuilder.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/passes/nest_builder.h"
#include "codegen/passes/simplify.h"
#include "dsl/operators.h"

namespace mica::passes {

struct NestBuilder::Frame {
  const FunctionData& func;
  std::size_t index;
  LoopVars vars;
  std::vector<Guard> guards;    ///< not yet emitted
  Expr clip;                    ///< further condition on the point, or undefined
  std::set<std::string> fixed;  ///< loops around the current place

  /// Set while the loops are emitted for a Func that is kept in the threads' registers: what stands in
  /// the innermost place instead of the Func's own store.
  std::function<ir::Stmt()> body;

  [[nodiscard]] bool decided(const Guard& guard) const {
    for (const auto& name : guard.loops) {
      if (!fixed.count(name)) return false;
    }
    return true;
  }
  /// How many iterations of `loop` the guard allows, when it is the only loop left open and counts
  /// once in the guarded offset.
  [[nodiscard]] std::optional<Expr> room_for(const Guard& guard, const std::string& loop) const {
    if (!guard.loops.count(loop)) return std::nullopt;
    for (const auto& name : guard.loops) {
      if (name != loop && !fixed.count(name)) return std::nullopt;
    }
    analysis::Linear offset = analysis::linearize(guard.offset);
    if (offset.take(loop) != 1) return std::nullopt;
    for (const auto& term : offset.terms) {
      if (uses_loop(term.first, loop)) return std::nullopt;
    }
    return simplify(guard.extent - analysis::to_expr(offset));
  }

 private:
  static bool uses_loop(const Expr& e, const std::string& loop);
};

}  // namespace mica::passes
