// The points of one thread, tested together.
#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/nest.h"
#include "dsl/expr/operators.h"

namespace mica::passes::nest {

// Tests of their own would keep the loads of points beside one another apart: each would be made as
// often as it is read.
//
//   before  y.unroll written out: if y*4 < n: f[y*4];  if y*4 + 1 < n: f[y*4 + 1];  ...
//   after   if y*4 + 3 < n: f[y*4]; f[y*4 + 1]; f[y*4 + 2]; f[y*4 + 3]
//           else for y.unroll in [0, min(4, n - y*4)): f[y*4 + y.unroll]
ir::Stmt emit_points(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context) {
  const auto& loops = frame.vars.loops();
  analysis::Scope open;
  bool written_out = false;
  for (std::size_t i = 0; i < position; ++i) {
    const auto* count = as_int(loops[i].extent);
    const bool unrolled = loops[i].kind == LoopKind::Unrolled;
    if (!count || loops[i].recurs || (!unrolled && loops[i].kind != LoopKind::Vectorized)) {
      return emit_loops(nesting, frame, position, context);
    }
    written_out = written_out || unrolled;
    open[loops[i].name] = {make_const(Int(32), 0), make_const(Int(32), *count - 1)};
  }
  Expr inside;
  for (const Guard& guard : frame.open.guards) {
    const analysis::Interval range = analysis::interval_of(guard.offset, open);
    if (!range.bounded()) return emit_loops(nesting, frame, position, context);
    const Expr one = simplify(range.max < guard.extent);
    inside = inside.defined() ? inside && one : one;
  }
  if (!written_out || !inside.defined()) return emit_loops(nesting, frame, position, context);
  Nested whole = frame, edge = frame;
  whole.open.guards.clear();
  edge.rolled = true;
  const ir::Stmt all = emit_loops(nesting, whole, position, context);
  return ir::make_stmt(ir::If{inside, all, emit_loops(nesting, edge, position, context)});
}

}  // namespace mica::passes::nest
