#include "codegen/analysis/lane_of.h"

#include <memory>

#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::analysis {

Expr lane_of(const Expr& e, std::int64_t lane) {
  if (e.type().is_scalar()) return e;
  if (const auto* ramp = e.as<Ramp>()) {
    return lane == 0 ? ramp->base : ramp->base + ramp->stride * make_const(ramp->base.type(), lane);
  }
  if (const auto* all = e.as<Broadcast>()) return all->value;
  const Expr r = map_children(e, [&](const Expr& child) { return lane_of(child, lane); });
  return Expr(std::make_shared<ExprNode>(e.type().element(), r.node().op));
}

}  // namespace mica::analysis
