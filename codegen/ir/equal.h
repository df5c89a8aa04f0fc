// Structural equality of statements.
#pragma once

#include "codegen/ir/stmt.h"

namespace mica::ir {

/// Same kinds, names, types and expressions (dsl/expr/traverse.h `equal`) in the same order. Two
/// undefined statements are equal. Names count: alpha-equivalent loops differ.
bool equal(const Stmt& a, const Stmt& b);

}  // namespace mica::ir
