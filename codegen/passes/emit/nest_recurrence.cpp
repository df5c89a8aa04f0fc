// Definitions that read their own Func. A recurrence walks its dimension from its start, in
// registers where a thread walks a column of its own, on a CPU a row; an update with colors takes each
// step-th point.
//
//   a thread of c(x, z) = b(x, z) - a(x, z) * c(x, z - 1), with c.reorder(z, x).gpu_tile(x, 128)
//     c.carried0[0] = 0
//     rolled for c.z: let v = b[x, z] - a[x, z] * c.carried0[0];  c[x, z] = v;  c.carried0[0] = v
#include <algorithm>
#include <numeric>

#include "codegen/analysis/recurrences.h"
#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/nest.h"
#include "dsl/expr/constant_math.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::passes::nest {

namespace {

constexpr std::int64_t kMostCarried = 64;  // elements in a thread's registers

Expr number(std::int64_t value) { return make_const(Int(32), value); }

}  // namespace

std::optional<Carried> carried_at(const Nesting& nesting, const Nested& frame, std::size_t position,
                                  const Around& context) {
  const auto& loops = frame.vars.loops();
  const Recurrence* recurrence = recurrence_of(frame.func);
  if (recurrence == nullptr || frame.index > 0 || frame.carried) return std::nullopt;
  if (!loops[position].recurs || (context.on_gpu && !context.in_thread)) return std::nullopt;
  // On the host one loop that walks a whole row from its start: inside of others' loops it may go on
  // from points that are stored. Loops around others keep rows in the caches.
  const auto walks = [](const LoopVars::Loop& loop) { return loop.recurs; };
  if (!context.on_gpu && (position > 0 || !nesting.program.is_root(frame.func.name))) {
    return std::nullopt;
  }
  // A loop around that walks the dimension, too, comes back to a row that has begun.
  const auto outer = loops.begin() + static_cast<std::ptrdiff_t>(position) + 1;
  if (std::any_of(outer, loops.end(), walks)) return std::nullopt;
  for (std::size_t i = 0; i < position; ++i) {
    // emit_loops writes out the serial ones.
    const bool written_out = loops[i].kind == LoopKind::Vectorized ||
                             loops[i].kind == LoopKind::Unrolled || loops[i].kind == LoopKind::Serial;
    if (!loops[i].recurs && (!written_out || !as_int(loops[i].extent))) return std::nullopt;
  }
  Carried carried;
  carried.reach = recurrence->reach;
  std::int64_t elements = carried.reach * static_cast<std::int64_t>(frame.func.types.size());
  for (std::size_t d = 0; d < frame.func.args.size(); ++d) {
    if (d == recurrence->dim) continue;
    const analysis::Interval points = frame.vars.interval(frame.func.args[d], frame.open.fixed);
    const auto count = analysis::constant_extent(points);
    if (!count || elements > kMostCarried) return std::nullopt;
    elements *= *count;
    carried.dims.push_back(d);
    carried.mins.push_back(points.min);
    carried.extents.push_back(*count);
  }
  if (elements > kMostCarried) return std::nullopt;
  for (std::size_t i = 0; i < frame.func.types.size(); ++i) {
    carried.names.push_back(frame.func.name + ".carried" + std::to_string(i));
  }
  return carried;
}

ir::Stmt emit_carried(const Nesting& nesting, const Nested& frame, std::size_t position,
                      const Around& context, const Carried& carried) {
  Nested walked = frame;
  walked.carried = &carried;
  ir::Stmt walk = emit_loops(nesting, walked, position + 1, context);
  std::vector<ir::Stmt> stmts;
  std::vector<std::int64_t> at(carried.extents.size() + 1, 0);
  std::int64_t count = carried.reach;
  for (const std::int64_t extent : carried.extents) count *= extent;
  for (std::int64_t n = 0; n < count; ++n) {
    for (std::size_t i = 0; i < carried.names.size(); ++i) {
      ir::Store store;
      store.buffer = carried.names[i];
      for (std::size_t d = 0; d < carried.mins.size(); ++d) {
        store.index.push_back(simplify(carried.mins[d] + number(at[d])));
      }
      store.index.push_back(number(at.back()));
      store.value = make_const(frame.func.types[i], 0);
      stmts.push_back(ir::make_stmt(std::move(store)));
    }
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (++at[d] < (d < carried.extents.size() ? carried.extents[d] : carried.reach)) break;
      at[d] = 0;
    }
  }
  stmts.push_back(std::move(walk));
  ir::Stmt result = ir::make_block(std::move(stmts));
  for (std::size_t i = carried.names.size(); i-- > 0;) {
    ir::Allocate alloc;
    alloc.buffer = carried.names[i];
    alloc.type = frame.func.types[i];
    alloc.memory = MemoryType::Register;
    alloc.mins = carried.mins;
    alloc.mins.push_back(number(0));
    for (const std::int64_t extent : carried.extents) alloc.extents.push_back(number(extent));
    alloc.extents.push_back(number(carried.reach));
    alloc.body = std::move(result);
    result = ir::make_stmt(std::move(alloc));
  }
  return result;
}

ir::Stmt emit_steps(const Nesting& nesting, const Nested& frame, std::size_t position,
                    const Around& context) {
  const LoopVars::Loop& loop = frame.vars.loops()[position];
  Nested inner = frame;
  const auto left = inner.open.take_room(loop.name, loop.extent);
  if (!left.all.defined()) return {};
  const auto steps = [&](const Expr& extent, LoopKind kind) {
    const bool rolled = kind == LoopKind::Serial;
    return ir::make_stmt(ir::For{loop.name, number(0), extent, kind,
                                 emit_inside(nesting, inner, position, context), rolled});
  };
  return ir::make_stmt(
      ir::If{left.all, steps(loop.extent, LoopKind::Unrolled), steps(left.count, LoopKind::Serial)});
}

}  // namespace mica::passes::nest
