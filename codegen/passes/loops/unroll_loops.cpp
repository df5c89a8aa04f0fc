#include "codegen/passes/loops/unroll_loops.h"

#include "codegen/ir/traverse.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {

ir::Stmt unroll_loops(const ir::Stmt& stmt) {
  const auto* loop = stmt.as<ir::For>();
  if (loop && loop->kind == LoopKind::Unrolled) {
    const auto* extent = as_int(loop->extent);
    if (!extent) {
      throw UserError("unroll of " + printed(loop->name) + ": the loop's extent " +
                      to_string(loop->extent) + " is not constant; give a factor: unroll(v, 4)");
    }
    ir::Stmt body = unroll_loops(loop->body);
    std::vector<ir::Stmt> copies;
    for (std::int64_t i = 0; i < *extent; ++i) {
      copies.push_back(ir::substitute(body, loop->name, loop->min + make_const(Int(32), i)));
    }
    return ir::make_block(std::move(copies));
  }
  return ir::map_children(
      stmt, [](const ir::Stmt& child) { return unroll_loops(child); }, [](const Expr& e) { return e; });
}

}  // namespace mica::passes
