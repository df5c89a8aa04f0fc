#include "codegen/plan/edge_blocks.h"

#include <algorithm>
#include <set>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/funcs/inline_funcs.h"
#include "codegen/plan/placed_funcs.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::planning {

using analysis::Interval;
using passes::constant;
using passes::simplify;

namespace {

// Windows whose planes come from global memory wait for them in each step. They need other threads to
// work meanwhile more than edges without tests, which take registers.
bool has_window(const Program& program, const Loops& loops) {
  return std::any_of(
      program.pipeline.funcs.begin(), program.pipeline.funcs.end(), [&](const auto& func) {
        const Placement& place = program.placement.at(func->name);
        if (place.memory != MemoryType::Register || loop_of(program, loops, func->name) < 0)
          return false;
        bool reads_global = false;
        analysis::for_each_access(func->definitions.front(), [&](const Access& access) {
          reads_global = reads_global || program.pipeline.find_input(access.name) != nullptr ||
                         program.is_root(access.name);
        });
        return reads_global;
      });
}

// May a block compute points outside as it does those inside?
bool may_clamp(const Program& program, const Loops& loops) {
  const FunctionData& func = loops.func;
  const Variant& variant = program.options.variant;
  const bool vectors =
      std::any_of(loops.vars.loops().begin(), loops.vars.loops().end(),
                  [](const LoopVars::Loop& loop) { return loop.kind == LoopKind::Vectorized; });
  const std::vector<Expr>& values = func.definitions.front().values;
  const bool prints = std::any_of(values.begin(), values.end(),
                                  [](const Expr& value) { return value.as<Print>() != nullptr; });
  const bool plain = func.definitions.size() == 1 && !func.definitions.front().recurrence &&
                     !func.definitions.front().domain && !prints;
  return plain && !vectors && !variant.aligned && variant.index32 && variant.separate &&
         loops.vars.is_marched() && !has_window(program, loops);
}

}  // namespace

std::optional<Program> without_stages(const Program& program, const std::string& name) {
  constexpr std::size_t kMostTaps = 256;
  Program direct = program;
  for (auto& [func, placement] : direct.placement) {
    std::string at = func;
    for (std::size_t steps = 0; steps <= program.placement.size(); ++steps) {
      const Placement& p = program.placement.at(at);
      if (p.level != Placement::Level::At) break;
      at = p.compute.func;
    }
    if (at != name || func == name) continue;
    const FunctionData& placed = *program.pipeline.find(func);
    // What is inlined is not stored.
    if (placed.traces.stores || placed.traces.realizations) return std::nullopt;
    if (placed.definitions.size() != 1 || recurrence_of(placed)) return std::nullopt;
    placement = Placement();
  }
  passes::inline_funcs(direct);
  std::size_t taps = 0;
  for (const auto& definition : direct.pipeline.find(name)->definitions) {
    analysis::for_each_access(definition, [&](const Access&) { ++taps; });
    if (taps > kMostTaps) return std::nullopt;
  }
  return direct;
}

Inside edge_of(const Program& program, const FunctionData& func, std::size_t index,
               const KernelFrame& frame) {
  Inside inside;
  const Loops own{func, index, frame.vars};
  if (!keeps_funcs(program, own) && !exchanges(func)) return inside;
  const auto& loops = frame.vars.loops();
  const auto block = std::find_if(loops.begin(), loops.end(),
                                  [](const auto& l) { return l.kind == LoopKind::GpuBlock; });
  if (block == loops.end()) return inside;
  if (frame.common) {
    inside.edge = Inside::Edge::ClampedLoads;
    return inside;
  }
  std::set<std::string> fixed;
  for (auto loop = block; loop != loops.end(); ++loop) fixed.insert(loop->name);
  analysis::Scope open;
  std::string march;
  for (const auto& loop : loops) {
    if (loop.kind == LoopKind::March) march = loop.name;
    if (fixed.count(loop.name)) continue;
    open[loop.name] = {constant(0), simplify(loop.extent - 1)};
  }
  for (const auto& guard : frame.vars.guards()) {
    if (std::ranges::includes(fixed, guard.loops)) continue;  // tested around the block
    if (!march.empty() && guard.loops.count(march)) {
      inside.last_steps = true;
      continue;
    }
    const Interval range = analysis::interval_of(guard.offset, open);
    if (!range.bounded()) {
      inside.block = Expr();
      inside.edge = Inside::Edge::TestedFills;
      return inside;
    }
    const Expr one = simplify(range.max < guard.extent);
    inside.block = inside.block.defined() ? inside.block && one : one;
  }
  if (!inside.block.defined()) return inside;
  inside.edge = may_clamp(program, own)              ? Inside::Edge::ClampedLoads
                : without_stages(program, func.name) ? Inside::Edge::DirectTaps
                                                     : Inside::Edge::TestedFills;
  return inside;
}

}  // namespace mica::planning
