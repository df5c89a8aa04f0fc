#include "codegen/llvm/index/split_index.h"

#include <cstdlib>
#include <functional>

#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "runtime/run/plan.h"

namespace mica::llvm_backend {

SplitIndex split_constant(const Expr& e) {
  if (const std::int64_t* value = as_int(e)) return {Expr(), *value};
  const Binary* op = e.as<Binary>();
  if (op == nullptr) return {e, 0};
  const auto rebuilt = [&](const Expr& a, const Expr& b) {
    return make_expr(e.type(), Binary{op->op, a, b});
  };
  switch (op->op) {
    case BinaryOp::Add: {
      const SplitIndex a = split_constant(op->a);
      const SplitIndex b = split_constant(op->b);
      const std::int64_t constant = a.constant + b.constant;
      if (!a.rest.defined()) return {b.rest, constant};
      if (!b.rest.defined()) return {a.rest, constant};
      if (a.constant == 0 && b.constant == 0) return {e, 0};
      return {rebuilt(a.rest, b.rest), constant};
    }
    case BinaryOp::Sub: {
      const SplitIndex a = split_constant(op->a);
      const SplitIndex b = split_constant(op->b);
      const std::int64_t constant = a.constant - b.constant;
      if (!b.rest.defined()) return {a.rest, constant};
      if (a.constant == 0 && b.constant == 0) return {e, 0};
      return {rebuilt(a.rest.defined() ? a.rest : make_const(e.type(), std::int64_t{0}), b.rest),
              constant};
    }
    case BinaryOp::Mul: {
      const std::int64_t* factor = as_int(op->b);
      const Expr& other = factor != nullptr ? op->a : op->b;
      if (factor == nullptr) factor = as_int(op->a);
      if (factor == nullptr) return {e, 0};
      const SplitIndex split = split_constant(other);
      if (split.constant == 0) return {e, 0};
      if (!split.rest.defined()) return {Expr(), split.constant * *factor};
      return {rebuilt(split.rest, make_const(e.type(), *factor)), split.constant * *factor};
    }
    default: return {e, 0};
  }
}

bool may_be_widened(const Expr& e) {
  if (e.type() != Int(32)) return false;
  VisitedNodes visited;
  const std::function<bool(const Expr&)> small = [&](const Expr& part) {
    if (!visited.enter(part)) return true;
    if (const std::int64_t* value = as_int(part)) return std::abs(*value) <= kLargestConstant32;
    const auto* op = part.as<Binary>();
    const bool sum = op && (op->op == BinaryOp::Add || op->op == BinaryOp::Sub);
    if (!sum && !(op && op->op == BinaryOp::Mul)) return true;
    return small(op->a) && small(op->b);
  };
  return small(e);
}

}  // namespace mica::llvm_backend
