// Marched loops — the planes that a block keeps from one step to the next.
#include <algorithm>
#include <map>
#include <set>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/bulk_fills.h"
#include "codegen/passes/emit/nest.h"
#include "codegen/passes/emit/shared_rows.h"
#include "codegen/passes/emit/step_meetings.h"
#include "codegen/passes/gpu/clamped_blocks.h"
#include "codegen/plan/edge_blocks.h"
#include "codegen/plan/frame/kernel_frame.h"
#include "codegen/plan/frame/own_order.h"
#include "codegen/plan/handover.h"
#include "codegen/plan/plan_edges.h"
#include "dsl/check/update_order.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
#include "dsl/pipeline/march_taps.h"
#include "dsl/pipeline/recurrence.h"

namespace mica::passes::nest {

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

// Is `source` read at another place than the reader's own point, planes of the march left out? A read of
// more dimensions than the reader has is.
bool reads_beside(const FunctionData& func, const std::string& source, const std::string& march) {
  bool found = false;
  for (const auto& definition : func.definitions) {
    analysis::for_each_access(definition, [&](const Access& access) {
      if (access.name != source) return;
      for (std::size_t d = 0; d < access.args.size(); ++d) {
        found = found || d >= func.args.size() ||
                (func.args[d] != march && offset_from(access.args[d], func.args[d]) != 0);
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

ir::Stmt guarded(const Expr& condition, const ir::Stmt& body) {
  return condition.defined() && body.defined() ? ir::make_stmt(ir::If{condition, body, {}}) : body;
}

// One of the things that a step does: it fills a stage, or computes the marched Func.
struct Part {
  const MarchStage* stage;  // null: the marched Func
  const FunctionData* func;
};
std::vector<Part> parts_of(const MarchPlan& plan, const FunctionData& marched) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i <= plan.stages.size(); ++i) {
    if (i == plan.consumer_at) parts.push_back({nullptr, &marched});
    if (i < plan.stages.size() && plan.stages[i].dim >= 0) {
      parts.push_back({&plan.stages[i], plan.stages[i].func});
    }
  }
  return parts;
}

template <typename Test>
std::size_t first_of(const std::vector<Part>& parts, const Test& test) {
  return static_cast<std::size_t>(std::ranges::find_if(parts, test) - parts.begin());
}
template <typename Test>
bool reads_one(const FunctionData& reader, const MarchPlan& plan, const Test& test) {
  return std::ranges::any_of(plan.stages, [&](const MarchStage& stage) {
    return test(stage) && reads(reader, stage.func->name);
  });
}

// The wait for asynchronous copies that the plan's edges ask of a step.
struct StepCopies {
  enum class When : std::uint8_t {
    AtStart,   // for those of earlier steps
    AtEnd,     // for all
    WithRows,  // for those that the next step reads, where rows are passed on
  };
  When when = When::AtStart;
  ir::Stmt wait;  // undefined: the step makes none
};
StepCopies copies_of(const planning::KernelPlan* kernel, bool whole, const MarchPlan& plan,
                     const Expr& step) {
  const auto waits = kernel != nullptr ? planning::copy_waits(*kernel, whole) : std::nullopt;
  if (!waits) return {};
  // The steps before step 0 only start copies, one after the other, unless they compute with them.
  const bool always = plan.warm_up == 0 || computes_while_filling(plan);
  internal_check(always || !waits->with_rows, "rows are passed on in all steps");
  const auto when = waits->with_rows ? StepCopies::When::WithRows
                    : waits->in_step ? StepCopies::When::AtEnd
                                     : StepCopies::When::AtStart;
  return {when, guarded(always ? Expr() : step >= 0,
                        ir::make_stmt(ir::CopyWait{waits->in_step ? 0 : waits->pending}))};
}
// The part before which the step's copies are to have begun: it waits as late as it can.
std::size_t copies_end_before(const Program& program, const MarchPlan& plan,
                              const std::vector<Part>& parts, const StepCopies& copies) {
  const auto is_copied = [&](const MarchStage& stage) {
    return is_async(stage, program.placement.at(stage.func->name));
  };
  return first_of(parts, [&](const Part& part) {
    if (part.stage == nullptr) return true;
    const bool filled = !is_copied(*part.stage) && !part.stage->bulk && !part.stage->per_thread;
    return filled || (copies.when == StepCopies::When::AtEnd &&
                      reads_one(*part.func, plan,
                                [&](const auto& stage) { return stage.dim >= 0 && is_copied(stage); }));
  });
}

// From step `first` on, until `beyond` steps before the end of `count`; undefined: always.
Expr in_steps(const MarchPlan& plan, const Expr& step, std::int64_t first, std::int64_t beyond,
              const Expr& count) {
  Expr condition;
  if (-plan.warm_up < first) condition = step >= constant(first);
  if (beyond <= 0) return condition;
  const Expr in_time = step + constant(beyond) < count;
  return condition.defined() ? condition && in_time : in_time;
}

// What threads pass to one another of the newest plane of `stage`, in the steps in which there is one.
ir::Stmt while_filled(const MarchStage& stage, const MarchPlan& plan, const Expr& step,
                      const Expr& count, const ir::Stmt& body) {
  const std::int64_t since = stage.ahead - stage.newest;
  return guarded(in_steps(plan, step, since - stage.warm_up(), stage.beyond - since, count), body);
}
// For each part the stages of which it is the first to read what lies beside a thread's own points: of a
// plane that the step fills among the parts behind that.
std::vector<std::vector<const MarchStage*>> taken_by(const std::vector<Part>& parts,
                                                     const std::string& march) {
  std::vector<std::vector<const MarchStage*>> taken(parts.size());
  for (const bool in_step : {false, true}) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const MarchStage* stage = parts[i].stage;
      if (stage == nullptr || (stage->newest == stage->ahead) != in_step) continue;
      std::size_t reader = in_step ? i + 1 : 0;
      while (reader < parts.size() && !reads_beside(*parts[reader].func, stage->func->name, march))
        ++reader;
      if (reader < parts.size()) taken[reader].push_back(stage);
    }
  }
  return taken;
}

// The number, counted from 0, of the plane that a step begins to fill or first reads.
Expr begun_in(const MarchStage& stage, const Expr& step) { return step + constant(stage.warm_up()); }
Expr first_read_in(const MarchStage& stage, const Expr& step) {
  return step + constant(stage.warm_up() - stage.newest_lag);
}

ir::Stmt emit_stage(const Nesting& nesting, const Nested& frame, std::size_t position,
                    const MarchStage& stage, const Expr& plane, const Around& context) {
  const FunctionData& func = *stage.func;
  if (!stage.per_thread) {
    Box box = stage.box;
    if (stage.dim >= 0) {
      const Expr at = simplify(plane + constant(stage.ahead));
      box[static_cast<std::size_t>(stage.dim)] = {at, at};
    }
    if (stage.bulk) {
      const Expr number = begun_in(stage, make_var(frame.vars.loops()[position].name));
      return bulk_fill(nesting.program, func, box, crew_of(func, fill_place(nesting, context)), number,
                       stage.depth);
    }
    const planning::Stage* planned = frame.kernel->find(func.name);
    if (planned->fill.way == planning::Fill::Way::Window && context.interior) {
      return fill_around(nesting, frame, position, stage, box, context);
    }
    return build_definitions(nesting, func, box, context);
  }
  const auto value_of = [&](const std::string& name) {
    const auto d = static_cast<std::size_t>(std::find(func.args.begin(), func.args.end(), name) -
                                            func.args.begin());
    const Expr value = frame.vars.value(frame.func.args.at(d));
    return static_cast<int>(d) == stage.dim ? simplify(value + constant(stage.ahead)) : value;
  };
  return at_own_points(nesting, frame, position, point_stores(nesting.program, func, 0, value_of));
}

// Where the crews of a march meet in a step: what they say, and the parts around which they do.
struct CrewsMeet {
  StepMeetings says;
  planning::Crew computing;
  std::size_t first_fill = 0, last_fill = 0, first_read = 0;
};
std::optional<CrewsMeet> crews_meet(const Nested& frame, bool whole, const MarchPlan& plan,
                                    const std::vector<Part>& parts, const std::string& loop,
                                    const Expr& count,
                                    const std::vector<std::vector<const MarchStage*>>& taken) {
  const auto handover = frame.kernel ? planning::handover_of(*frame.kernel, whole) : std::nullopt;
  if (!handover) return std::nullopt;
  const auto apart = [&](const MarchStage& stage) {
    return frame.kernel->find(stage.func->name)->crew.first > 0;
  };
  const auto fills = [&](const Part& part) { return part.stage != nullptr && apart(*part.stage); };
  CrewsMeet meet{step_meetings(*handover, loop, make_var(loop), plan.warm_up, count),
                 handover->computing};
  meet.first_fill = first_of(parts, fills);
  for (std::size_t i = meet.first_fill; i < parts.size(); ++i) {
    if (fills(parts[i])) meet.last_fill = i;
  }
  std::size_t& i = meet.first_read;
  while (parts[i].stage != nullptr && taken[i].empty() && !reads_one(*parts[i].func, plan, apart)) ++i;
  return meet;
}

// The waits for the newest planes that the step reads of what the copy engine brings, where earlier
// steps have begun it.
std::vector<ir::Stmt> emit_bulk_waits(const MarchPlan& plan, const Expr& step, const Expr& count,
                                      const std::optional<CrewsMeet>& crews) {
  std::vector<ir::Stmt> waits;
  for (const MarchStage& stage : plan.stages) {
    if (!stage.bulk) continue;
    const std::int64_t first = stage.newest_lag - stage.warm_up();
    const std::int64_t beyond = stage.beyond - stage.newest_lag;
    ir::Stmt wait = bulk_wait(*stage.func, first_read_in(stage, step), stage.depth);
    if (crews) wait = crews->computing.around(stage.func->name + ".reading", wait);
    waits.push_back(guarded(in_steps(plan, step, first, beyond, count), wait));
  }
  return waits;
}

// What threads of a common frame pass to one another: for each stage, and the stages of which a part is
// the first to take some.
struct StepRows {
  std::map<const MarchStage*, GivenRows> of;
  std::vector<std::vector<const MarchStage*>> taken;
};
// The part that takes rows behind the last barrier of a step: some were given since the one before.
std::size_t last_rows_met(const std::vector<Part>& parts, const StepRows& rows) {
  std::set<const MarchStage*> given;
  std::size_t last = parts.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (std::ranges::any_of(rows.taken[i], [&](const auto* stage) { return given.contains(stage); })) {
      last = i;
      given.clear();
    }
    const MarchStage* stage = parts[i].stage;
    if (stage != nullptr && rows.of.at(stage).given.defined()) given.insert(stage);
  }
  return last;
}

// What stands between the parts of a step.
struct StepWaits {
  StepCopies copies;
  std::size_t committed = 0, arrived = 0;  // the parts before which copies have begun, or are there
  std::size_t rows_met = 0;  // the part that takes rows behind a step's last barrier for them
  std::vector<ir::Stmt> arrivals = {};
  std::optional<CrewsMeet> crews = {};

  void commit(std::vector<ir::Stmt>& stmts) const {
    stmts.push_back(ir::make_stmt(ir::CopyCommit{}));
    if (copies.when != StepCopies::When::AtStart) stmts.push_back(copies.wait);
  }
  void before(std::size_t part, std::vector<ir::Stmt>& stmts) const {
    const bool own = copies.wait.defined() && copies.when != StepCopies::When::WithRows;
    if (own && part == committed) commit(stmts);
    if (part == arrived) stmts.insert(stmts.end(), arrivals.begin(), arrivals.end());
  }
  // Before what the part takes of other threads' points.
  void before_taken(std::size_t part, std::vector<ir::Stmt>& stmts) const {
    if (copies.when == StepCopies::When::WithRows && part == rows_met) commit(stmts);
    if (!crews) return;
    if (part == crews->first_fill) stmts.push_back(crews->says.before_fills);
    if (part == crews->first_read) stmts.push_back(crews->says.before_reads);
  }
  void after(std::size_t part, std::vector<ir::Stmt>& stmts) const {
    if (crews && part == crews->last_fill) stmts.push_back(crews->says.after_fills);
  }
};
StepWaits step_waits(const Nesting& nesting, const Nested& frame, const LoopVars::Loop& loop,
                     const MarchPlan& plan, const std::vector<Part>& parts, const Expr& count,
                     bool whole, const StepRows& rows) {
  const Expr step = make_var(loop.name);
  StepWaits waits{copies_of(frame.kernel, whole, plan, step)};
  waits.rows_met = last_rows_met(parts, rows);
  internal_check(waits.copies.when != StepCopies::When::WithRows || waits.rows_met < parts.size(),
                 "a step that waits with rows takes some");
  waits.committed = copies_end_before(nesting.program, plan, parts, waits.copies);
  waits.arrived = first_of(parts, [&](const Part& part) {
    return part.stage == nullptr || reads_one(*part.func, plan, [](const auto& s) { return s.bulk; });
  });
  waits.crews = crews_meet(frame, whole, plan, parts, loop.name, count, rows.taken);
  waits.arrivals = emit_bulk_waits(plan, step, count, waits.crews);
  return waits;
}

ir::Stmt emit_step(const Nesting& nesting, const Nested& frame, std::size_t position,
                   const MarchPlan& plan, const Expr& count, const Around& context) {
  const LoopVars::Loop& loop = frame.vars.loops()[position];
  const Expr step = make_var(loop.name);
  const std::string marched = planning::marched_dimension(frame.vars, frame.func, loop.name);
  const Expr plane = frame.vars.value(marched);
  internal_check(analysis::constant_difference(
                     plane, substitute(plane, loop.name, constant(0)) + step) == std::int64_t{0},
                 "a march goes one plane a step");
  const std::vector<Part> parts = parts_of(plan, frame.func);
  StepRows rows{{}, taken_by(parts, marched)};
  for (const MarchStage& stage : plan.stages) {
    rows.of[&stage] = exchange_rows(nesting.program, frame.func, frame.vars, stage, plane);
  }
  const StepWaits waits =
      step_waits(nesting, frame, loop, plan, parts, count, context.copies_whole(), rows);
  std::vector<ir::Stmt> stmts;
  if (waits.copies.when == StepCopies::When::AtStart) stmts.push_back(waits.copies.wait);
  for (const MarchStage& stage : plan.stages) {
    if (stage.newest == stage.ahead) continue;
    stmts.push_back(while_filled(stage, plan, step, count, rows.of.at(&stage).given));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const auto take = [&] {
      for (const MarchStage* stage : rows.taken[i]) {
        stmts.push_back(while_filled(*stage, plan, step, count, rows.of.at(stage).taken));
      }
    };
    waits.before_taken(i, stmts);
    if (part.stage != nullptr) take();
    waits.before(i, stmts);
    if (part.stage == nullptr) {
      take();
      Around inner = context;
      add_stored(nesting, frame, position, inner);
      const ir::Stmt body =
          store_funcs(nesting, frame, position, inner, emit_loops(nesting, frame, position, inner));
      stmts.push_back(guarded(plan.warm_up > 0 ? step >= 0 : Expr(), body));
      continue;
    }
    // Points that nobody stores are computed like others.
    Nested of_stage = frame;
    if (frame.common) of_stage.open.guards.clear();
    const ir::Stmt made = emit_stage(nesting, of_stage, position, *part.stage, plane, context);
    // Partial sums of later chunks are those blocks' work, and so are planes that no step will read.
    const Expr in_time = in_steps(plan, step, -part.stage->warm_up(), part.stage->beyond, count);
    stmts.push_back(ir::make_stmt(ir::Produce{part.func->name, guarded(in_time, made), true}));
    if (part.stage->newest == part.stage->ahead) {
      stmts.push_back(while_filled(*part.stage, plan, step, count, rows.of.at(part.stage).given));
    }
    waits.after(i, stmts);
  }
  if (waits.crews) stmts.push_back(waits.crews->says.after_reads);
  return ir::make_block(std::move(stmts));
}

}  // namespace

// ---- blocks inside the domain and at its edge ------------------------------------------------------

ir::Stmt split_block(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context) {
  using Edge = planning::Inside::Edge;
  Around known = context;
  planning::Inside inside;
  if (frame.kernel != nullptr) {
    known.row = frame.kernel->frame.row;
    inside = frame.kernel->inside;
  }
  Around everywhere = known;
  everywhere.interior = everywhere.interior_step = everywhere.any_point = true;
  // What is computed for a whole chunk may reach past the last plane.
  const auto emit = [&](const Nested& of, Around within, bool whole_chunk) {
    Around chunk = within;
    chunk.interior = within.interior && whole_chunk;
    return place_funcs(nesting, of, position, chunk, emit_loops(nesting, of, position, within));
  };
  const auto in_arrays = [&](const ir::Stmt& stmt) {
    const auto blocks = frame.common             ? ClampedBlocks::Overlapping
                        : inside.block.defined() ? ClampedBlocks::AtTheEdge
                                                 : ClampedBlocks::All;
    return clamped(nesting.program, {frame.func, frame.index, frame.vars}, blocks, nesting.needed, stmt);
  };
  if (frame.common) return in_arrays(emit(frame, everywhere, true));
  const bool clamps = inside.edge == Edge::ClampedLoads;
  if (!clamps && !inside.block.defined()) return emit(frame, known, true);
  std::string march;
  for (const auto& loop : frame.vars.loops()) {
    if (loop.kind == LoopKind::March) march = loop.name;
  }
  Nested untested = frame;  // but for the planes of a march
  std::erase_if(untested.open.guards, [&](const Guard& guard) { return !guard.loops.count(march); });
  const bool whole_chunk = untested.open.guards.empty();  // else the last may end before its planes do
  ir::Stmt whole;
  if (inside.block.defined()) {
    Around interior = known;
    interior.interior = whole_chunk;
    interior.interior_step = true;
    whole = emit(untested, interior, whole_chunk);
    if (inside.everywhere) return whole;
  }
  ir::Stmt edge;
  if (inside.edge == Edge::DirectTaps) {
    const auto func = planning::with_direct_taps(nesting.program, frame.func, frame.index);
    Nested same{*func, frame.index, frame.vars, frame.open, frame.clip};
    same.at_edge = true;
    edge = emit_loops(nesting, same, position, known);
  } else if (clamps) {
    everywhere.interior = whole_chunk;
    untested.tested = inside_of(frame.open.guards, march);
    edge = in_arrays(emit(untested, everywhere, whole_chunk));
  } else {
    edge = emit(frame, known, true);
  }
  return whole.defined() ? ir::make_stmt(ir::If{inside.block, whole, edge}) : edge;
}

// ---- the marched loop ------------------------------------------------------------------------------

ir::Stmt emit_march(const Nesting& nesting, const Nested& around, std::size_t position,
                    const Around& context) {
  Nested frame = around;
  const LoopVars::Loop& loop = frame.vars.loops()[position];
  const Expr planes = frame.open.take_room(loop.name, loop.extent).count;
  const std::string marched = planning::marched_dimension(frame.vars, frame.func, loop.name);
  frame.open.fixed.insert(loop.name);
  Around within = context;
  within.interior = context.interior || context.interior_step;
  MarchPlan plan = frame.kernel != nullptr ? frame.kernel->march() : MarchPlan();
  for (auto& stage : plan.stages) stage.bulk = stage.bulk && within.copies_whole();

  within.ranges.push(loop.name, {-plan.warm_up, std::nullopt});
  Around step = within;
  step.in_step = true;
  const Expr count = make_var(loop.name + ".planes");
  ir::Stmt body =
      ir::make_stmt(ir::For{loop.name, constant(-plan.warm_up), simplify(count + constant(plan.warm_up)),
                            LoopKind::March, emit_step(nesting, frame, position, plan, count, step)});
  // Crews part here: of all that stands before, everybody sees the end.
  const bool part =
      frame.kernel != nullptr && planning::handover_of(*frame.kernel, within.copies_whole());
  if (part) body = ir::make_block({ir::make_stmt(ir::Barrier{}), body});
  const Expr start = substitute(frame.vars.value(marched), loop.name, constant(0));
  for (auto it = plan.stages.rbegin(); it != plan.stages.rend(); ++it) {
    Box box = it->box;
    if (it->dim < 0) {
      body = ir::make_block({emit_stage(nesting, frame, position, *it, start, within), body});
      body = allocate(nesting, *it->func, box, within, body, &*it);
      continue;
    }
    const Expr first = simplify(start + constant(it->first));
    box[static_cast<std::size_t>(it->dim)] = {first, simplify(first + constant(it->depth - 1))};
    if (it->bulk) body = with_barriers(*it->func, it->depth, body);
    body = allocate(nesting, *it->func, box, within, body, &*it);
    body = in_shared_rows(nesting.program, frame.func, frame.vars, frame.open.fixed, *it, body);
  }
  return ir::make_stmt(ir::LetStmt{loop.name + ".planes", planes, body});
}

}  // namespace mica::passes::nest
