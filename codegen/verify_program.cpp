#include "codegen/verify_program.h"

#include <algorithm>
#include <vector>

#include "codegen/ir/verify.h"
#include "codegen/lower.h"
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

/// The level that holds behind a pass.
ir::Level level_after(std::string_view pass, bool& axes_mapped) {
  const auto place = [](std::string_view name) {
    const std::vector<Pass>& passes = pass_list();
    return std::ranges::find_if(passes, [&](const Pass& p) { return p.name == name; }) - passes.begin();
  };
  const auto has_run = [&](std::string_view name) { return place(name) <= place(pass); };
  axes_mapped = has_run("map_gpu_axes");
  if (has_run("expand_math")) return ir::Level::BackEnd;
  if (has_run("flatten_storage")) return ir::Level::Flat;
  return has_run("build_loop_nest") ? ir::Level::Loads : ir::Level::LoopNest;
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
