// Funcs that are stored outside the loops that compute them — what an iteration computes of
// them, and how little of them is kept.
#include <algorithm>
#include <bit>

#include "codegen/analysis/simplify.h"
#include "codegen/passes/emit/nest.h"
#include "codegen/plan/placed_funcs.h"
#include "dsl/expr/operators.h"

namespace mica::passes::nest {

using analysis::Box;

namespace {

Expr is_first(const LoopVars::Loop& loop) { return make_var(loop.name) < 1; }

std::string storage_text(const FuncSchedule& schedule, const Placement& placement) {
  if (placement.store && schedule.store_at) return schedule.store_at->text;
  if (placement.store_root && schedule.store_root) return schedule.store_root->text;
  return "its storage outside";
}

[[noreturn]] void refuse_fold(const FuncSchedule::Fold& fold, const FunctionData& func,
                              const std::string& why) {
  throw UserError(fold.said.text + " of " + func.name + ": " + why, fold.said.where);
}

/// Why the storage cannot be folded so as `plan` slides; empty if it can.
std::string obstacle_of(const FuncSchedule::Fold& fold, const FunctionData& func, const SlidePlan& plan,
                        const std::vector<LoopVars::Loop>& loops) {
  if (plan.dims.empty()) {
    const std::string why = plan.still.empty() ? plan.obstacle : "no loop moves what is read of it";
    return func.name + " does not slide along " + fold.var + ": " + why + "; remove this";
  }
  const SlidDim* slid = plan.folded();
  if (slid == nullptr) {
    return "each iteration of loop " + loops[plan.still.back()].dim + " reads all of " + func.name +
           " again; store it inside that loop, or remove this";
  }
  const std::string& var = func.args[slid->dim];
  if (var != fold.var) {
    return "only " + var + " can be folded, along the outermost loop that " + func.name +
           " slides along, " + loops[slid->loop].dim + "; fold that one";
  }
  if (!slid->alive) {
    return "how many indices of " + var +
           " an iteration reads is not known to be constant, so no factor is known to be enough; remove "
           "this";
  }
  if (fold.factor >= *slid->alive) return "";
  return "an iteration of loop " + loops[slid->loop].dim + " reads " + std::to_string(*slid->alive) +
         (*slid->alive == 1 ? " index of " : " indices of ") + var + ", and " +
         std::to_string(fold.factor) + " would be stored; the factor is to be " +
         std::to_string(*slid->alive) + " or more";
}

/// What an iteration computes, for print_loop_nest.
std::string slides_text(const FunctionData& func, const SlidePlan& plan, const std::string& consumer,
                        const std::vector<LoopVars::Loop>& loops) {
  std::string text;
  for (const SlidDim& slid : plan.dims) {
    text += (text.empty() ? "an iteration of loop " : ", and of ") + loops[slid.loop].dim + " of " +
            consumer + " computes only what earlier ones have not of " + func.args[slid.dim];
  }
  for (const std::size_t l : plan.still) {
    text += (text.empty() ? "only " : ", and only ") + std::string("the first iteration of loop ") +
            loops[l].dim + " of " + consumer + " computes it";
  }
  return func.name + ": " + text;
}

// Computes `box`, in loops of constant extents where all of it is needed.
ir::Stmt build_split(const Nesting& nesting, const FunctionData& func, const Box& box,
                     const Around& context) {
  const Box needed = needed_box(nesting, func, context);
  Expr inside;
  const auto require = [&](const Expr& condition) {
    inside = inside.defined() ? inside && condition : condition;
  };
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (!analysis::same(box[d].min, needed[d].min)) require(box[d].min >= needed[d].min);
    if (!analysis::same(box[d].max, needed[d].max)) require(box[d].max <= needed[d].max);
  }
  ir::Stmt clipped = build_func(nesting, func, box, context);
  if (!inside.defined()) return clipped;
  Around whole = context;
  whole.all_needed = true;
  return ir::make_stmt(ir::If{simplify(inside), build_func(nesting, func, box, whole), clipped});
}

// The part of `box` that is new in an iteration, where `plan` slides along `loops`.
ir::Stmt build_new(const Nesting& nesting, const FunctionData& func, const Box& box,
                   const SlidePlan& plan, const std::vector<LoopVars::Loop>& loops,
                   const Around& context) {
  if (plan.dims.empty()) return build_func(nesting, func, box, context);
  // Along its innermost dimension a vector loop likes a part of constant size: the first iteration has
  // code of its own. Along others a loop's bounds may vary.
  const SlidDim& inner = plan.dims.front();
  const bool apart = func.args[inner.dim] == func.definitions.front().pure_vars.front();
  Around within = context;
  Box first = box;
  for (const SlidDim& slid : plan.dims) {
    if (apart && &slid == &inner) continue;
    Expr& min = first[slid.dim].min;
    min = select(is_first(loops[slid.loop]), min, slid.next);
    within.parts.insert(slid.dim);
  }
  ir::Stmt all = build_func(nesting, func, first, within);
  if (!apart) return all;
  Box rest = first;
  rest[inner.dim].min = inner.next;
  within.parts.insert(inner.dim);
  return ir::make_stmt(
      ir::If{is_first(loops[inner.loop]), all, build_split(nesting, func, rest, within)});
}

// Records how far the storage of `func` is folded, if it is.
void fold(const Nesting& nesting, const Nested& frame, const FunctionData& func, const SlidePlan& plan,
          const std::vector<LoopVars::Loop>& loops) {
  const Placement& placement = nesting.program.placement.at(func.name);
  const FuncSchedule& schedule = schedule_of(nesting.program, func);
  const std::string storage = storage_text(schedule, placement);
  if (!plan.slides() && schedule.folds.empty()) {
    return note(nesting, func.name + ": " + storage + " saves no work: " + plan.obstacle);
  }
  // Storage that other nests or frames make is not this frame's to fold.
  const bool alone = placement.store_root
                         ? nesting.program.is_root(frame.func.name) && frame.func.definitions.size() == 1
                         : placement.store->func == frame.func.name;
  const SlidDim* slid = plan.folded();
  std::optional<std::int64_t> factor;
  if (slid && slid->alive && slid->dim > 0)
    factor = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(*slid->alive)));
  for (const FuncSchedule::Fold& wanted : schedule.folds) {
    std::string obstacle = obstacle_of(wanted, func, plan, loops);
    if (obstacle.empty() && !alone) {
      obstacle = func.name + " is computed in loops of " + frame.func.name +
                 " and stored outside of them; storage is folded between two loops of one definition: "
                 "store it at a loop of " +
                 frame.func.name;
    }
    if (!obstacle.empty()) refuse_fold(wanted, func, obstacle);
    factor = wanted.factor;
  }
  std::string text = slides_text(func, plan, frame.func.name, loops);
  if (factor && alone) {
    nesting.findings.folds[func.name] = {slid->dim, *factor};
    text += "; storage holds " + std::to_string(*factor) + " of " + func.args[slid->dim];
  }
  note(nesting, text);
}

// The loops of `frame` from `position` to where `func` is stored, or to the outermost.
std::vector<LoopVars::Loop> loops_to_storage(const Nesting& nesting, const Nested& frame,
                                             std::size_t position, const FunctionData& func) {
  const auto& loops = frame.vars.loops();
  const Placement& p = nesting.program.placement.at(func.name);
  const bool here = p.store && p.store->func == frame.func.name;
  const std::size_t end =
      here ? static_cast<std::size_t>(planning::position_of(frame.vars, p.store->var)) : loops.size();
  return {loops.begin() + static_cast<std::ptrdiff_t>(position),
          loops.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace

ir::Stmt build_slid(const Nesting& nesting, const Nested& frame, std::size_t position,
                    const FunctionData& func, const Box& box, const Around& context) {
  nesting.findings.folds.erase(func.name);
  if (context.on_gpu) {
    for (const FuncSchedule::Fold& fold : schedule_of(nesting.program, func).folds) {
      refuse_fold(fold, func,
                  "it is computed inside a kernel, where each iteration computes its whole box; "
                  "remove this, or march along the dimension");
    }
    return build_func(nesting, func, box, context);
  }
  const std::vector<LoopVars::Loop> loops = loops_to_storage(nesting, frame, position, func);
  const SlidePlan plan = plan_slides(func, box, loops, frame.vars.guards());
  fold(nesting, frame, func, plan, loops);
  Expr first_of_still;
  for (const std::size_t l : plan.still) {
    const Expr one = is_first(loops[l]);
    first_of_still = first_of_still.defined() ? first_of_still && one : one;
  }
  const ir::Stmt made = build_new(nesting, func, box, plan, loops, context);
  return first_of_still.defined() ? ir::make_stmt(ir::If{first_of_still, made, {}}) : made;
}

ir::Stmt store_folded(const Nesting& nesting, const FunctionData& func, ir::Stmt body) {
  for (const auto& other : nesting.program.pipeline.funcs) {
    const Placement& p = nesting.program.placement.at(other->name);
    const bool here = p.level == Placement::Level::At && p.store_root && p.compute.func == func.name;
    if (!here || nesting.findings.folds.count(other->name) == 0) continue;
    body = allocate(nesting, *other, nesting.program.required.at(other->name), Around(), body);
    nesting.findings.kept_in_nests.insert(other->name);
  }
  return body;
}

void note(const Nesting& nesting, const std::string& text) {
  auto& notes = nesting.findings.notes;
  if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
}

}  // namespace mica::passes::nest
