// NestBuilder: marched loops — the planes that a block keeps from one step to the next.
#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/bulk_fills.h"
#include "codegen/passes/emit/clamped_blocks.h"
#include "codegen/passes/emit/nest_builder.h"
#include "codegen/passes/emit/nest_frame.h"
#include "codegen/passes/emit/shared_rows.h"
#include "codegen/plan/kernel_frame.h"
#include "codegen/plan/plan_edges.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::passes {

using analysis::Box;
using analysis::Interval;

namespace {

// The threads copy it, and wait for groups of copies.
bool is_async(const MarchStage& stage, const Placement& placement) {
  if (stage.per_thread || stage.bulk) return false;
  return placement.load == LoadPolicy::AsyncCopy || placement.load == LoadPolicy::Bulk;
}

bool reads(const FunctionData& func, const std::string& source) {
  bool found = false;
  for (const auto& definition : func.definitions) {
    analysis::for_each_access(definition,
                              [&](const Access& access) { found = found || access.name == source; });
  }
  return found;
}

// Is `source` read at another place than the reader's own point, planes of the march left out?
bool reads_beside(const FunctionData& func, const std::string& source, const std::string& march) {
  bool found = false;
  for (const auto& definition : func.definitions) {
    analysis::for_each_access(definition, [&](const Access& access) {
      if (access.name != source) return;
      for (std::size_t d = 0; d < access.args.size(); ++d) {
        found = found || (func.args[d] != march && offset_from(access.args[d], func.args[d]) != 0);
      }
    });
  }
  return found;
}

// Does a stage read another, so that a step before step 0 reads planes?
bool computes_while_filling(const MarchPlan& plan) {
  for (const auto& reader : plan.stages) {
    for (const auto& source : plan.stages) {
      if (reads(*reader.func, source.func->name)) return true;
    }
  }
  return false;
}

// The number, counted from 0, of the plane that a step begins to fill or first reads.
Expr begun_in(const MarchStage& stage, const Expr& step) { return step + constant(stage.warm_up()); }
Expr first_read_in(const MarchStage& stage, const Expr& step) {
  return step + constant(stage.warm_up() - stage.newest_lag);
}

}  // namespace

// ---- blocks inside the domain and at its edge ------------------------------------------------------

ir::Stmt NestBuilder::split_block(Frame& frame, std::size_t position, const NestContext& context) const {
  using Edge = planning::Inside::Edge;
  std::vector<Guard> left;
  auto emit = [&](const NestContext& within) {
    // What is computed for a whole chunk may reach past the last plane.
    NestContext chunk = within;
    chunk.interior = within.interior && left.empty();
    return place_funcs(frame, position, chunk, [&] { return emit_loops(frame, position, within); });
  };
  NestContext known = context;
  planning::Inside inside;
  if (frame.kernel != nullptr) {
    known.row = frame.kernel->frame.row;
    inside = frame.kernel->inside;
  }
  NestContext everywhere = known;
  everywhere.interior = everywhere.interior_step = everywhere.any_point = true;
  const auto in_arrays = [&](const ir::Stmt& stmt) {
    const auto blocks = frame.common             ? ClampedBlocks::Overlapping
                        : inside.block.defined() ? ClampedBlocks::AtTheEdge
                                                 : ClampedBlocks::All;
    return clamped(program_, frame.func, frame.vars, blocks, stmt);
  };
  if (frame.common) return in_arrays(emit(everywhere));
  const bool clamps = inside.edge == Edge::ClampedLoads;
  if (!clamps && !inside.block.defined()) return emit(known);
  std::string march;
  for (const auto& loop : frame.vars.loops()) {
    if (loop.kind == LoopKind::March) march = loop.name;
  }
  for (const auto& guard : frame.guards) {
    if (!march.empty() && guard.loops.count(march)) left.push_back(guard);
  }
  const auto saved = frame.guards;
  frame.guards = left;
  ir::Stmt whole;
  if (inside.block.defined()) {
    NestContext interior = known;
    interior.interior = left.empty();  // else the last chunk may end before its planes do
    interior.interior_step = true;
    whole = emit(interior);
  }
  ir::Stmt edge;
  if (clamps) {
    everywhere.interior = left.empty();
    frame.tested = inside_of(saved, march);
    edge = in_arrays(emit(everywhere));
    frame.tested = Expr();
  }
  frame.guards = saved;
  if (!clamps) edge = emit(known);
  return whole.defined() ? ir::make_stmt(ir::If{inside.block, whole, edge}) : edge;
}

// ---- the marched loop ------------------------------------------------------------------------------

ir::Stmt NestBuilder::emit_march(Frame& frame, std::size_t position, const NestContext& context) const {
  const LoopVars::Loop& loop = frame.vars.loops()[position];
  Expr planes = loop.extent;
  const auto saved = frame.guards;
  for (auto it = frame.guards.begin(); it != frame.guards.end();) {
    if (auto room = frame.room_for(*it, loop.name)) {
      planes = simplify(min(planes, *room));
      it = frame.guards.erase(it);
    } else {
      ++it;
    }
  }
  const std::string marched = planning::marched_dimension(frame.vars, frame.func, loop.name);

  frame.fixed.insert(loop.name);
  NestContext within = context;
  within.interior = context.interior || context.interior_step;
  MarchPlan plan = frame.kernel != nullptr ? frame.kernel->march() : MarchPlan();
  for (auto& stage : plan.stages) stage.bulk = stage.bulk && within.copies_whole();

  within.ranges.push(loop.name, {-plan.warm_up, std::nullopt});
  NestContext step = within;
  step.in_step = true;
  const Expr count = make_var(loop.name + ".planes");
  ir::Stmt body =
      ir::make_stmt(ir::For{loop.name, constant(-plan.warm_up), simplify(count + constant(plan.warm_up)),
                            LoopKind::March, emit_step(frame, position, plan, count, step)});
  const Expr start = substitute(frame.vars.value(marched), loop.name, constant(0));
  for (auto it = plan.stages.rbegin(); it != plan.stages.rend(); ++it) {
    Box box = it->box;
    if (it->dim < 0) {
      body = ir::make_block({emit_stage(frame, position, *it, start, within), body});
      body = allocate(*it->func, box, within, body, &*it);
      continue;
    }
    const Expr first = simplify(start + constant(it->first));
    box[static_cast<std::size_t>(it->dim)] = {first, simplify(first + constant(it->depth - 1))};
    if (it->bulk) body = with_barriers(*it->func, it->depth, body);
    body = allocate(*it->func, box, within, body, &*it);
    body = in_shared_rows(program_, frame.func, frame.vars, frame.fixed, *it, body);
  }
  frame.fixed.erase(loop.name);
  frame.guards = saved;
  return ir::make_stmt(ir::LetStmt{loop.name + ".planes", planes, body});
}

ir::Stmt NestBuilder::emit_step(Frame& frame, std::size_t position, const MarchPlan& plan,
                                const Expr& count, const NestContext& context) const {
  const LoopVars::Loop& loop = frame.vars.loops()[position];
  const Expr step = make_var(loop.name);
  const std::string marched = planning::marched_dimension(frame.vars, frame.func, loop.name);
  const Expr plane = frame.vars.value(marched);
  internal_check(analysis::constant_difference(
                     plane, substitute(plane, loop.name, constant(0)) + step) == std::int64_t{0},
                 "a march goes one plane a step");
  // Asynchronous copies are waited for as late as the plan's edges allow.
  bool waits = false, waits_in_step = false;
  int pending = 0;
  if (frame.kernel != nullptr) {
    if (const auto copies = planning::copy_waits(*frame.kernel, context.copies_whole())) {
      waits = true;
      waits_in_step = copies->in_step;
      pending = copies->pending;
    }
  }
  std::vector<ir::Stmt> stmts;
  auto guarded = [&](const Expr& condition, const ir::Stmt& body) {
    return condition.defined() && body.defined() ? ir::make_stmt(ir::If{condition, body, {}}) : body;
  };
  // The steps before step 0 only start copies, one after the other, unless they compute with them.
  auto wait_for_copies = [&](int left) {
    Expr condition;
    if (plan.warm_up > 0 && !computes_while_filling(plan)) condition = step >= 0;
    stmts.push_back(guarded(condition, ir::make_stmt(ir::CopyWait{left})));
  };
  bool committed = false;
  auto commit = [&] {
    if (committed || !waits) return;
    committed = true;
    stmts.push_back(ir::make_stmt(ir::CopyCommit{}));
    if (waits_in_step) wait_for_copies(0);
  };
  if (waits && !waits_in_step) wait_for_copies(pending);
  // What a thread reads beside its own points it takes from others before the first that reads it; of a
  // plane that this step computes it gives as soon as it has it.
  std::vector<const MarchStage*> untaken;
  const auto once_filled = [&](const MarchStage& stage, const ir::Stmt& body) {
    const std::int64_t first = stage.ahead - stage.newest - stage.warm_up();
    return guarded(first > -plan.warm_up ? step >= constant(first) : Expr(), body);
  };
  for (const MarchStage& stage : plan.stages) {
    if (stage.newest == stage.ahead) continue;
    stmts.push_back(
        once_filled(stage, exchange_rows(program_, frame.func, frame.vars, stage, plane).given));
    untaken.push_back(&stage);
  }
  const auto take_for = [&](const FunctionData& reader) {
    std::erase_if(untaken, [&](const MarchStage* stage) {
      if (!reads_beside(reader, stage->func->name, marched)) return false;
      stmts.push_back(
          once_filled(*stage, exchange_rows(program_, frame.func, frame.vars, *stage, plane).taken));
      return true;
    });
  };
  bool waited = false;
  auto wait_for_bulk = [&] {
    for (const auto& stage : plan.stages) {
      if (!waited && stage.bulk) stmts.push_back(emit_bulk_wait(stage, plan, step, count));
    }
    waited = true;
  };
  for (std::size_t i = 0; i <= plan.stages.size(); ++i) {
    if (i == plan.consumer_at) {
      commit();
      wait_for_bulk();
      Expr condition;
      if (plan.warm_up > 0) condition = step >= 0;
      take_for(frame.func);
      NestContext inner = context;
      add_stored(frame, position, inner);
      const ir::Stmt body = store_funcs(frame, position, inner, emit_loops(frame, position, inner));
      stmts.push_back(guarded(condition, body));
    }
    if (i == plan.stages.size() || plan.stages[i].dim < 0) continue;
    const MarchStage& stage = plan.stages[i];
    const bool async = is_async(stage, program_.placement.at(stage.func->name));
    take_for(*stage.func);
    const auto reads_one = [&](const auto& is_wanted) {
      return std::ranges::any_of(plan.stages, [&](const MarchStage& other) {
        return is_wanted(other) && reads(*stage.func, other.func->name);
      });
    };
    const bool reads_copies =
        waits_in_step && reads_one([&](const MarchStage& other) {
          return other.dim >= 0 && is_async(other, program_.placement.at(other.func->name));
        });
    if ((!async && !stage.bulk && !stage.per_thread) || reads_copies) commit();
    if (reads_one([](const MarchStage& other) { return other.bulk; })) wait_for_bulk();
    Expr condition;
    if (stage.warm_up() < plan.warm_up) condition = step >= constant(-stage.warm_up());
    // Partial sums of later chunks are those blocks' work, and so are planes that no step will read.
    if (stage.beyond > 0) {
      Expr in_time = step + constant(stage.beyond) < count;
      condition = condition.defined() ? condition && in_time : in_time;
    }
    // Points that nobody stores are computed like others.
    const auto guards = frame.guards;
    if (frame.common) frame.guards.clear();
    const ir::Stmt made = emit_stage(frame, position, stage, plane, context);
    frame.guards = guards;
    stmts.push_back(ir::make_stmt(ir::Produce{stage.func->name, guarded(condition, made), true}));
    if (stage.newest == stage.ahead) {
      stmts.push_back(
          once_filled(stage, exchange_rows(program_, frame.func, frame.vars, stage, plane).given));
      untaken.push_back(&stage);
    }
  }
  return ir::make_block(std::move(stmts));
}

// The wait for the newest plane that the step reads, where an earlier step has begun it.
ir::Stmt NestBuilder::emit_bulk_wait(const MarchStage& stage, const MarchPlan& plan, const Expr& step,
                                     const Expr& count) const {
  const ir::Stmt wait = bulk_wait(*stage.func, first_read_in(stage, step), stage.depth);
  Expr condition;
  const std::int64_t first = stage.newest_lag - stage.warm_up();
  if (-plan.warm_up < first) condition = step >= constant(first);
  const std::int64_t beyond = stage.beyond - stage.newest_lag;
  if (beyond > 0) {
    const Expr in_time = step + constant(beyond) < count;
    condition = condition.defined() ? condition && in_time : in_time;
  }
  return condition.defined() ? ir::make_stmt(ir::If{condition, wait, {}}) : wait;
}

ir::Stmt NestBuilder::emit_stage(Frame& frame, std::size_t position, const MarchStage& stage,
                                 const Expr& plane, const NestContext& context) const {
  const FunctionData& func = *stage.func;
  if (!stage.per_thread) {
    Box box = stage.box;
    if (stage.dim >= 0) {
      const Expr at = simplify(plane + constant(stage.ahead));
      box[static_cast<std::size_t>(stage.dim)] = {at, at};
    }
    if (stage.bulk) {
      const Expr number = begun_in(stage, make_var(frame.vars.loops()[position].name));
      return bulk_fill(program_, func, box, crew_of(func, fill_place(context)), number, stage.depth);
    }
    const planning::Stage* planned = frame.kernel->find(func.name);
    if (planned->fill.way == planning::Fill::Way::Window && context.interior) {
      return fill_around(frame, position, stage, box, context);
    }
    return build_definitions(func, box, context);
  }
  frame.body = [&] {
    return point_stores(program_, func, 0, [&](const std::string& name) {
      const auto d = static_cast<std::size_t>(std::find(func.args.begin(), func.args.end(), name) -
                                              func.args.begin());
      Expr value = frame.vars.value(frame.func.args.at(d));
      return static_cast<int>(d) == stage.dim ? simplify(value + constant(stage.ahead)) : value;
    });
  };
  ir::Stmt stmt = emit_loops(frame, position, context);
  frame.body = nullptr;
  return stmt;
}

// ---- planes filled from registers ------------------------------------------------------------------
//
//        y strip           the tile's own points come from the window; with a star no corner is read
//     +-----------+
//   x |   tile    | x
//     +-----------+
//        y strip

ir::Stmt NestBuilder::fill_around(Frame& frame, std::size_t position, const MarchStage& stage,
                                  const Box& box, const NestContext& context) const {
  const FunctionData& func = *stage.func;
  const Placement& placement = program_.placement.at(func.name);
  const FunctionData& window = find(placement.filled_from);
  const std::vector<std::string>& pattern = placement.column;
  Box tile = box;
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (static_cast<int>(d) != stage.dim) tile[d] = frame.vars.interval(pattern[d], frame.fixed);
  }
  bool corners = false;
  for (const auto& reader : program_.pipeline.funcs) {
    for (const auto& definition : reader->definitions) {
      analysis::for_each_access(definition, [&](const Access& access) {
        if (access.name != func.name) return;
        int beside = 0;
        for (std::size_t d = 0; d < access.args.size(); ++d) {
          if (static_cast<int>(d) == stage.dim) continue;
          const auto offset = offset_from(access.args[d], pattern[d]);
          beside += !offset || *offset != 0 ? 1 : 0;
        }
        corners = corners || beside > 1;
      });
    }
  }
  std::vector<ir::Stmt> stmts;
  frame.body = [&] {
    ir::Store store;
    store.buffer = storage_name(func.name, 0, func.types.size());
    Load load;
    load.buffer = storage_name(window.name, 0, window.types.size());
    for (std::size_t d = 0; d < box.size(); ++d) {
      store.index.push_back(static_cast<int>(d) == stage.dim ? box[d].min
                                                             : frame.vars.value(pattern[d]));
    }
    for (const auto& arg : window.args) {
      const auto d = std::find(pattern.begin(), pattern.end(), arg) - pattern.begin();
      load.index.push_back(static_cast<std::size_t>(d) < pattern.size()
                               ? store.index[static_cast<std::size_t>(d)]
                               : frame.vars.value(arg));
    }
    store.value = make_expr(func.types.front(), std::move(load));
    return ir::make_stmt(std::move(store));
  };
  stmts.push_back(emit_loops(frame, position, context));
  frame.body = nullptr;
  for (std::size_t d = box.size(); d-- > 0;) {
    if (static_cast<int>(d) == stage.dim) continue;
    Box strip = tile;
    for (std::size_t e = 0; e < d; ++e) strip[e] = corners ? box[e] : tile[e];
    strip[d] = {box[d].min, simplify(tile[d].min - 1)};
    if (*analysis::constant_difference(tile[d].min, box[d].min) > 0) {
      stmts.push_back(fill_box(program_, func, 0, strip, LoadPolicy::TwoStep, fill_place(context)));
    }
    strip[d] = {simplify(tile[d].max + 1), box[d].max};
    if (*analysis::constant_difference(box[d].max, tile[d].max) > 0) {
      stmts.push_back(fill_box(program_, func, 0, strip, LoadPolicy::TwoStep, fill_place(context)));
    }
  }
  return ir::make_block(std::move(stmts));
}

}  // namespace mica::passes
