#include "codegen/plan/crew.h"

#include "codegen/passes/loops/index_constants.h"
#include "dsl/expr/operators.h"

namespace mica::planning {

using passes::constant;

Crew::Crew(const std::int64_t (&threads)[3], int filling_warps) {
  std::size_t last = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extents[axis] = threads[axis];
    count *= extents[axis];
    if (extents[axis] > 1) last = axis;
  }
  if (filling_warps == 0) return;
  constexpr std::int64_t kWarp = 32;
  const std::int64_t row = count / extents[last];  // threads of one row of the last dimension
  first = count;
  count = kWarp * filling_warps;
  internal_check(count % row == 0, "warps that fill are whole rows of the block");
  extents[last] += count / row;
}

Expr Crew::number(const std::string& prefix) const {
  Expr linear;
  for (std::size_t axis = 3; axis-- > 0;) {
    const Expr t = make_var(prefix + kThreadAxis[axis]);
    linear = linear.defined() ? linear * constant(extents[axis]) + t : t;
  }
  return first > 0 ? linear - constant(first) : linear;
}

Expr Crew::condition(const std::string& prefix) const {
  return first > 0 ? number(prefix) >= constant(0) : Expr();
}

ir::Stmt Crew::around(const std::string& prefix, ir::Stmt stmt) const {
  if (const Expr filling = condition(prefix); filling.defined()) {
    stmt = ir::make_stmt(ir::If{filling, stmt, {}});
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    stmt = ir::make_stmt(ir::For{prefix + kThreadAxis[axis], constant(0), constant(extents[axis]),
                                 LoopKind::GpuThread, stmt});
  }
  return stmt;
}

}  // namespace mica::planning
