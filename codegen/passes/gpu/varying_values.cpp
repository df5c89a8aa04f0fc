#include "codegen/passes/gpu/varying_values.h"

#include "dsl/expr/traverse.h"

namespace mica::passes {

bool VaryingValues::has(const Expr& e) const {
  bool found = false;
  walk(e, [&](const Expr& node) {
    const auto* var = node.as<VarRef>();
    found = found || node.as<Load>() != nullptr || node.as<WarpShuffle>() != nullptr ||
            (var != nullptr && names_.count(var->name) > 0);
  });
  return found;
}

void VaryingValues::enter(const ir::LetStmt& let) {
  if (has(let.value)) names_.insert(let.name);
}

}  // namespace mica::passes
