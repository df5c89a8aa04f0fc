#include "tests/support/async_kernels.h"

#include <cstdlib>

#include "codegen/llvm/backend.h"
#include "runtime/emulator/emulator.h"
#include "tests/support/hand_kernels.h"

namespace mica::test {

namespace {

constexpr int kTile = kPipelineThreads;

Expr thread_x() { return make_var("thread.x"); }
Expr tile_index() { return make_var("t"); }
/// First element of tile t of this block.
Expr first_of(const Expr& t) { return (make_var("block.x") * kPipelineTiles + t) * kTile; }
Expr slot_of(const Expr& t) { return t % kPipelineSlots; }
ir::Stmt when(const Expr& condition, const ir::Stmt& then) {
  return ir::make_stmt(ir::If{condition, then, {}});
}
ir::Stmt barrier() { return ir::make_stmt(ir::Barrier{}); }
ir::Stmt unless(bool left_out, const ir::Stmt& s) { return left_out ? ir::Stmt() : s; }

Expr element(const std::string& buffer, const Expr& at) {
  return make_expr(Float(32), Load{buffer, {at}, {at}, 1});
}
ir::Stmt put(const std::string& buffer, const Expr& at, const Expr& value) {
  return ir::make_stmt(ir::Store{buffer, {at}, value, {at}, 1});
}
/// out[x] = tile[x] + tile[right neighbour] of tile t.
ir::Stmt use_tile() {
  const Expr base = slot_of(tile_index()) * kTile;
  const Expr right = (thread_x() + 1) % kTile;
  return put("out", first_of(tile_index()) + thread_x(),
             element("tile", base + thread_x()) + element("tile", base + right));
}

/// With the tile around.
ir::Kernel tile_kernel(const std::string& name, const ir::Stmt& body) {
  return pipeline_kernel(
      name, allocate(MemoryType::Shared, Float(32), "tile", {kPipelineSlots * kTile}, body));
}

}  // namespace

ir::Stmt async_copy(const std::string& to, const Expr& to_index, const std::string& from,
                    const Expr& from_index, int count) {
  return ir::make_stmt(
      ir::AsyncCopy{to, from, {to_index}, {from_index}, {to_index}, {from_index}, count});
}

ir::Stmt bulk_copy(const std::string& to, const Expr& to_index, const std::string& from,
                   const Expr& from_index, const Expr& count, const std::string& barriers,
                   const Expr& slot) {
  return ir::make_stmt(
      ir::BulkCopy{to, from, {to_index}, {from_index}, {to_index}, {from_index}, count, barriers, slot});
}

ir::Kernel async_pipeline(const PipelineFaults& faults) {
  const auto start = [&](const Expr& t) {
    return async_copy("tile", slot_of(t) * kTile + thread_x(), "u", first_of(t) + thread_x(), 1);
  };
  const ir::Stmt commit = unless(faults.no_commit, ir::make_stmt(ir::CopyCommit{}));
  const Expr next = tile_index() + 1;
  // The last tile has no copy after it, and an empty group in its place.
  const ir::Stmt step = ir::make_block(
      {when(next < kPipelineTiles, start(next)), commit,
       unless(faults.no_wait, ir::make_stmt(ir::CopyWait{1 + faults.pending})),
       unless(faults.no_barrier, barrier()), use_tile(), unless(faults.no_last_barrier, barrier())});
  return tile_kernel("pipeline", ir::make_block({start(0), commit,
                                                 loop(LoopKind::Serial, "t", 0, kPipelineTiles, step)}));
}

ir::Kernel bulk_pipeline(const PipelineFaults& faults) {
  const auto start = [&](const Expr& t) {
    return ir::make_block(
        {ir::make_stmt(ir::BulkExpect{"full", slot_of(t), Expr(kTile * 4 + faults.more_bytes)}),
         bulk_copy("tile", slot_of(t) * kTile, "u", first_of(t), Expr(kTile), "full", slot_of(t))});
  };
  const Expr first_thread = thread_x() == 0;
  const Expr next = tile_index() + 1;
  const Expr parity = (tile_index() / kPipelineSlots) % 2;
  const ir::Stmt step = ir::make_block(
      {when(first_thread && next < kPipelineTiles, start(next)),
       unless(faults.no_wait, ir::make_stmt(ir::BulkWait{"full", slot_of(tile_index()), parity})),
       use_tile(), unless(faults.no_last_barrier, barrier())});
  const ir::Stmt zero = put("tile", thread_x(), Expr(0.0F));
  const ir::Stmt body =
      ir::make_block({unless(!faults.own_writes, zero),
                      when(first_thread, ir::make_stmt(ir::BulkInit{"full", kPipelineSlots})),
                      unless(faults.no_barrier, barrier()), when(first_thread, start(0)),
                      loop(LoopKind::Serial, "t", 0, kPipelineTiles, step)});
  return tile_kernel("bulk", allocate(MemoryType::Shared, Int(64), "full", {kPipelineSlots}, body));
}

ir::Kernel pipeline_kernel(const std::string& name, const ir::Stmt& body) {
  ir::Kernel kernel;
  kernel.name = name;
  kernel.on_device = true;
  kernel.params = {pointer("u", Float(32)), pointer("out", Float(32), true),
                   scalar("u.min.0"),       scalar("u.extent.0"),
                   scalar("out.min.0"),     scalar("out.extent.0")};
  kernel.block[0] = kTile;
  kernel.body = body;
  return kernel;
}

ir::Kernel texture_kernel() {
  const Expr tile = make_var("block.x") * kPipelineTiles + make_var("t");
  const Expr next = (thread_x() + 1) % kTile;
  const ir::Stmt body = put("out", tile * kTile + thread_x(),
                            element("u", tile * kTile + thread_x()) + element("u", tile * kTile + next));
  ir::Kernel kernel = pipeline_kernel("texture", loop(LoopKind::Serial, "t", 0, kPipelineTiles, body));
  kernel.params[0].texture = true;
  kernel.params.push_back(scalar(ir::texture_origin("u"), Int(64)));
  return kernel;
}

PipelineRun::PipelineRun(int wanted)
    : blocks(wanted),
      u(static_cast<std::size_t>(blocks) * kPipelineTiles * kTile),
      out(u.size(), -1.0F) {
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = static_cast<float>(i % 1009) + 0.25F;
}

void PipelineRun::launch(LoadedKernel& kernel, const LaunchShape& shape, std::size_t parameters) {
  float* input = u.data();
  float* output = out.data();
  std::int32_t min = 0, extent = static_cast<std::int32_t>(u.size());
  std::int64_t origin = 0;  // means nothing here
  void* arguments[] = {&input, &output, &min, &extent, &min, &extent, &origin};
  kernel.launch(shape, arguments, parameters, {});
}

void PipelineRun::emulate(const ir::Kernel& kernel, std::uint64_t seed, int threads) {
  ir::Module module;
  module.name = "test";
  module.kernels = {kernel};
  module.kernels[0].block[0] = threads;
  const auto loaded = llvm_backend::load_emulated_kernels(module);
  LaunchShape shape;
  shape.grid[0] = static_cast<std::uint32_t>(blocks);
  shape.block[0] = static_cast<std::uint32_t>(threads);
  shape.shared_bytes = static_cast<std::uint32_t>(ir::shared_bytes(kernel));
  setenv("MICA_EMULATOR_SEED", std::to_string(seed).c_str(), 1);
  launch(*loaded.at(0).second, shape, kernel.params.size());
}

void PipelineRun::run_on_host(const ir::Kernel& kernel) {
  ir::Module module;
  module.name = "test";
  module.kernels = {kernel};
  module.kernels[0].on_device = false;
  launch(*llvm_backend::load_host_kernels(module).at(0).second, {}, kernel.params.size());
}

std::string PipelineRun::fault(const ir::Kernel& kernel, std::uint64_t seed, int threads) {
  try {
    emulate(kernel, seed, threads);
  } catch (const EmulatorError& e) {
    return e.what();
  }
  return "";
}

std::vector<float> PipelineRun::expected() const {
  std::vector<float> result(u.size());
  for (std::size_t i = 0; i < u.size(); ++i) {
    const std::size_t tile = i / kTile * kTile;
    result[i] = u[i] + u[tile + (i + 1 - tile) % kTile];
  }
  return result;
}

}  // namespace mica::test
