// What an expression is at its root.
#pragma once

#include "dsl/expr/expr.h"

namespace mica {

/// The node of `e` if that is this operation; else null.
inline const Binary* as_binary(const Expr& e, BinaryOp op) {
  const auto* node = e.as<Binary>();
  return node != nullptr && node->op == op ? node : nullptr;
}

}  // namespace mica
