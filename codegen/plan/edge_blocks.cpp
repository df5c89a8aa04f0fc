#include "codegen/plan/edge_blocks.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/in_place.h"
#include "codegen/analysis/linear.h"
#include "codegen/analysis/simplify.h"
#include "codegen/plan/filling.h"
#include "codegen/plan/placed_funcs.h"
#include "dsl/expr/names.h"
#include "dsl/expr/node_visit.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/call_inliner.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::planning {

using analysis::Interval;
using passes::constant;
using passes::simplify;

namespace {

// Windows whose planes come from global memory wait for them in each step. They need other threads to
// work meanwhile more than blocks inside need tests, which take registers.
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

bool reads_itself(const FunctionData& func, const Definition& definition) {
  bool found = definition.recurrence.has_value();
  analysis::for_each_access(definition,
                            [&](const Access& access) { found = found || access.name == func.name; });
  return found;
}

// Do values of `func` leave other traces than their stores?
bool prints(const FunctionData& func) {
  return func.traces.stores || func.traces.loads || func.traces.realizations ||
         std::ranges::any_of(func.definitions, [](const Definition& definition) {
           return std::ranges::any_of(definition.values,
                                      [](const Expr& value) { return value.as<Print>() != nullptr; });
         });
}

// May a block compute points outside as it does those inside? What is stored in arrays belongs to the
// threads of its points: a load held inside from an array that the kernel writes would meet their
// stores. Prints of points outside would be seen.
bool may_clamp(const Program& program, const Loops& loops, const std::vector<Stage>& stages) {
  const Definition& definition = loops.func.definitions[loops.index];
  const bool in_place =
      !program.options.variant.separate &&
      std::ranges::any_of(analysis::find_sharing(program), [&](const PlanSharing& pair) {
        bool own = false;
        const std::size_t values = loops.func.types.size();
        for (std::size_t i = 0; i < values; ++i) {
          own = own || pair.output == storage_name(loops.func.name, static_cast<int>(i), values);
        }
        return own && pair.obstacle.empty();
      });
  const bool plain =
      !reads_itself(loops.func, definition) && !definition.domain && !in_place && !prints(loops.func);
  return plain && std::ranges::all_of(stages, [&](const Stage& stage) {
           if (stage.func == loops.func.name) return true;
           const Placement& place = program.placement.at(stage.func);
           // Loops round up to whole vectors: tests keep those inside storage that stands further out.
           const bool outside = place.store && (place.store->func != place.compute.func ||
                                                place.store->var != place.compute.var);
           // A thread's points are in an array for all definitions where one needs a number of them that
           // is not constant.
           const bool array = stage.is_in(Residence::Global) ||
                              (stage.level == Level::Thread && loops.func.definitions.size() > 1);
           return !outside && !array && !prints(*program.pipeline.find(stage.func));
         });
}

// Rows that are not aligned have single points, which tests cost little: one code is the fastest.
bool one_code(const Program& program, const Loops& loops) {
  const bool vectors =
      std::any_of(loops.vars.loops().begin(), loops.vars.loops().end(),
                  [](const LoopVars::Loop& loop) { return loop.kind == LoopKind::Vectorized; });
  const Variant& variant = program.options.variant;
  return !vectors && !variant.aligned && variant.index32 && loops.vars.is_marched() &&
         !has_window(program, loops);
}

// The read of the array that `name`, computed in the loops of Func `root`, copies, through others that
// copy, too; null if it computes anything, or is not computed there.
const Access* array_behind(const Program& program, const std::string& root, const std::string& name) {
  const Access* read = nullptr;
  std::string at = name;
  while (place_in(program, root, at) != nullptr) {
    read = own_point_read(*program.pipeline.find(at));
    if (read == nullptr) return nullptr;
    at = read->name;
  }
  return read;
}

// The Funcs that are read once, and at their reader's own point, as partial sums are.
std::set<std::string> read_once(const Program& program, const FunctionData& func,
                                const std::vector<Stage>& stages) {
  std::map<std::string, int> reads;
  std::set<std::string> beside;
  for (const Stage& stage : stages) {
    const FunctionData& reader = stage.func == func.name ? func : *program.pipeline.find(stage.func);
    for (const Definition& definition : reader.definitions) {
      analysis::for_each_access(definition, [&](const Access& read) {
        ++reads[read.name];
        if (!is_own_point(read, reader)) beside.insert(read.name);
      });
    }
  }
  std::set<std::string> once;
  for (const auto& [name, count] : reads) {
    if (count == 1 && beside.count(name) == 0) once.insert(name);
  }
  return once;
}

// Can a thread do without what is kept for `func`: does it copy arrays, or is each value needed once, by
// the thread that computed it? And has nobody asked for traces of it?
bool has_direct_taps(const Program& program, const FunctionData& func,
                     const std::vector<Stage>& stages) {
  const std::set<std::string> once = read_once(program, func, stages);
  return std::ranges::all_of(stages, [&](const Stage& stage) {
    if (stage.func == func.name) return true;
    const FunctionData& kept = *program.pipeline.find(stage.func);
    const bool is_part = once.count(kept.name) > 0 && kept.definitions.size() == 1 &&
                         !kept.definitions.front().recurrence;
    return (is_part || array_behind(program, func.name, kept.name) != nullptr) && !kept.traces.stores &&
           !kept.traces.realizations;
  });
}

}  // namespace

std::shared_ptr<const FunctionData> with_direct_taps(const Program& program, const FunctionData& func,
                                                     std::size_t index) {
  NodeRewriter direct([&](const Expr& e) -> Expr {
    const auto* tap = e.as<Access>();
    if (tap == nullptr || place_in(program, func.name, tap->name) == nullptr) return {};
    const Access* array = array_behind(program, func.name, tap->name);
    if (array == nullptr) return direct(inlined(*program.pipeline.find(tap->name), *tap));
    Access moved = *array;
    moved.args = tap->args;
    moved.where = tap->where;
    return make_expr(e.type(), std::move(moved));
  });
  auto result = std::make_shared<FunctionData>(func);
  Definition& definition = result->definitions[index];
  for (Expr& value : definition.values) value = direct(value);
  for (Expr& arg : definition.args) arg = direct(arg);
  return result;
}

namespace {

/// Is `most` less than `extent` in all blocks of the grid that is asked about?
class OnTheGrid {
 public:
  OnTheGrid(const Program& program, const std::vector<LoopVars::Loop>& loops,
            const std::set<std::string>& blocks)
      : grid_(program.options.grid) {
    if (grid_.empty()) return;
    for (const auto& loop : loops) {
      if (blocks.count(loop.name) > 0) scope_[loop.name] = {constant(0), known(loop.extent - 1)};
    }
  }
  [[nodiscard]] bool is_less(const Expr& most, const Expr& extent) const {
    if (grid_.empty()) return false;
    const Interval range = analysis::interval_of(known(most), scope_);
    if (!range.bounded()) return false;
    const auto room = analysis::constant_difference(known(extent), simplify(range.max));
    return room && *room > 0;
  }

 private:
  [[nodiscard]] Expr known(const Expr& e) const {
    return simplify(substitute(e, [&](const std::string& symbol) {
      const auto at = grid_.find(symbol);
      return at == grid_.end() ? Expr() : make_const(Int(32), at->second);
    }));
  }

  const std::map<std::string, std::int64_t>& grid_;
  analysis::Scope scope_;
};

}  // namespace

Inside edge_of(const Program& program, const FunctionData& func, std::size_t index,
               const KernelFrame& frame, const std::vector<Stage>& stages) {
  Inside inside;
  const Loops own{func, index, frame.vars};
  if (!keeps_funcs(program, own) && !exchanges(program, func)) return inside;
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
  const OnTheGrid on_the_grid(program, loops, fixed);
  bool beyond_tile = false, everywhere = true;
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
    // A tile that loops round up: what they compute beyond it is in no box of the block.
    beyond_tile = beyond_tile || std::ranges::none_of(guard.loops, [&](const std::string& loop) {
                    return fixed.count(loop) > 0;
                  });
    const Expr one = simplify(range.max < guard.extent);
    everywhere = everywhere && on_the_grid.is_less(range.max, guard.extent);
    inside.block = inside.block.defined() ? inside.block && one : one;
  }
  if (!inside.block.defined()) return inside;
  // What threads hold in memory of their own, each of two codes would have.
  std::int64_t registers = 0;
  for (const Stage& stage : stages) registers += stage.registers;
  constexpr std::int64_t kMostTwice = 1 << 14;
  if (registers > kMostTwice) {
    inside.block = Expr();
    inside.edge = Inside::Edge::TestedFills;
    return inside;
  }
  const bool clamps = !beyond_tile && may_clamp(program, own, stages);
  // The registers of a kernel are those of its greediest part. A march whose threads wait for windows,
  // or whose addresses have 64 bits, and blocks of a few steps need their neighbours on the
  // multiprocessor more than fast edges. Rows that are not aligned seldom fill whole blocks: one in a
  // few is at the edge then, and windows are no reason (bench/results/2026-11-27-h100-edges.txt).
  const Variant& variant = program.options.variant;
  const bool waits = variant.aligned && has_window(program, own);
  const bool direct = !(clamps && own.vars.is_marched() && !waits && variant.index32) &&
                      has_direct_taps(program, func, stages);
  inside.edge = direct   ? Inside::Edge::DirectTaps
                : clamps ? Inside::Edge::ClampedLoads
                         : Inside::Edge::TestedFills;
  if (clamps && !direct && one_code(program, own)) inside.block = Expr();
  inside.everywhere = everywhere && inside.block.defined();
  return inside;
}

}  // namespace mica::planning
