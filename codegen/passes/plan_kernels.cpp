#include "codegen/passes/plan_kernels.h"

#include "codegen/plan/filling.h"
#include "codegen/plan/kernel_frame.h"
#include "codegen/plan/placed_funcs.h"

namespace mica::passes {

namespace {

planning::MarchPlan march_of(const Program& program, const FunctionData& func, std::size_t index,
                             const planning::KernelFrame& frame, std::size_t position) {
  const auto& loops = frame.vars.loops();
  const std::string marched = planning::marched_dimension(frame.vars, func, loops[position].name);
  std::set<std::string> fixed;
  for (std::size_t i = position; i < loops.size(); ++i) fixed.insert(loops[i].name);
  analysis::Scope own;
  for (const auto& [dim, root] : frame.vars.roots()) own[dim] = frame.vars.interval(dim, fixed);
  const Expr plane = make_var(planning::kPlaneSymbol);
  own[marched] = {plane, plane};
  std::vector<const FunctionData*> placed, inner;
  for (const auto& f : program.pipeline.funcs) {
    const int at = planning::loop_of(program, {func, index, frame.vars}, f->name);
    const Placement& p = program.placement.at(f->name);
    const bool here = p.level == Placement::Level::At && p.compute.func == func.name &&
                      planning::position_of(frame.vars, p.compute.var) == static_cast<int>(position);
    if (here) {
      placed.push_back(f.get());
    } else if (at >= 0 && at < static_cast<int>(position)) {
      inner.push_back(f.get());
    }
  }
  planning::MarchPlan plan = planning::plan_march(program, func, marched, placed, inner, own);
  for (auto& stage : plan.stages) {
    stage.bulk = stage.dim > 0 && !stage.per_thread &&
                 planning::copies_in_bulk(program, *stage.func, stage.box, frame.row);
  }
  return plan;
}

}  // namespace

void plan_kernels(Program& program) {
  for (const auto& func : program.pipeline.funcs) {
    if (!program.required.count(func->name) || !program.is_root(func->name)) continue;
    for (std::size_t i = 0; i < func->definitions.size(); ++i) {
      planning::KernelPlan kernel{func->name, i, planning::root_frame(program, *func, i)};
      if (!kernel.frame.on_gpu && !kernel.frame.vars.is_marched()) continue;
      const auto& loops = kernel.frame.vars.loops();
      for (std::size_t position = 0; position < loops.size(); ++position) {
        if (loops[position].kind != LoopKind::March) continue;
        kernel.march = march_of(program, *func, i, kernel.frame, position);
      }
      program.kernels.push_back(std::move(kernel));
    }
  }
}

}  // namespace mica::passes
