// Pipelines of asynchronous and bulk copies, named barriers, clusters, warp shuffles, streamed accesses
// and textures on the GPU of this machine.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/llvm/backend.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/gpu_module.h"
#include "tests/support/async_kernels.h"
#include "tests/support/group_kernels.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

const Target kGpu{Backend::Cuda, 0};

class GpuAsync : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_device_count(&why) == 0) GTEST_SKIP() << "no GPU: " << why;
    device_ = open_cuda_device(0);
    facts_ = gpu_facts(kGpu);
  }
  /// Runs a kernel of the pipelines' parameters over `run`.
  void execute(const ir::Kernel& kernel, test::PipelineRun& run, int threads = test::kPipelineThreads) {
    ir::Module module;
    module.name = "test";
    module.kernels = {kernel};
    module.kernels[0].block[0] = threads;
    const int shared = static_cast<int>(ir::shared_bytes(kernel));
    const std::string ptx = llvm_backend::emit_ptx(module, facts_.sm, facts_.ptx_version);
    const auto loaded =
        load_cuda_kernels(kGpu, ptx, {llvm_backend::ptx_name(kernel.name)}, {shared}, {}, false);
    const std::size_t bytes = run.u.size() * sizeof(float);
    std::uint64_t u = device_->allocate(bytes, {}), out = device_->allocate(bytes, {});
    device_->copy_to_device(u, run.u.data(), bytes, {});
    device_->copy_to_device(out, run.out.data(), bytes, {});
    std::int32_t min = 0, extent = static_cast<std::int32_t>(run.u.size());
    TextureView texture;
    if (kernel.params[0].texture) texture = device_->texture(u, bytes, Float(32), "u");
    void* input = kernel.params[0].texture ? static_cast<void*>(&texture.object) : &u;
    void* arguments[] = {input, &out, &min, &extent, &min, &extent, &texture.origin};
    LaunchShape shape;
    shape.grid[0] = static_cast<std::uint32_t>(run.blocks);
    shape.block[0] = static_cast<std::uint32_t>(threads);
    shape.shared_bytes = static_cast<std::uint32_t>(shared);
    loaded.front().second->launch(shape, arguments, kernel.params.size(), {});
    device_->copy_to_host(run.out.data(), out, bytes, {});
    device_->synchronize({});
    device_->release(u, bytes, {});
    device_->release(out, bytes, {});
  }

  std::shared_ptr<Device> device_;
  GpuFacts facts_;
};

TEST_F(GpuAsync, AsynchronousCopiesArrive) {
  test::PipelineRun run;
  execute(test::async_pipeline({}), run);
  EXPECT_EQ(run.out, run.expected());
}

TEST_F(GpuAsync, BulkCopiesArrive) {
  if (facts_.sm < 90) GTEST_SKIP() << "sm_" << facts_.sm << " has no bulk copies";
  test::PipelineRun run;
  execute(test::bulk_pipeline({}), run);
  EXPECT_EQ(run.out, run.expected());
}

TEST_F(GpuAsync, WarpsArriveAtNamedBarriers) {
  test::PipelineRun run(200);
  execute(test::warp_pipeline(), run, test::kWarpPipelineThreads);
  EXPECT_EQ(run.out, run.expected());
}

TEST_F(GpuAsync, WarpsWaitAtNamedBarriers) {
  test::PipelineRun run(200);
  execute(test::warp_pipeline(/*users_wait=*/true), run, test::kWarpPipelineThreads);
  EXPECT_EQ(run.out, run.expected());
}

TEST_F(GpuAsync, BlocksOfAClusterStoreToEachOther) {
  if (facts_.sm < 90) GTEST_SKIP() << "sm_" << facts_.sm << " has no clusters";
  test::PipelineRun run(200 * test::kRingBlocks);
  execute(test::cluster_ring(), run);
  EXPECT_EQ(run.out, test::ring_expected(run));
}

TEST_F(GpuAsync, ShufflesGiveWhatTheEmulatorGives) {
  const Expr x = make_var("thread.x");
  for (const Type type : {Float(32), Float(64), Float(16), Int(8), Int(64)}) {
    for (const int delta : {1, -1, 7, -31}) {
      const Expr moved = make_expr(type, WarpShuffle{make_expr(type, Cast{x}), delta});
      const ir::Kernel kernel = test::pipeline_kernel(
          "swap", ir::make_stmt(ir::If{
                      make_var("block.x") == 0,
                      ir::make_stmt(ir::Store{"out", {x}, make_expr(Float(32), Cast{moved}), {x}, 1}),
                      {}}));
      test::PipelineRun emulated, run;
      emulated.emulate(kernel, 1);
      execute(kernel, run);
      EXPECT_EQ(run.out, emulated.out) << to_string(type) << " " << delta;
    }
  }
}

TEST_F(GpuAsync, StreamedAccessesMoveTheSameBits) {
  for (const int lanes : {1, 2, 4}) {
    const Expr first = (make_var("block.x") * test::kPipelineThreads + make_var("thread.x")) * lanes;
    const Expr at = lanes == 1 ? first : make_expr(Int(32).with_lanes(lanes), Ramp{first, Expr(1)});
    const Expr value = make_expr(Float(32).with_lanes(lanes), Load{"u", {at}, {at}, lanes, true});
    const ir::Kernel kernel =
        test::pipeline_kernel("stream", ir::make_stmt(ir::Store{"out", {at}, value, {at}, lanes, true}));
    test::PipelineRun run;
    execute(kernel, run);
    const auto moved = static_cast<std::size_t>(run.blocks * test::kPipelineThreads * lanes);
    for (std::size_t i = 0; i < moved; ++i) ASSERT_EQ(run.out[i], run.u[i]) << lanes << " " << i;
  }
}

TEST_F(GpuAsync, TexturesGiveTheElements) {
  test::PipelineRun run;
  execute(test::texture_kernel(), run);
  EXPECT_EQ(run.out, run.expected());
}

}  // namespace
}  // namespace mica
