#include "codegen/passes/funcs/plan_kernels.h"

#include "codegen/plan/edge_blocks.h"
#include "codegen/plan/frame/kernel_frame.h"
#include "codegen/plan/plan_edges.h"
#include "codegen/plan/plan_stages.h"
#include "codegen/plan/plan_taps.h"

namespace mica::passes {

void plan_kernels(Program& program) {
  for (const auto& func : program.pipeline.funcs) {
    if (!program.required.count(func->name) || !program.is_root(func->name)) continue;
    for (std::size_t i = 0; i < func->definitions.size(); ++i) {
      planning::KernelPlan kernel{func->name, i, planning::root_frame(program, *func, i)};
      if (!kernel.frame.on_gpu && !kernel.frame.march) continue;
      kernel.stages = planning::stages_of(program, *func, i, kernel.frame);
      kernel.taps = planning::taps_of(program, kernel);
      kernel.edges = planning::edges_of(kernel, program.pipeline);
      kernel.inside = planning::edge_of(program, *func, i, kernel.frame, kernel.stages);
      program.kernels.push_back(std::move(kernel));
    }
  }
}

}  // namespace mica::passes
