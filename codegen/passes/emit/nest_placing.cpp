// Funcs computed inside another's loops — their boxes, memory and cooperative filling.
#include <algorithm>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/nest.h"
#include "codegen/plan/placed_funcs.h"
#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"

namespace mica::passes::nest {

using analysis::Box;

namespace {

constexpr std::int64_t kStackBytes = 65536;

Expr both(const Expr& a, const Expr& b) {
  if (!a.defined()) return b;
  return b.defined() ? a && b : a;
}

/// Of what the user said, or else of what placed the Func.
SourceLocation place_of(const std::optional<Said>& said, const Placement& placement) {
  return said ? said->where : placement.where;
}

/// Is the storage of a Func that is computed at a loop elsewhere than there?
bool is_stored_outside(const Placement& p) {
  const bool at_loop = p.store && (p.store->func != p.compute.func || p.store->var != p.compute.var);
  return p.store_root || at_loop;
}

// Iterations that run at once would fill one another's storage.
[[noreturn]] void refuse_sharing(const std::string& directive, const FunctionData& func,
                                 const std::string& loop, const SourceLocation& where) {
  throw UserError(directive + " of " + func.name + ": " + loop +
                      " stands between the storage and the computation, and its iterations would share "
                      "the storage; store inside it, or make it serial",
                  where);
}

// Boxes of all Funcs computed at `frame`'s loop `position` or deeper, for one iteration of it.
std::map<std::string, Box> boxes_at(const Nesting& nesting, const Nested& frame, std::size_t position) {
  return planning::boxes_at(nesting.program, {frame.func, frame.index, frame.vars}, frame.open.fixed,
                            position);
}

// The loop of `frame` in which `func` is computed, directly or inside another Func; -1 if none.
int loop_of(const Nesting& nesting, const Nested& frame, const std::string& func) {
  return planning::loop_of(nesting.program, {frame.func, frame.index, frame.vars}, func);
}

// The Funcs that are stored at `frame`'s loop `position` and computed inside it.
std::vector<const FunctionData*> stored_around(const Nesting& nesting, const Nested& frame,
                                               std::size_t position) {
  std::vector<const FunctionData*> funcs;
  for (const auto& func : nesting.program.pipeline.funcs) {
    const Placement& p = nesting.program.placement.at(func->name);
    if (p.level != Placement::Level::At || p.store_root || !is_stored_outside(p)) continue;
    const bool here = p.store->func == frame.func.name &&
                      planning::position_of(frame.vars, p.store->var) == static_cast<int>(position);
    if (here) funcs.push_back(func.get());
  }
  return funcs;
}

void check_storage_level(const Nesting& nesting, const Nested& frame, const FunctionData& func,
                         std::size_t position) {
  const int compute = loop_of(nesting, frame, func.name);
  for (int i = compute; i >= 0 && i < static_cast<int>(position); ++i) {
    const LoopVars::Loop& loop = frame.vars.loops()[static_cast<std::size_t>(i)];
    if (!runs_at_once(loop.kind)) continue;
    refuse_sharing(
        "store_at(" + frame.func.name + ", " + frame.vars.loops()[position].dim + ")", func,
        loop_text(loop),
        place_of(schedule_of(nesting.program, func).store_at, nesting.program.placement.at(func.name)));
  }
}

// Do iterations of loop `position` and of those around it that run at once need no points in common,
// where one needs `box`?
bool has_own_points(const Nesting& nesting, const Nested& frame, std::size_t position, const Box& box) {
  if (!nesting.program.is_root(frame.func.name)) return false;
  const auto& loops = frame.vars.loops();
  std::set<std::size_t> apart;  // loops whose iterations need other points
  for (const auto& along : box) {
    const auto count = analysis::constant_extent(along);
    analysis::Linear first = analysis::linearize(along.min);
    std::map<std::int64_t, std::size_t> steps;  // by how many points, which loop
    bool known = count.has_value();
    for (std::size_t i = position; known && i < loops.size(); ++i) {
      const std::int64_t step = first.take(loops[i].name);
      known = step == 0 || (step > 0 && steps.emplace(step, i).second);
    }
    for (const auto& term : first.terms) {
      known = known && std::none_of(loops.begin(), loops.end(),
                                    [&](const auto& loop) { return uses_var(term.first, loop.name); });
    }
    // A step of each loop goes beyond all points of those with smaller steps.
    std::int64_t reach = count.value_or(0);
    std::set<std::size_t> moved;
    for (const auto& [step, i] : steps) {
      known = known && step >= reach;
      const auto* extent = as_int(loops[i].extent);
      moved.insert(i);
      if (i == steps.rbegin()->second) break;
      known = known && extent != nullptr;
      if (known) reach += step * (*extent - 1);
    }
    if (known) apart.insert(moved.begin(), moved.end());
  }
  for (std::size_t i = position; i < loops.size(); ++i) {
    if (runs_at_once(loops[i].kind) && !is_const(loops[i].extent, 1) && apart.count(i) == 0)
      return false;
  }
  return true;
}

void check_storage_root(const Nesting& nesting, const Nested& frame, std::size_t position,
                        const FunctionData& func, const Box& box, const Around& context) {
  if (context.concurrent.empty() || has_own_points(nesting, frame, position, box)) return;
  refuse_sharing(
      "store_root()", func, context.concurrent,
      place_of(schedule_of(nesting.program, func).store_root, nesting.program.placement.at(func.name)));
}

// Is what a thread needs of `func`, `box`, to be kept in an array?
bool needs_array(const Nesting& nesting, const Nested& frame, std::size_t position,
                 const FunctionData& func, const Box& box, const Around& context) {
  const Placement& placement = nesting.program.placement.at(func.name);
  const bool by_default =
      placement.memory == MemoryType::Auto && !is_stored_outside(placement) && !placement.load;
  // What another definition keeps in an array has no other storage in this one.
  const bool elsewhere = nesting.findings.kept_in_arrays.count(func.name) > 0;
  if (!by_default || (!context.in_thread && !elsewhere)) return false;
  const bool fixed = std::all_of(box.begin(), box.end(), [](const analysis::Interval& along) {
    return analysis::constant_extent(along).has_value();
  });
  if (fixed && !elsewhere) return false;
  const bool own = has_own_points(nesting, frame, position, box);
  if (elsewhere && !own) {
    throw UserError("compute_at: a thread of one definition of " + frame.func.name +
                        " keeps its points of " + func.name +
                        " in an array, and iterations of another that run at once need the same points; "
                        "compute " +
                        func.name + " at another loop, or at the root",
                    place_of(schedule_of(nesting.program, func).compute_at, placement));
  }
  return own;
}

// `body` between the lines that Func::trace_realizations asks for, where it does, in storage for
// `box`.
ir::Stmt with_trace(const Nesting& nesting, const FunctionData& func, const Box& box,
                    const Around& context, const ir::Stmt& body) {
  if (!func.traces.realizations) return body;
  if (context.on_gpu && nesting.program.options.target.is_gpu()) {
    throw UserError("trace_realizations: " + func.name +
                        " is kept inside a kernel, whose blocks and threads have its storage from "
                        "their first instruction to their last; trace it on Target::host(), or store " +
                        func.name + " at the root, as by " + func.name + ".compute_root()",
                    func.traces.where_realizations);
  }
  const auto line = [&](const std::string& what) {
    Print print{constant(0), make_const(Bool(), 1), {}, {what + " realization " + func.name + " {{"}};
    for (std::size_t d = 0; d < box.size(); ++d) {
      print.operands.push_back(simplify(box[d].min));
      print.texts.emplace_back(", ");
      print.operands.push_back(analysis::extent_of(box[d]));
      print.texts.emplace_back(d + 1 < box.size() ? "}, {" : "}}");
    }
    return ir::make_stmt(ir::Evaluate{make_expr(Int(32), std::move(print))});
  };
  return ir::make_block({line("begin"), body, line("end")});
}

}  // namespace

bool runs_at_once(LoopKind kind) { return kind != LoopKind::Serial && kind != LoopKind::Unrolled; }

std::string loop_text(const LoopVars::Loop& loop) {
  return "the " + to_string(loop.kind) + " loop " + loop.dim;
}

bool keeps_funcs(const Nesting& nesting, const Nested& frame) {
  return !frame.at_edge && planning::keeps_funcs(nesting.program, {frame.func, frame.index, frame.vars});
}

ir::Stmt store_funcs(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context, ir::Stmt body) {
  const std::vector<const FunctionData*> stored = stored_around(nesting, frame, position);
  if (stored.empty()) return body;
  const auto boxes = boxes_at(nesting, frame, position);
  for (const FunctionData* func : stored) {
    check_storage_level(nesting, frame, *func, position);
    if (auto box = boxes.find(func->name); box != boxes.end()) {
      body = allocate(nesting, *func, box->second, context, body);
    }
  }
  return body;
}

ir::Stmt place_funcs(const Nesting& nesting, const Nested& frame, std::size_t position,
                     const Around& context, ir::Stmt body) {
  std::vector<const FunctionData*> computed;
  for (const auto& func : nesting.program.pipeline.funcs) {
    const Placement& p = nesting.program.placement.at(func->name);
    const bool here = p.level == Placement::Level::At && p.compute.func == frame.func.name &&
                      planning::position_of(frame.vars, p.compute.var) == static_cast<int>(position);
    if (!here) continue;
    computed.push_back(func.get());
  }
  if (!computed.empty()) {
    const auto boxes = boxes_at(nesting, frame, position);
    // Consumers stand last: build from the last producer outwards.
    for (auto it = computed.rbegin(); it != computed.rend(); ++it) {
      auto box = boxes.find((*it)->name);
      if (box == boxes.end()) continue;  // this definition does not read it
      const Placement& placement = nesting.program.placement.at((*it)->name);
      if (placement.store_root) check_storage_root(nesting, frame, position, **it, box->second, context);
      if (needs_array(nesting, frame, position, **it, box->second, context)) {
        body = ir::make_block({build_func(nesting, **it, box->second, context), body});
        nesting.findings.kept_in_arrays.insert((*it)->name);
        note(nesting, (*it)->name + ": a thread keeps its points in an array in global memory");
        continue;
      }
      if (is_stored_outside(placement)) {
        body = ir::make_block({build_slid(nesting, frame, position, **it, box->second, context), body});
        continue;
      }
      body = ir::make_block({build_func(nesting, **it, box->second, context), body});
      body = allocate(nesting, **it, box->second, context, body);
    }
  }
  return store_funcs(nesting, frame, position, context, body);
}

void add_stored(const Nesting& nesting, const Nested& frame, std::size_t position, Around& context) {
  const std::vector<const FunctionData*> stored = stored_around(nesting, frame, position);
  if (stored.empty()) return;
  const auto boxes = boxes_at(nesting, frame, position);
  for (const FunctionData* func : stored) {
    if (const auto box = boxes.find(func->name); box != boxes.end()) {
      context.stored[func->name] = box->second;
    }
  }
}

// Loops round the box of one iteration up to whole vectors, which may reach past what is stored outside.
Box needed_box(const Nesting& nesting, const FunctionData& func, const Around& context) {
  Box box = nesting.program.required.at(func.name);
  const auto stored = context.stored.find(func.name);
  if (stored == context.stored.end()) return box;
  for (std::size_t d = 0; d < box.size(); ++d) {
    box[d].min = simplify(max(box[d].min, stored->second[d].min));
    box[d].max = simplify(min(box[d].max, stored->second[d].max));
  }
  return box;
}

namespace {

/// The dimension of which an array of `func` holds some points only, and how many.
std::optional<Fold> fold_of(const Nesting& nesting, const FunctionData& func, const MarchStage* stage) {
  if (stage != nullptr) {
    if (stage->dim < 0) return {};
    return Fold{static_cast<std::size_t>(stage->dim), stage->depth};
  }
  const auto fold = nesting.findings.folds.find(func.name);
  if (fold == nesting.findings.folds.end()) return {};
  return fold->second;
}

std::vector<Expr> extents_of(const Nesting& nesting, const FunctionData& func, const Box& box,
                             const planning::StorageShape& shape) {
  std::vector<Expr> extents;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const int align = storage_alignment(nesting.program, func, d, 1);
    const auto& count = shape.extents[d];
    extents.push_back(count ? constant(*count)
                      : align == 1
                          ? analysis::extent_of(box[d])
                          : simplify((analysis::extent_of(box[d]) + (align - 1)) / align * align));
  }
  return extents;
}

/// Where the array of `func` lies: where the user wants it, if that can be, or else where it fits.
MemoryType memory_of(const Nesting& nesting, const FunctionData& func, const Around& context,
                     const planning::StorageShape& shape, bool per_thread) {
  const Placement& placement = nesting.program.placement.at(func.name);
  const auto where = [&] { return place_of(schedule_of(nesting.program, func).store_in, placement); };
  const bool fixed_size = shape.fixed();
  MemoryType memory = placement.memory;
  if (context.in_block || context.in_thread) {
    memory = planning::memory_in_block(memory, context.in_thread);
  } else if (memory == MemoryType::Auto) {
    memory = fixed_size && shape.bytes <= kStackBytes ? MemoryType::Stack : MemoryType::Heap;
  }
  if (context.in_thread && memory == MemoryType::Shared) {
    throw UserError("store_in(MemoryType::Shared): " + func.name +
                        " is computed inside a thread, and shared memory belongs to the block; "
                        "compute it at a block loop",
                    where());
  }
  if (!fixed_size && (memory == MemoryType::Register || memory == MemoryType::Stack)) {
    throw UserError(
        "store_in(MemoryType::" + to_string(memory) + "): " + func.name +
            " needs a number of points here that is not constant; compute it inside loops of "
            "constant extent, or store it in MemoryType::Heap",
        where());
  }
  if (context.in_block && !context.in_thread && memory != MemoryType::Shared && !per_thread) {
    throw UserError("store_in(MemoryType::" + to_string(memory) + "): " + func.name +
                        " is computed for a whole block, whose threads share only "
                        "MemoryType::Shared; compute it at a thread loop to keep it in registers",
                    placement.where);
  }
  return memory;
}

}  // namespace

ir::Stmt allocate(const Nesting& nesting, const FunctionData& func, const Box& box,
                  const Around& context, const ir::Stmt& body, const MarchStage* stage) {
  const Placement& placement = nesting.program.placement.at(func.name);
  const std::optional<Fold> fold = fold_of(nesting, func, stage);
  const bool in_rows = context.in_block && !context.in_thread;
  const planning::StorageShape shape =
      planning::storage_shape(nesting.program, func, box, fold, in_rows ? &context.row : nullptr);
  const std::vector<Expr> extents = extents_of(nesting, func, box, shape);
  if (context.in_block) static_cast<void>(fixed_extents(nesting.program, func, box));
  const bool per_thread = stage && stage->per_thread;
  const MemoryType memory = memory_of(nesting, func, context, shape, per_thread);
  ir::Stmt result = with_trace(nesting, func, box, context, body);
  for (std::size_t i = func.types.size(); i-- > 0;) {
    ir::Allocate alloc;
    alloc.buffer = storage_name(func.name, static_cast<int>(i), func.types.size());
    alloc.type = func.types[i];
    alloc.memory = memory;
    alloc.mins = shape.mins;
    alloc.extents = extents;
    alloc.per_thread = per_thread;
    if (fold) {
      alloc.folds.assign(extents.size(), 0);
      alloc.folds[fold->dim] = fold->factor;
    }
    if (stage && fold) {
      if (!per_thread) alloc.places = stage->depth;
    } else if (placement.load && memory == MemoryType::Shared) {
      alloc.places = 1;
    }
    if (memory == MemoryType::Shared) alloc.stage = func.name;
    alloc.body = result;
    result = ir::make_stmt(std::move(alloc));
  }
  return result;
}

Expr clip_condition(const FunctionData& func, const Box& box, const Box& need, const Around& context,
                    const std::function<Expr(const std::string&)>& value_of) {
  Expr condition;
  const bool stored_outside = context.stored.count(func.name) > 0;
  analysis::Ranges ranges = context.ranges;
  for (std::size_t d = 0; d < box.size(); ++d) {
    // An update's other dimensions take constant values inside the box.
    Expr value = value_of(func.args[d]);
    if (!value.defined()) continue;
    // A box without a constant size is filled as if it always had its largest. What is read for points
    // past its end may lie past the end of another box.
    const bool exact = analysis::constant_difference(box[d].max, box[d].min).has_value();
    const bool sized = exact || analysis::constant_extent(box[d]).has_value();
    if (sized && !exact) condition = both(condition, value <= box[d].max);
    if (context.any_point || (context.interior && !stored_outside && sized)) continue;
    if (decide(box[d].min >= need[d].min, ranges) != std::optional(true)) {
      condition = both(condition, value >= need[d].min);
    }
    if (decide(box[d].max <= need[d].max, ranges) != std::optional(true)) {
      condition = both(condition, value <= need[d].max);
    }
  }
  return condition.defined() ? simplify(condition) : condition;
}

FillPlace fill_place(const Nesting& nesting, const Around& context) {
  FillPlace place{context.kernel, context.row};
  std::copy(std::begin(context.threads), std::end(context.threads), place.threads);
  place.inside = context.interior;
  place.clamped = context.any_point;
  place.in_step = context.in_step;
  place.needed = [nesting, &context](const FunctionData& func, const Box& box, const ValueOf& value_of) {
    return clip_condition(func, box, needed_box(nesting, func, context), context, value_of);
  };
  return place;
}

}  // namespace mica::passes::nest
