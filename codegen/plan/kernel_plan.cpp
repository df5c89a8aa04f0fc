#include "codegen/plan/kernel_plan.h"

#include <algorithm>

#include "dsl/expr/traverse.h"

namespace mica::planning {

namespace {

bool same(const Expr& a, const Expr& b) {
  return a.defined() == b.defined() && (!a.defined() || equal(a, b));
}

bool same_sides(const analysis::Box& a, const analysis::Box& b) {
  return std::ranges::equal(
      a, b, [](const auto& l, const auto& r) { return same(l.min, r.min) && same(l.max, r.max); });
}

bool same_frame(const KernelFrame& a, const KernelFrame& b) {
  const auto same_loop = [](const auto& l, const auto& r) {
    return l.first == r.first && same(l.second, r.second);
  };
  return a.vars == b.vars && a.on_gpu == b.on_gpu && std::ranges::equal(a.fused, b.fused, same_loop) &&
         a.dims == b.dims && a.block == b.block && a.own == b.own &&
         std::ranges::equal(a.threads, b.threads) && a.filling_warps == b.filling_warps &&
         a.march == b.march && same(a.row.origin, b.row.origin) && a.row.points == b.row.points &&
         a.row.lanes == b.row.lanes;
}

}  // namespace

bool operator==(const MarchStage& a, const MarchStage& b) {
  return a.func == b.func && same_sides(a.box, b.box) && a.dim == b.dim && a.ahead == b.ahead &&
         a.first == b.first && a.depth == b.depth && a.newest_lag == b.newest_lag &&
         a.oldest_lag == b.oldest_lag && a.prefetch == b.prefetch && a.beyond == b.beyond &&
         a.per_thread == b.per_thread && a.bulk == b.bulk && a.newest == b.newest && a.kept == b.kept;
}

bool operator==(const KernelPlan& a, const KernelPlan& b) {
  return a.func == b.func && a.definition == b.definition && same_frame(a.frame, b.frame) &&
         a.stages == b.stages && a.taps == b.taps && a.edges == b.edges &&
         a.inside.edge == b.inside.edge && a.inside.last_steps == b.inside.last_steps &&
         a.inside.everywhere == b.inside.everywhere && same(a.inside.block, b.inside.block);
}

bool Stage::is_in(Residence residence) const {
  return std::find(kept.begin(), kept.end(), residence) != kept.end();
}

const Stage* KernelPlan::find(const std::string& stage) const {
  const auto found =
      std::find_if(stages.begin(), stages.end(), [&](const Stage& one) { return one.func == stage; });
  return found == stages.end() ? nullptr : &*found;
}

MarchPlan KernelPlan::march() const {
  MarchPlan plan;
  for (const auto& stage : stages) {
    if (stage.func == func) plan.consumer_at = plan.stages.size();
    if (!stage.step) continue;
    plan.stages.push_back(*stage.step);
    plan.warm_up = std::max(plan.warm_up, stage.step->warm_up());
  }
  return plan;
}

std::int64_t KernelPlan::threads() const {
  std::int64_t extents[3] = {1, 1, 1};
  for (const auto& stage : stages) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      extents[axis] = std::max(extents[axis], stage.crew.extents[axis]);
    }
  }
  return extents[0] * extents[1] * extents[2];
}

std::int64_t KernelPlan::shared_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& stage : stages) bytes += stage.shared_bytes;
  return bytes;
}

std::int64_t KernelPlan::registers() const {
  std::int64_t count = 0;
  for (const auto& stage : stages) count += stage.registers;
  return count;
}

const KernelPlan* find_kernel(const std::vector<KernelPlan>& kernels, const std::string& func,
                              std::size_t index) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelPlan& kernel) {
    return kernel.func == func && kernel.definition == index;
  });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace mica::planning
