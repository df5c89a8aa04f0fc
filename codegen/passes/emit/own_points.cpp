#include "codegen/passes/emit/own_points.h"

#include <algorithm>

#include "codegen/analysis/linear.h"
#include "codegen/analysis/simplify.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes {

using planning::Guard;
using planning::LoopVars;

namespace {

std::optional<Expr> room_for(const Guard& guard, const std::string& loop,
                             const std::set<std::string>& fixed) {
  if (!guard.loops.count(loop)) return std::nullopt;
  const bool open = std::ranges::any_of(
      guard.loops, [&](const std::string& name) { return name != loop && !fixed.count(name); });
  if (open) return std::nullopt;
  analysis::Linear offset = analysis::linearize(guard.offset);
  const std::int64_t step = offset.take(loop);
  if (step < 1) return std::nullopt;
  for (const auto& term : offset.terms) {
    if (uses_var(term.first, loop)) return std::nullopt;
  }
  const Expr room = guard.extent - analysis::to_expr(offset);
  return simplify(step == 1 ? room : (room + constant(step - 1)) / constant(step));
}

}  // namespace

OpenGuards::Room OpenGuards::take_room(const std::string& loop, const Expr& extent) {
  Room left{Expr(), extent};
  std::erase_if(guards, [&](const Guard& guard) {
    const auto room = room_for(guard, loop, fixed);
    if (!room) return false;
    const Expr one = extent <= *room;
    left.all = left.all.defined() ? left.all && one : one;
    left.count = min(left.count, *room);
    return true;
  });
  if (left.all.defined()) left = {simplify(left.all), simplify(left.count)};
  return left;
}

Expr OpenGuards::take_decided() {
  Expr condition;
  std::erase_if(guards, [&](const Guard& guard) {
    if (!std::ranges::includes(fixed, guard.loops)) return false;
    const Expr one = guard.offset < guard.extent;
    condition = condition.defined() ? condition && one : one;
    return true;
  });
  return condition;
}

ir::Stmt own_points(const LoopVars& vars, std::size_t left, const OpenGuards& open, bool by_lanes,
                    const ir::Stmt& point) {
  if (left == 0) return point;
  const LoopVars::Loop& loop = vars.loops()[left - 1];
  const auto threads = [](const LoopVars::Loop& l) { return l.kind == LoopKind::GpuThread; };
  const bool more_threads =
      threads(loop) &&
      std::any_of(vars.loops().begin(), vars.loops().begin() + static_cast<std::ptrdiff_t>(left) - 1,
                  threads);
  const auto points = [&](LoopKind kind, const Expr& extent, OpenGuards inner) {
    inner.fixed.insert(loop.name);
    const Expr condition = more_threads ? Expr() : inner.take_decided();
    ir::Stmt body = own_points(vars, left - 1, inner, by_lanes, point);
    if (condition.defined()) body = ir::make_stmt(ir::If{simplify(condition), body, {}});
    return ir::make_stmt(ir::For{loop.name, constant(0), extent, kind, body});
  };
  OpenGuards rest = open;
  if (loop.kind == LoopKind::Vectorized && by_lanes) {
    const Expr inside = rest.take_room(loop.name, loop.extent).all;
    const ir::Stmt vector = points(LoopKind::Vectorized, loop.extent, rest);
    if (!inside.defined()) return vector;
    // Registers have no dynamic index: the lanes are written out, each with its tests.
    return ir::make_stmt(ir::If{inside, vector, points(LoopKind::Unrolled, loop.extent, open)});
  }
  Expr extent = loop.extent;
  if (loop.kind == LoopKind::Serial) extent = rest.take_room(loop.name, extent).count;
  const LoopKind kind = loop.kind == LoopKind::Vectorized ? LoopKind::Unrolled : loop.kind;
  return points(kind, extent, rest);
}

}  // namespace mica::passes
