#include "codegen/lower.h"

#include "codegen/analysis/simplify.h"
#include "codegen/ir/print.h"
#include "codegen/passes/emit/build_loop_nest.h"
#include "codegen/passes/funcs/bake_symbols.h"
#include "codegen/passes/funcs/check_coordinates.h"
#include "codegen/passes/funcs/check_sizes.h"
#include "codegen/passes/funcs/default_schedule.h"
#include "codegen/passes/funcs/infer_bounds.h"
#include "codegen/passes/funcs/inline_funcs.h"
#include "codegen/passes/funcs/order_storage.h"
#include "codegen/passes/funcs/place_funcs.h"
#include "codegen/passes/funcs/plan_kernels.h"
#include "codegen/passes/funcs/read_schedule.h"
#include "codegen/passes/funcs/split_colors.h"
#include "codegen/passes/funcs/turn_tiles.h"
#include "codegen/passes/funcs/unify_arrays.h"
#include "codegen/passes/gpu/exchange_taps.h"
#include "codegen/passes/gpu/fence_bulk_copies.h"
#include "codegen/passes/gpu/fuse_thread_loops.h"
#include "codegen/passes/gpu/map_gpu_axes.h"
#include "codegen/passes/gpu/split_blocks.h"
#include "codegen/passes/loops/align_vector_loads.h"
#include "codegen/passes/loops/flatten_storage.h"
#include "codegen/passes/loops/keep_sums.h"
#include "codegen/passes/loops/name_values.h"
#include "codegen/passes/loops/partition_loops.h"
#include "codegen/passes/loops/split_host_device.h"
#include "codegen/passes/loops/split_interiors.h"
#include "codegen/passes/loops/store_together.h"
#include "codegen/passes/loops/unroll_loops.h"
#include "codegen/passes/loops/unroll_marches.h"
#include "codegen/passes/loops/vectorize_loops.h"
#include "codegen/passes/math/expand_math.h"
#include "codegen/passes/math/legalize_half.h"
#include "codegen/verify_program.h"
#include "dsl/check/check_schedule.h"
#include "dsl/expr/deep_stack.h"
#include "dsl/expr/names.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

template <ir::Stmt (*rewrite)(const ir::Stmt&)>
void each_nest(Program& program) {
  for (auto& nest : program.nests) nest.body = rewrite(nest.body);
}

void check_legality(Program& program) {
  throw_if_any(check_schedule(program.pipeline, program.options.target.is_gpu()));
  passes::check_baked(program.pipeline, program.options.bake);
}

}  // namespace

const std::vector<Pass>& pass_list() {
  static const std::vector<Pass> list = {
      // The algorithm: what is computed where.
      {"check_schedule", check_legality},
      {"split_colors", passes::split_colors},
      {"place_funcs", passes::place_funcs},
      {"inline_funcs", passes::inline_funcs},
      {"check_sizes", passes::check_sizes},
      {"default_schedule", passes::default_schedule},
      {"turn_tiles", passes::turn_tiles},
      {"infer_bounds", passes::infer_bounds},
      {"check_coordinates", passes::check_coordinates},
      {"order_storage", passes::order_storage},
      {"read_schedule", passes::read_schedule},
      {"plan_kernels", passes::plan_kernels},
      // Loops: the schedule is carried out.
      {"build_loop_nest", passes::build_loop_nest},
      {"unify_arrays", passes::unify_arrays},
      {"bake_symbols", passes::bake_symbols},
      {"simplify_loops", each_nest<passes::simplify>},
      {"partition_loops", passes::partition_loops},
      {"split_interiors", passes::split_interiors},
      {"keep_sums", passes::keep_sums},
      {"unroll_marches", passes::unroll_marches},
      {"split_blocks", passes::split_blocks},
      {"unroll_loops", each_nest<passes::unroll_loops>},
      {"simplify_unrolled", each_nest<passes::simplify>},
      {"store_together", each_nest<passes::store_together>},
      {"exchange_taps", passes::exchange_taps},
      {"flatten_storage", passes::flatten_storage},
      {"vectorize_loops", each_nest<passes::vectorize_loops>},
      // Threads: what only a GPU needs.
      {"align_vector_loads", passes::align_vector_loads},
      {"fuse_thread_loops", passes::fuse_thread_loops},
      {"map_gpu_axes", passes::map_gpu_axes},
      {"fence_bulk_copies", passes::fence_bulk_copies},
      {"simplify", each_nest<passes::simplify>},
      // Operations: what back ends do not have.
      {"legalize_half", each_nest<passes::legalize_half>},
      {"expand_math", each_nest<passes::expand_math>},
      // Kernels and the plan that launches them.
      {"split_host_device", passes::split_host_device},
      {"name_values", passes::name_values},
  };
  return list;
}

namespace {

Program lower_here(const Pipeline& pipeline, const LowerOptions& options, std::string_view last) {
  Program program;
  program.pipeline = pipeline;
  program.options = options;
  program.options.bake = with_array_names(options.bake, pipeline);
  if (has_odd_rows(program)) program.options.variant.aligned = false;
  for (const auto& pass : pass_list()) {
    pass.run(program);
    // Nothing is left of a nest over no points.
    std::erase_if(program.nests, [](const Nest& nest) { return !nest.body.defined(); });
    verify_after(program, pass.name);
    if (pass.name == last) return program;
  }
  if (!last.empty()) {
    std::vector<std::string> names;
    for (const auto& pass : pass_list()) names.emplace_back(pass.name);
    throw UserError("there is no pass " + std::string(last) + did_you_mean(std::string(last), names) +
                    "; the passes are " + joined(names));
  }
  return program;
}

}  // namespace

Program lower(const Pipeline& pipeline, const LowerOptions& options, std::string_view last) {
  return made_with_stack_for(pipeline.depth, [&] { return lower_here(pipeline, options, last); });
}

ir::Module to_module(Program program) {
  ir::Module module;
  module.name = program.pipeline.outputs.empty() ? "pipeline" : program.pipeline.outputs.front();
  for (auto& nest : program.nests) module.kernels.push_back(std::move(nest.kernel));
  module.plan = std::move(program.plan);
  return module;
}

std::string to_string(const Program& program) {
  std::string text;
  if (program.nests.empty()) {
    for (const auto& func : program.pipeline.funcs) {
      for (const auto& definition : func->definitions) {
        text += func->name + "(";
        for (std::size_t i = 0; i < definition.args.size(); ++i) {
          text += (i ? ", " : "") + to_string(definition.args[i]);
        }
        text += ") = ";
        for (std::size_t i = 0; i < definition.values.size(); ++i) {
          text += (i ? ", " : "") + to_string(definition.values[i]);
        }
        text += "\n";
      }
    }
    return text;
  }
  for (const auto& nest : program.nests) {
    text += nest.kernel.params.empty() ? ir::to_string(nest.body) : ir::to_string(nest.kernel);
  }
  return text;
}

}  // namespace mica
