#include "tests/support/group_kernels.h"

#include "tests/support/hand_kernels.h"

namespace mica::test {

namespace {

constexpr int kTile = kPipelineThreads;

Expr thread_x() { return make_var("thread.x"); }
Expr block_x() { return make_var("block.x"); }
Expr first_of(int tile) { return (block_x() * kPipelineTiles + tile) * kTile; }

Expr element(const std::string& buffer, const Expr& at) {
  return make_expr(Float(32), Load{buffer, {at}, {at}, 1});
}
ir::Stmt put(const std::string& buffer, const Expr& at, const Expr& value, const Expr& block = {}) {
  return ir::make_stmt(ir::Store{buffer, {at}, value, {at}, 1, false, block});
}

ir::Stmt named(int number, bool waits) {
  return ir::make_stmt(ir::NamedBarrier{number, kWarpPipelineThreads, waits});
}
ir::Stmt wait(int number) { return named(number, true); }
ir::Stmt arrive(int number) { return named(number, false); }
int full(int slot) { return 1 + slot; }
int empty(int slot) { return 1 + kPipelineSlots + slot; }

}  // namespace

ir::Kernel warp_pipeline(bool users_wait) {
  const Expr user = thread_x() - kTile;
  std::vector<ir::Stmt> fill, use;
  for (int t = 0; t < kPipelineTiles; ++t) {
    const int slot = t % kPipelineSlots;
    const int base = slot * kTile;
    if (t >= kPipelineSlots) fill.push_back(wait(empty(slot)));
    fill.push_back(put("tile", base + thread_x(), element("u", first_of(t) + thread_x())));
    fill.push_back(arrive(full(slot)));

    use.push_back(wait(full(slot)));
    use.push_back(put("out", first_of(t) + user,
                      element("tile", base + user) + element("tile", base + (user + 1) % kTile)));
    if (t + kPipelineSlots < kPipelineTiles) use.push_back(named(empty(slot), users_wait));
  }
  ir::Kernel kernel = pipeline_kernel(
      "warps", allocate(MemoryType::Shared, Float(32), "tile", {kPipelineSlots * kTile},
                        ir::make_stmt(ir::If{thread_x() < kTile, ir::make_block(std::move(fill)),
                                             ir::make_block(std::move(use))})));
  kernel.block[0] = kWarpPipelineThreads;
  return kernel;
}

ir::Kernel cluster_ring() {
  const ir::Stmt meet = ir::make_stmt(ir::ClusterBarrier{});
  const Expr left = (block_x() + (kRingBlocks - 1)) % kRingBlocks;
  std::vector<ir::Stmt> body = {meet};
  for (int t = 0; t < kPipelineTiles; ++t) {
    const Expr own = element("u", first_of(t) + thread_x());
    body.push_back(put("tile", thread_x(), own));
    body.push_back(ir::make_stmt(ir::If{thread_x() == 0, put("tile", Expr(kTile), own, left), {}}));
    body.push_back(meet);
    body.push_back(put("out", first_of(t) + thread_x(),
                       element("tile", thread_x()) + element("tile", thread_x() + 1)));
    if (t + 1 < kPipelineTiles) body.push_back(meet);
  }
  ir::Kernel kernel = pipeline_kernel("ring", allocate(MemoryType::Shared, Float(32), "tile",
                                                       {kTile + 1}, ir::make_block(std::move(body))));
  kernel.cluster[0] = kRingBlocks;
  return kernel;
}

std::vector<float> ring_expected(const PipelineRun& run) {
  constexpr int kBlock = kPipelineTiles * kTile;
  std::vector<float> result(run.u.size());
  for (std::size_t i = 0; i < run.u.size(); ++i) {
    const auto at = static_cast<int>(i);
    const int block = at / kBlock;
    const int right = block / kRingBlocks * kRingBlocks + (block + 1) % kRingBlocks;
    const int next = at % kTile + 1 < kTile ? at + 1 : right * kBlock + at % kBlock + 1 - kTile;
    result[i] = run.u[i] + run.u[static_cast<std::size_t>(next)];
  }
  return result;
}

}  // namespace mica::test
