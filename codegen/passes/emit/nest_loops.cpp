#include <algorithm>

#include "codegen/analysis/equal_nodes.h"
#include "codegen/analysis/simplify.h"
#include "codegen/ir/traverse.h"
#include "codegen/passes/emit/nest.h"
#include "codegen/passes/gpu/clamped_blocks.h"
#include "codegen/plan/frame/kernel_frame.h"
#include "codegen/plan/frame/own_order.h"
#include "codegen/plan/placed_funcs.h"
#include "dsl/check/update_order.h"
#include "dsl/expr/limits.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes::nest {

using analysis::Box;
using analysis::Interval;

namespace {

// The threads of a block deal out the points of a box among them, in no order.
void refuse_own_reads(const FunctionData& func, const Definition& definition,
                      const Placement& placement) {
  if (!definition.recurrence && !definition.coloring) return;
  throw UserError(func.name +
                      " reads itself, so the threads of a block cannot compute its points in any "
                      "order: compute it at the root, or inside a thread loop",
                  placement.where.known() ? placement.where : definition.where);
}

// Fused loops count their iterations in 32 bits.
void check_fused(const Nesting& nesting, const FunctionData& func, std::size_t index,
                 const std::vector<std::pair<std::string, Expr>>& extents) {
  for (const auto& [loop, extent] : extents) {
    if (as_int(extent) || !is_launch_value(nesting.program.plan, extent)) continue;
    PlanCheck check;
    check.holds = extent <= make_const(Int(32), kLargestExtent);
    check.values = {extent};
    check.message = "the fused loop " + loop + " of " + func.name +
                    " would have {0} iterations; legal are at most " + std::to_string(kLargestExtent) +
                    ": fuse fewer dimensions, or fuse them after a split";
    check.where = func.definitions[index].where;
    nesting.findings.checks.push_back(std::move(check));
  }
}

// The dimensions that a definition's loops go over.
struct Dimensions {
  std::map<std::string, LoopVars::Root> roots = {};
  std::map<std::string, LoopVars::Root> unclipped = {};  // over the whole box
  std::vector<std::pair<std::string, Expr>> lets = {};   // names that `roots` use, outermost first
};

// Over `box`, or where loops are clipped over what of it is `needed`.
Dimensions dimensions_of(const FunctionData& func, const Definition& definition,
                         const std::string& prefix, const Box& box, const Box& needed, bool clip_loops,
                         const Around& context) {
  Dimensions dims;
  for (const auto& var : definition.pure_vars) {
    auto d =
        static_cast<std::size_t>(std::find(func.args.begin(), func.args.end(), var) - func.args.begin());
    const Interval &range = box[d], &need = needed[d];
    dims.unclipped[var] = {range.min, analysis::extent_of(range)};
    dims.roots[var] = dims.unclipped[var];
    const auto bound = analysis::constant_extent(range);
    if (clip_loops && !(analysis::same(range.min, need.min) && analysis::same(range.max, need.max))) {
      const std::string loop = loop_name(prefix, var);
      const Interval named{make_var(loop + ".low"), make_var(loop + ".high")};
      Expr high = min(range.max, need.max);
      if (context.parts.count(d) > 0) high = max(high, named.min - 1);
      dims.lets.emplace_back(loop + ".low", simplify(max(range.min, need.min)));
      dims.lets.emplace_back(loop + ".high", simplify(high));
      const Expr points = analysis::extent_of(named);
      // Of the box's own few points: what the names stand for is not looked at.
      dims.roots[var] = {named.min, bound ? min(points, make_const(Int(32), *bound)) : points};
    } else if (bound && context.in_block) {
      dims.roots[var].extent = make_const(Int(32), *bound);
    }
  }
  return dims;
}

ir::Stmt build_definition(const Nesting& nesting, const FunctionData& func, std::size_t index,
                          const Box& whole, const Around& context) {
  const Box box = analysis::computed_box(func, func.definitions[index], whole);
  const Placement& placement = nesting.program.placement.at(func.name);
  internal_check(placement.level == Placement::Level::At, "build_root makes the loops of a root Func");
  const Definition& definition = func.definitions[index];
  const LoopNestSpec spec = planning::definition_spec(nesting.program, func, index, context.on_gpu);

  // A Func computed once per block without thread loops of its own is dealt to all threads.
  bool has_threads = std::any_of(spec.dims.begin(), spec.dims.end(),
                                 [](const LoopDim& d) { return d.kind == LoopKind::GpuThread; });
  if (context.on_gpu && context.in_block && !context.in_thread && !has_threads) {
    refuse_own_reads(func, definition, placement);
    return fill_box(nesting.program, func, index, box, placement.load.value_or(LoadPolicy::TwoStep),
                    fill_place(nesting, context));
  }

  // Inside a thread or block extents stay constant and points are guarded; elsewhere the loops are
  // clipped to what the pipeline needs.
  const bool clip_loops = !context.in_block && !context.all_needed;
  const Box needed = analysis::computed_box(func, definition, needed_box(nesting, func, context));
  const std::string prefix = planning::loop_prefix(func, index);
  Dimensions dims = dimensions_of(func, definition, prefix, box, needed, clip_loops, context);
  planning::add_other_roots(definition, spec, dims.roots);
  planning::add_other_roots(definition, spec, dims.unclipped);
  check_fused(nesting, func, index, LoopVars(spec, dims.unclipped, prefix).fused_extents());
  planning::add_own_order(func, index, dims.roots);

  const LoopVars vars(spec, dims.roots, prefix, context.in_block);
  Nested frame{func, index, vars, {vars.guards()}};
  Around inner = context;
  inner.parts.clear();
  inner.all_needed = false;
  const auto& loops = frame.vars.loops();
  if (!clip_loops && !context.all_needed) {
    frame.clip = clip_condition(func, box, needed, inner, [&](const std::string& v) {
      return frame.vars.roots().count(v) ? frame.vars.value(v) : Expr();
    });
  }
  planning::count_threads(frame.vars, func, index, inner.threads);
  ir::Stmt stmt = emit_loops(nesting, frame, loops.size(), inner);
  for (auto it = dims.lets.rbegin(); it != dims.lets.rend(); ++it) {
    stmt = ir::make_stmt(ir::LetStmt{it->first, it->second, stmt});
  }
  return stmt;
}

ir::Stmt emit_body(const Nesting& nesting, const Nested& frame) {
  const auto value_of = [&](const std::string& v) { return frame.vars.value(v); };
  const ir::Stmt store = point_stores(nesting.program, frame.func, frame.index, value_of, frame.carried);
  Expr condition = frame.clip;
  if (const Expr color = planning::color_condition(frame.func, frame.index); color.defined()) {
    const Expr own = simplify(substitute(color, [&](const std::string& name) {
      return frame.vars.roots().count(name) > 0 ? value_of(name) : Expr();
    }));
    condition = condition.defined() ? condition && own : own;
  }
  if (frame.tested.defined()) {
    // Offsets grow with the lanes: all are inside where the last one is.
    Expr all_lanes = frame.tested;
    for (const auto& loop : frame.vars.loops()) {
      if (loop.kind != LoopKind::Vectorized || !uses_var(all_lanes, loop.name)) continue;
      all_lanes = simplify(substitute(all_lanes, loop.name, loop.extent - 1));
    }
    return with_tested_stores(store, frame.tested, all_lanes);
  }
  return condition.defined() ? ir::make_stmt(ir::If{condition, store, {}}) : store;
}

ir::Stmt emit_vector_loop(const Nesting& nesting, const Nested& frame, std::size_t position,
                          const Around& context) {
  const LoopVars::Loop& loop = frame.vars.loops()[position];
  const auto* lanes = as_int(loop.extent);
  if (!lanes) {
    throw UserError("vectorize of " + loop.dim + " in " + frame.func.name + ": the loop's extent " +
                        to_string(loop.extent) + " is not constant; give a width: vectorize(" +
                        loop.dim + ", 8)",
                    frame.func.definitions[frame.index].where);
  }
  Expr zero = make_const(Int(32), std::int64_t{0});
  // Guards that only this loop leaves open: all lanes are inside when the last one is.
  Nested inner = frame;
  const auto [all_inside, scalar_extent] = inner.open.take_room(loop.name, loop.extent);
  ir::Stmt vector = ir::make_stmt(ir::For{loop.name, zero, loop.extent, LoopKind::Vectorized,
                                          emit_inside(nesting, inner, position, context)});
  if (all_inside.defined() &&
      (frame.carried != nullptr || (frame.vars.is_marched() && keeps_funcs(nesting, frame)))) {
    // Registers have no dynamic index: the lanes are written out, each with its guards.
    ir::Stmt lanes_apart = ir::make_stmt(ir::For{loop.name, zero, loop.extent, LoopKind::Unrolled,
                                                 emit_inside(nesting, frame, position, context)});
    vector = ir::make_stmt(ir::If{all_inside, vector, lanes_apart});
  } else if (all_inside.defined()) {
    ir::Stmt scalar = ir::make_stmt(ir::For{loop.name, zero, scalar_extent, LoopKind::Serial,
                                            emit_inside(nesting, inner, position, context)});
    vector = ir::make_stmt(ir::If{all_inside, vector, scalar});
  }
  return vector;
}

}  // namespace

const FunctionData& find(const Nesting& nesting, const std::string& name) {
  const FunctionData* func = nesting.program.pipeline.find(name);
  internal_check(func != nullptr, "placement names a Func of the pipeline");
  return *func;
}

// ---- roots and definitions -----------------------------------------------------------------------

ir::Stmt build_root(const Nesting& nesting, const FunctionData& func, std::size_t index, bool& on_gpu) {
  const planning::KernelPlan* kernel = planning::find_kernel(nesting.program.kernels, func.name, index);
  const planning::KernelFrame root =
      kernel != nullptr ? kernel->frame : planning::root_frame(nesting.program, func, index);
  on_gpu = root.on_gpu;
  check_fused(nesting, func, index, root.fused);
  Around context;
  context.on_gpu = root.on_gpu;
  context.kernel = kernel;
  std::copy(std::begin(root.threads), std::end(root.threads), context.threads);
  Nested frame{func, index, root.vars, {root.vars.guards()}};
  frame.kernel = kernel;
  frame.common = root.common;
  const ir::Stmt body = emit_loops(nesting, frame, frame.vars.loops().size(), context);
  return store_folded(nesting, func, ir::make_stmt(ir::Produce{func.name, body}));
}

ir::Stmt build_func(const Nesting& nesting, const FunctionData& func, const Box& box,
                    const Around& context) {
  return ir::make_stmt(ir::Produce{func.name, build_definitions(nesting, func, box, context)});
}

ir::Stmt build_definitions(const Nesting& nesting, const FunctionData& func, const Box& box,
                           const Around& context) {
  std::vector<ir::Stmt> stmts;
  for (std::size_t i = 0; i < func.definitions.size(); ++i) {
    stmts.push_back(build_definition(nesting, func, i, box, context));
  }
  return ir::make_block(std::move(stmts));
}

// ---- loops -----------------------------------------------------------------------------------------

ir::Stmt emit_loops(const Nesting& nesting, const Nested& frame, std::size_t outermost_left,
                    const Around& context) {
  if (outermost_left == 0) return emit_body(nesting, frame);
  const std::size_t position = outermost_left - 1;
  const LoopVars::Loop& loop = frame.vars.loops()[position];
  if (loop.kind == LoopKind::Vectorized && !stores_apart(nesting, frame))
    return emit_vector_loop(nesting, frame, position, context);
  if (loop.kind == LoopKind::March) return emit_march(nesting, frame, position, context);

  if (const auto carried = carried_at(nesting, frame, position, context)) {
    return emit_carried(nesting, frame, position, context, *carried);
  }
  if (loop.recurs && loop.kind == LoopKind::Unrolled && context.on_gpu) {
    if (ir::Stmt steps = emit_steps(nesting, frame, position, context); steps.defined()) return steps;
  }
  // A serial loop that alone is left to decide a guard runs only as far as the guard allows.
  Expr extent = loop.extent;
  const bool rolled_up = frame.rolled && loop.kind == LoopKind::Unrolled;
  // Registers that carry a recurrence have no dynamic index.
  const bool written_out = frame.carried != nullptr && loop.kind == LoopKind::Serial && !loop.recurs;
  Nested inner = frame;
  if ((loop.kind == LoopKind::Serial && !written_out) || loop.kind == LoopKind::Parallel || rolled_up) {
    extent = inner.open.take_room(loop.name, extent).count;
  }
  ir::Stmt body = emit_inside(nesting, inner, position, context);
  const LoopKind kind = rolled_up                                          ? LoopKind::Serial
                        : loop.kind == LoopKind::Vectorized || written_out ? LoopKind::Unrolled
                                                                           : loop.kind;
  const bool rolled = loop.recurs && context.on_gpu && kind == LoopKind::Serial;
  return ir::make_stmt(
      ir::For{loop.name, make_const(Int(32), std::int64_t{0}), extent, kind, body, rolled});
}

// The inside of loop `position`: conditions that are now decided, then what is computed here, then
// the next loop.
ir::Stmt emit_inside(const Nesting& nesting, const Nested& around, std::size_t position,
                     const Around& context) {
  Nested frame = around;
  const auto& loops = frame.vars.loops();
  const LoopVars::Loop& loop = loops[position];
  Around inner = context;
  frame.open.fixed.insert(loop.name);
  if (loop.kind == LoopKind::GpuThread) inner.in_thread = inner.in_block = true;
  if (runs_at_once(loop.kind)) inner.concurrent = loop_text(loop);
  if (loop.kind == LoopKind::GpuBlock) {
    inner.in_block = std::none_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(position),
                                  [](const auto& l) { return l.kind == LoopKind::GpuBlock; });
  }
  const auto* count = as_int(loop.extent);
  inner.ranges.push(loop.name, {std::int64_t{0}, count ? std::optional(*count - 1) : std::nullopt});

  // Thread loops stay directly around each other: their guards stand inside the innermost.
  const bool more_threads =
      loop.kind == LoopKind::GpuThread &&
      std::any_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(position),
                  [](const auto& l) { return l.kind == LoopKind::GpuThread; });
  const Expr condition = more_threads ? Expr() : frame.open.take_decided();
  const bool innermost_block =
      loop.kind == LoopKind::GpuBlock &&
      std::none_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(position),
                   [](const auto& l) { return l.kind == LoopKind::GpuBlock; });
  add_stored(nesting, frame, position, inner);
  const bool own_points = loop.kind == LoopKind::GpuThread && !more_threads && !frame.rolled &&
                          !frame.at_edge && !frame.vars.is_marched() && frame.carried == nullptr &&
                          !planning::exchanges(nesting.program, frame.func) &&
                          !keeps_funcs(nesting, frame);
  ir::Stmt body =
      innermost_block &&
              (keeps_funcs(nesting, frame) || planning::exchanges(nesting.program, frame.func))
          ? split_block(nesting, frame, position, inner)
      : own_points
          ? emit_points(nesting, frame, position, inner)
          : place_funcs(nesting, frame, position, inner, emit_loops(nesting, frame, position, inner));
  if (condition.defined()) body = ir::make_stmt(ir::If{simplify(condition), body, {}});
  if (!innermost_block) return body;
  for (const LoopVars::Place& place : frame.vars.places()) {
    body = ir::make_stmt(ir::LetStmt{place.name, place.value, body});
  }
  return body;
}

}  // namespace mica::passes::nest
