// Loop nests with asynchronous and bulk copies go through the passes that a GPU needs, or stay loops for
// the host: both give the results, and barriers stand where they must.
#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "codegen/analysis/simplify.h"
#include "codegen/ir/print.h"
#include "codegen/passes/gpu/fuse_thread_loops.h"
#include "codegen/passes/gpu/map_gpu_axes.h"
#include "codegen/passes/loops/align_vector_loads.h"
#include "codegen/passes/loops/flatten_storage.h"
#include "codegen/passes/loops/split_host_device.h"
#include "codegen/passes/loops/unroll_loops.h"
#include "codegen/passes/loops/vectorize_loops.h"
#include "codegen/verify_program.h"
#include "dsl/func/func.h"
#include "tests/passes/lowered.h"
#include "tests/support/async_kernels.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

using ir::make_stmt;
using ir::Stmt;
using test::kPipelineSlots;
using test::kPipelineThreads;
using test::kPipelineTiles;
using test::PipelineRun;

constexpr int kTile = kPipelineThreads;

Expr x() { return make_var("x"); }
Expr t() { return make_var("t"); }
Expr first_of(const Expr& tile) { return (make_var("b") * kPipelineTiles + tile) * kTile; }
Expr slot_of(const Expr& tile) { return tile % kPipelineSlots; }
Stmt over_threads(const Stmt& s) { return test::loop(LoopKind::GpuThread, "x", 0, kTile, s); }
Stmt when(const Expr& condition, const Stmt& then) { return make_stmt(ir::If{condition, then, {}}); }

/// out(x) = tile(x) + tile(right neighbour), in two dimensions: element and slot.
Stmt use_tile() {
  const auto element = [](const Expr& at) {
    return make_expr(Float(32), Load{"tile", {at, slot_of(t())}, {}, 1});
  };
  const Expr sum = element(x()) + element((x() + 1) % kTile);
  return over_threads(make_stmt(ir::Store{"out", {first_of(t()) + x()}, sum, {}, 1}));
}
Stmt nest(const Stmt& body) {
  const ir::Allocate tile{
      "tile", Float(32), MemoryType::Shared, {Expr(0), Expr(0)}, {Expr(kTile), Expr(kPipelineSlots)},
      {},     body};
  return test::loop(LoopKind::GpuBlock, "b", 0, PipelineRun().blocks, make_stmt(tile));
}

/// The pipelines of tests/support/async_kernels.h as loops; each thread copies `each` elements.
Stmt async_loops(int each) {
  const auto start = [&](const Expr& tile) {
    const Expr at = x() * each;
    return over_threads(
        when(x() < kTile / each,
             make_stmt(
                 ir::AsyncCopy{"tile", "u", {at, slot_of(tile)}, {first_of(tile) + at}, {}, {}, each})));
  };
  const Stmt commit = make_stmt(ir::CopyCommit{});
  const Stmt step = ir::make_block(
      {when(t() + 1 < kPipelineTiles, start(t() + 1)), commit, make_stmt(ir::CopyWait{1}), use_tile()});
  return nest(
      ir::make_block({start(0), commit, test::loop(LoopKind::Serial, "t", 0, kPipelineTiles, step)}));
}
Stmt bulk_loops() {
  const auto start = [](const Expr& tile) {
    return ir::make_block({make_stmt(ir::BulkExpect{"full", slot_of(tile), Expr(kTile * 4)}),
                           make_stmt(ir::BulkCopy{"tile",
                                                  "u",
                                                  {Expr(0), slot_of(tile)},
                                                  {first_of(tile)},
                                                  {},
                                                  {},
                                                  Expr(kTile),
                                                  "full",
                                                  slot_of(tile)})});
  };
  const Stmt wait =
      make_stmt(ir::BulkWait{"full", slot_of(t()), (t() / kPipelineSlots) % kPipelineSlots});
  const Stmt step = ir::make_block({when(t() + 1 < kPipelineTiles, start(t() + 1)), wait, use_tile()});
  const ir::Allocate full{"full",
                          Int(64),
                          MemoryType::Shared,
                          {Expr(0)},
                          {Expr(kPipelineSlots)},
                          {},
                          ir::make_block({make_stmt(ir::BulkInit{"full", kPipelineSlots}), start(0),
                                          test::loop(LoopKind::Serial, "t", 0, kPipelineTiles, step)})};
  return nest(make_stmt(full));
}

/// A program of one nest that computes out from u, after all passes from flatten_storage on.
Program compiled(const Stmt& body, Backend backend, const std::set<std::string>& textures = {}) {
  const ImageParam u(Float(32), 1, "u");
  Var x("x");
  Func out("out");
  out(x) = u(x);
  Program program;
  program.pipeline = make_pipeline({out.function()});
  program.options = test::options_for(backend);
  program.schedule["out"] = {};
  program.plan.buffers = {{"u", Float(32), 1, false, nullptr}, {"out", Float(32), 1, true, nullptr}};
  Nest nest;
  nest.func = "out";
  nest.on_device = backend != Backend::Host;
  nest.body = body;
  nest.kernel.name = "out";
  nest.textures = textures;
  program.nests = {nest};
  const auto after = [&](const char* pass) { verify_after(program, pass); };
  Stmt& code = program.nests[0].body;
  code = passes::unroll_loops(passes::simplify(code));
  after("unroll_loops");
  passes::flatten_storage(program);
  code = passes::vectorize_loops(code);
  after("vectorize_loops");
  passes::align_vector_loads(program);
  passes::fuse_thread_loops(program);
  after("fuse_thread_loops");
  passes::map_gpu_axes(program);
  code = passes::simplify(code);
  after("expand_math");
  passes::split_host_device(program);
  after("split_host_device");
  return program;
}
/// The kernel with the parameters that PipelineRun gives.
ir::Kernel kernel_of(const Program& program) {
  const ir::Kernel& made = program.nests.at(0).kernel;
  ir::Kernel kernel = test::pipeline_kernel(made.name, made.body);
  kernel.on_device = made.on_device;
  std::copy(std::begin(made.block), std::end(made.block), std::begin(kernel.block));
  return kernel;
}

TEST(AsyncPasses, NestsOfCopiesGiveTheirResultsOnTheEmulatorAndTheHost) {
  for (const Stmt& body : {async_loops(1), async_loops(2), async_loops(4), bulk_loops()}) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      PipelineRun run;
      EXPECT_EQ(run.fault(kernel_of(compiled(body, Backend::GpuEmulator)), seed), "");
      EXPECT_EQ(run.out, run.expected());
    }
    PipelineRun run;
    run.run_on_host(kernel_of(compiled(body, Backend::Host)));
    EXPECT_EQ(run.out, run.expected());
  }
}

TEST(AsyncPasses, BarriersStandAroundTheUseOfWhatIsCopied) {
  const std::string code = ir::to_string(compiled(async_loops(1), Backend::GpuEmulator).nests[0].body);
  EXPECT_EQ(test::count(code, "barrier"), 2) << code;
  EXPECT_NE(code.find("copy_wait pending 1\n"), std::string::npos) << code;
  const auto wait = code.find("copy_wait"), last = code.rfind("barrier"), use = code.find("out[");
  EXPECT_TRUE(wait < last && last < use) << code;
}

TEST(AsyncPasses, OneThreadSetsUpExpectsAndCopiesAndAllWait) {
  const std::string code = ir::to_string(compiled(bulk_loops(), Backend::GpuEmulator).nests[0].body);
  // After the set-up and before the next copy; the uses wait at the transaction barriers.
  EXPECT_EQ(test::count(code, "barrier"), 2) << code;
  EXPECT_EQ(test::count(code, "if thread.x == 0:"), 4) << code;
  EXPECT_NE(code.find("\n  bulk_wait"), std::string::npos) << code;
  EXPECT_LT(code.find("bulk_init"), code.find("barrier")) << code;
  EXPECT_LT(code.find("barrier"), code.find("bulk_copy")) << code;
}

TEST(AsyncPasses, CopiedArraysAreParametersAndTheRestIsLocal) {
  const Program program = compiled(bulk_loops(), Backend::GpuEmulator);
  std::vector<std::string> pointers;
  for (const ir::KernelParam& p : program.nests[0].kernel.params) {
    if (p.is_pointer) pointers.push_back(p.name + (p.is_written ? " written" : ""));
  }
  EXPECT_EQ(pointers, (std::vector<std::string>{"u", "out written"}));
}

TEST(AsyncPasses, UnrolledAndVectorizedLoopsRepeatTheCopies) {
  for (const LoopKind kind : {LoopKind::Unrolled, LoopKind::Vectorized}) {
    const Expr at = x() + make_var("i") * kTile;
    const Stmt copy = make_stmt(ir::AsyncCopy{"tile", "u", {x(), make_var("i")}, {at}, {}, {}, 1});
    const Stmt body = over_threads(test::loop(kind, "i", 0, 2, copy));
    const std::string code = ir::to_string(compiled(nest(body), Backend::GpuEmulator).nests[0].body);
    EXPECT_NE(code.find("async_copy tile[thread.x] = u[thread.x] x1"), std::string::npos) << code;
    EXPECT_NE(code.find("async_copy tile[thread.x + 64] = u[thread.x + 64] x1"), std::string::npos)
        << code;
  }
}

TEST(AsyncPasses, TexturesAreParametersWithAnOriginAndPlainLoadsElsewhere) {
  const Expr tile = make_var("b") * kPipelineTiles + t();
  const auto element = [&](const Expr& at) {
    return make_expr(Float(32), Load{"u", {tile * kTile + at}, {}, 1});
  };
  const Expr sum = element(x()) + element((x() + 1) % kTile);
  const Stmt use = over_threads(make_stmt(ir::Store{"out", {tile * kTile + x()}, sum, {}, 1}));
  const Stmt body = test::loop(LoopKind::GpuBlock, "b", 0, PipelineRun().blocks,
                               test::loop(LoopKind::Serial, "t", 0, kPipelineTiles, use));
  const Program program = compiled(body, Backend::GpuEmulator, {"u"});
  const std::vector<KernelArgument>& arguments = program.plan.launches.at(0).arguments;
  const auto texture = std::find_if(arguments.begin(), arguments.end(), [](const KernelArgument& a) {
    return a.kind == KernelArgument::Kind::Texture;
  });
  ASSERT_NE(texture, arguments.end());
  EXPECT_EQ(texture->buffer, "u");
  EXPECT_EQ(texture[1].kind, KernelArgument::Kind::TextureOrigin);
  EXPECT_EQ(texture[1].name, "u.texture.origin");
  EXPECT_EQ(arguments.size(), program.nests[0].kernel.params.size());

  ir::Kernel kernel = kernel_of(program);
  kernel.params[0].texture = true;
  kernel.params.push_back(test::scalar(ir::texture_origin("u"), Int(64)));
  PipelineRun run;
  EXPECT_EQ(run.fault(kernel, 1), "");
  EXPECT_EQ(run.out, run.expected());
  EXPECT_THROW(compiled(body, Backend::GpuEmulator, {"out"}), UserError);
}

}  // namespace
}  // namespace mica
