#include "codegen/verify_program.h"

#include <vector>

#include "codegen/ir/verify.h"
#include "codegen/plan/verify/verify_plan.h"

namespace mica {

#ifdef MICA_VERIFY_PASSES
namespace {

ir::Environment environment_of(const Program& program) {
  ir::Environment environment;
  for (const auto& b : program.plan.buffers) {
    environment.add_buffer(b.name, b.type, b.dimensions, b.is_output);
  }
  for (const auto& t : program.plan.temporaries) {
    environment.add_buffer(t.name, t.type, static_cast<int>(t.extents.size()));
  }
  for (const auto& v : program.plan.values) environment.symbols[v.name] = v.value.type();
  for (const auto& s : program.plan.scalars) environment.symbols[s.name] = s.param->type;
  return environment;
}

ir::Level level_after(std::string_view pass, bool& axes_mapped) {
  // Passes in order with the level that holds from there on.
  struct Step {
    std::string_view pass;
    ir::Level level;
    bool mapped;
  };
  static constexpr Step kSteps[] = {
      {"build_loop_nest", ir::Level::Loads, false},    {"unify_arrays", ir::Level::Loads, false},
      {"bake_symbols", ir::Level::Loads, false},       {"simplify_loops", ir::Level::Loads, false},
      {"partition_loops", ir::Level::Loads, false},    {"split_interiors", ir::Level::Loads, false},
      {"keep_sums", ir::Level::Loads, false},          {"split_blocks", ir::Level::Loads, false},
      {"unroll_marches", ir::Level::Loads, false},     {"unroll_loops", ir::Level::Loads, false},
      {"simplify_unrolled", ir::Level::Loads, false},  {"exchange_taps", ir::Level::Loads, false},
      {"flatten_storage", ir::Level::Flat, false},     {"vectorize_loops", ir::Level::Flat, false},
      {"align_vector_loads", ir::Level::Flat, false},  {"fuse_thread_loops", ir::Level::Flat, false},
      {"map_gpu_axes", ir::Level::Flat, true},         {"pair_stores", ir::Level::Flat, true},
      {"fence_bulk_copies", ir::Level::Flat, true},    {"simplify", ir::Level::Flat, true},
      {"legalize_half", ir::Level::Flat, true},        {"expand_math", ir::Level::BackEnd, true},
      {"split_host_device", ir::Level::BackEnd, true}, {"name_values", ir::Level::BackEnd, true},
  };
  for (const auto& step : kSteps) {
    if (step.pass != pass) continue;
    axes_mapped = step.mapped;
    return step.level;
  }
  return ir::Level::LoopNest;
}

}  // namespace

void verify_after(const Program& program, std::string_view after) {
  if (after == "plan_kernels") {
    for (const auto& kernel : program.kernels) {
      const auto faults = planning::verify_plan(kernel, program.pipeline);
      if (faults.empty()) continue;
      throw InternalError("plan_kernels leaves an unsound plan: " + faults.front() + "\n" +
                          planning::to_string(kernel));
    }
  }
  if (program.nests.empty()) return;
  bool mapped = false;
  const ir::Level level = level_after(after, mapped);
  ir::Environment environment = environment_of(program);
  if (after == "fuse_thread_loops") {
    for (const char* axis : ir::kGpuAxisNames) environment.symbols[axis] = Int(32);
  }
  for (const bool on_device : {false, true}) {
    std::vector<ir::Stmt> bodies;
    for (const auto& nest : program.nests) {
      if (nest.on_device == on_device) bodies.push_back(nest.body);
    }
    environment.axes_mapped = mapped && on_device;
    ir::throw_if_unsound(ir::verify(bodies, level, environment), std::string(after));
  }
}

#else

void verify_after(const Program&, std::string_view) {}

#endif

}  // namespace mica
