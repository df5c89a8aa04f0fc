// One definition under construction by NestBuilder, at one place of its nest.
#pragma once

#include <optional>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/nest_builder.h"
#include "codegen/passes/emit/own_points.h"
#include "dsl/expr/operators.h"

namespace mica::passes {

struct NestBuilder::Frame {
  const FunctionData& func;
  std::size_t index;
  const LoopVars& vars;
  OpenGuards open;
  Expr clip = {};    ///< further condition on the point, or undefined
  Expr tested = {};  ///< points where this does not hold are computed and not stored
  /// Set inside the loop along which registers carry the Func's recurrence.
  const Carried* carried = nullptr;
  /// The thread's points may lie outside: its loops are not written out.
  bool rolled = false;
  /// Of a definition at the root.
  const planning::KernelPlan* kernel = nullptr;
  /// Of blocks whose threads keep what is read beside their own points.
  std::optional<planning::CommonFrame> common = {};
};

}  // namespace mica::passes
