#include "codegen/plan/frame/kernel_frame.h"

#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/plan/frame/own_order.h"
#include "codegen/plan/placed_funcs.h"
#include "dsl/expr/names.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/schedule/loop_dims.h"

namespace mica::planning {

using analysis::Box;
using analysis::Interval;
using passes::constant;
using passes::simplify;

namespace {

Box whole_box(const Program& program, const FunctionData& func) {
  const std::string array = storage_name(func.name, 0, func.types.size());
  Box box;
  for (std::size_t d = 0; d < func.args.size(); ++d) {
    Expr min = min_symbol(array, d), extent = extent_symbol(array, d);
    for (const FuncSchedule::Bound& bound : schedule_of(program, func).bounds) {
      if (bound.var != func.args[d]) continue;
      min = constant(bound.min);
      extent = constant(bound.extent);
    }
    box.push_back({min, simplify(min + extent - 1)});
  }
  return box;
}

bool has_loop(const LoopNestSpec& spec, LoopKind kind) {
  return std::any_of(spec.dims.begin(), spec.dims.end(),
                     [kind](const LoopDim& d) { return d.kind == kind; });
}

// The points of a block along dimension 0, of definitions that have a loop there.
BlockRow block_row(const FunctionData& func, const LoopVars& vars) {
  BlockRow row;
  const auto& loops = vars.loops();
  const auto block = std::find_if(loops.begin(), loops.end(),
                                  [](const auto& l) { return l.kind == LoopKind::GpuBlock; });
  if (block == loops.end() || vars.roots().count(func.args[0]) == 0) return row;
  std::set<std::string> fixed;
  for (auto loop = block; loop != loops.end(); ++loop) fixed.insert(loop->name);
  const Interval along = vars.interval(func.args[0], fixed);
  const auto points = analysis::constant_extent(along);
  if (!points) return row;
  row.origin = along.min;
  row.points = *points;
  const auto* lanes = as_int(loops[0].extent);
  const bool vectors = lanes && loops[0].kind == LoopKind::Vectorized &&
                       uses_var(vars.value(func.args[0]), loops[0].name);
  if (vectors) row.lanes = static_cast<int>(*lanes);
  return row;
}

// Points of dimension `dim` while the loops for which `fixed` holds keep their values.
std::optional<std::int64_t> points_of(const LoopVars& vars, const std::string& dim,
                                      const std::set<std::string>& fixed) {
  if (vars.roots().count(dim) == 0) return 1;  // an update's constant index
  return analysis::constant_extent(vars.interval(dim, fixed));
}

void add_points(KernelFrame& frame) {
  const auto& loops = frame.vars.loops();
  std::set<std::string> around_threads, around_points;
  bool outside = true;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    const bool at_once = loop->kind == LoopKind::Vectorized || loop->kind == LoopKind::Unrolled;
    outside = outside && loop->kind != LoopKind::GpuThread && !at_once;
    if (outside) around_threads.insert(loop->name);
    outside = outside && loop->kind != LoopKind::March;
    if (!at_once) around_points.insert(loop->name);
  }
  for (const auto& dim : frame.dims) {
    frame.block.push_back(points_of(frame.vars, dim, around_threads));
    frame.own.push_back(points_of(frame.vars, dim, around_points).value_or(1));
  }
}

void add_march(KernelFrame& frame, const FunctionData& func,
               const std::optional<FuncSchedule::March>& march) {
  const auto& loops = frame.vars.loops();
  for (std::size_t position = 0; position < loops.size(); ++position) {
    if (loops[position].kind != LoopKind::March) continue;
    frame.march = March{marched_dimension(frame.vars, func, loops[position].name), position, {}, 0};
  }
  if (!frame.march || !march || march->chunk == 0) return;
  frame.march->chunk = march->chunk;
  frame.march->shortest = march->shortest;
}

}  // namespace

std::string loop_prefix(const FunctionData& func, std::size_t index) {
  return func.name + (index ? ".u" + std::to_string(index) : "");
}

LoopNestSpec definition_spec(const Program& program, const FunctionData& func, std::size_t index,
                             bool on_gpu) {
  LoopNestSpec spec = schedule_of(program, func).definitions.at(index).loops;
  // Only an output's memory has room that the caller promises. A point that is computed again would find
  // its own value in registers that carry a recurrence, where the one before it was.
  for (auto& step : spec.steps) {
    const bool no_room = step.tail == TailStrategy::RoundUp && !program.pipeline.is_output(func.name);
    const bool again = step.tail == TailStrategy::ShiftInwards && on_gpu &&
                       func.definitions[index].recurrence.has_value();
    if (no_room || again) step.tail = TailStrategy::GuardWithIf;
  }
  return spec;
}

void add_other_roots(const Definition& definition, const LoopNestSpec& spec,
                     std::map<std::string, LoopVars::Root>& roots) {
  if (definition.domain) {
    for (const auto& dim : definition.domain->dims) roots[dim.name] = {dim.min, dim.count()};
  }
  for (const LoopDim& dim : spec.dims) {
    if (dim.is_single) roots[dim.name] = {constant(0), constant(1)};
  }
}

void count_threads(const LoopVars& vars, const FunctionData& func, std::size_t index,
                   std::int64_t (&threads)[3]) {
  std::size_t axis = 0;
  for (const auto& loop : vars.loops()) {
    if (loop.kind != LoopKind::GpuThread) continue;
    const auto* extent = as_int(loop.extent);
    if (!extent) {
      throw UserError("the thread loop " + loop.dim + " of " + func.name + " has extent " +
                          to_string(loop.extent) +
                          ", which is not constant; make it with gpu_tile or split, or, where " +
                          func.name + " is computed inside a block, compute_root " + func.name,
                      func.definitions[index].where);
    }
    internal_check(axis < 3, "at most three thread loops");
    threads[axis] = std::max(threads[axis], *extent);
    ++axis;
  }
}

std::string marched_dimension(const LoopVars& vars, const FunctionData& func, const std::string& march) {
  std::string marched;
  for (const auto& dim : func.args) {
    if (vars.roots().count(dim) && uses_var(vars.value(dim), march)) marched = dim;
  }
  internal_check(!marched.empty(), "a march loop walks a dimension");
  return marched;
}

KernelFrame root_frame(const Program& program, const FunctionData& func, std::size_t index) {
  const Definition& definition = func.definitions[index];
  const FuncSchedule::OfDefinition& asked = schedule_of(program, func).definitions.at(index);
  const bool has_blocks = has_loop(asked.loops, LoopKind::GpuBlock);
  const bool on_gpu = has_blocks || has_loop(asked.loops, LoopKind::GpuThread);
  const LoopNestSpec spec = definition_spec(program, func, index, on_gpu);

  const Box box = analysis::computed_box(func, definition, whole_box(program, func));
  std::map<std::string, LoopVars::Root> roots;
  for (const auto& var : definition.pure_vars) {
    const auto d =
        static_cast<std::size_t>(std::find(func.args.begin(), func.args.end(), var) - func.args.begin());
    roots[var] = {box[d].min, analysis::extent_of(box[d])};
  }
  add_other_roots(definition, spec, roots);
  const std::string prefix = loop_prefix(func, index);
  auto fused = LoopVars(spec, roots, prefix).fused_extents();
  add_own_order(func, index, roots);
  const auto& march = schedule_of(program, func).march;
  const auto common = index == 0 ? common_frame(program, func, march) : std::nullopt;
  for (std::size_t d = 0; common && d < func.args.size(); ++d) {
    roots.at(func.args[d]).before = common->margin[d].before;
    roots.at(func.args[d]).after = common->margin[d].after;
    if (func.args[d] != common->march) roots.at(func.args[d]).framed = common->where;
    roots.at(func.args[d]).still_ends = d == 0 && func.still_ends;
  }

  KernelFrame frame{LoopVars(spec, roots, prefix, has_blocks)};
  frame.on_gpu = on_gpu;
  frame.fused = std::move(fused);
  frame.common = common;
  frame.dims = func.args;
  count_threads(frame.vars, func, index, frame.threads);
  add_points(frame);
  add_march(frame, func, march);
  if (program.options.target.is_gpu()) frame.filling_warps = asked.filling_warps;
  frame.warp_split = asked.warp_split;
  if (keeps_funcs(program, {func, index, frame.vars}) || exchanges(program, func)) {
    frame.row = block_row(func, frame.vars);
  }
  return frame;
}

}  // namespace mica::planning
