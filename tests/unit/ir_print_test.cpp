#include <gtest/gtest.h>

#include "codegen/ir/print.h"
#include "tests/support/hand_kernels.h"

namespace mica {
namespace {

TEST(IrPrint, LoopsSayTheirKindAndRange) {
  const ir::Stmt store = test::store("f", make_var("x"), 1);
  EXPECT_EQ(to_string(test::loop(LoopKind::Serial, "x", 0, 8, store)), "for x in [0, 8):\n  f[x] = 1\n");
  EXPECT_EQ(to_string(test::loop(LoopKind::Parallel, "x", 2, 8, store)),
            "parallel x in [2, 10):\n  f[x] = 1\n");
  EXPECT_EQ(to_string(test::loop(LoopKind::GpuThread, "x", make_var("a"), 8, store)),
            "gpu_thread x in [a, a + 8):\n  f[x] = 1\n");
  EXPECT_STREQ(ir::keyword(LoopKind::GpuBlock), "gpu_block");
  EXPECT_STREQ(ir::keyword(LoopKind::Vectorized), "vectorized");
  EXPECT_STREQ(ir::keyword(LoopKind::Unrolled), "unrolled");
}

TEST(IrPrint, AllocationsReadLikeCWithTheSlowestDimensionFirst) {
  ir::Allocate a{"u.s",    Float(32), MemoryType::Shared,         {0, 0},
                 {34, 10}, {},        test::store("u.s", 0, 1.0F)};
  EXPECT_EQ(to_string(ir::make_stmt(a)), "allocate shared f32 u.s[10][34]\nu.s[0] = 1.0\n");
  a.mins = {-1, 0};
  a.strides = {1, 36};
  EXPECT_EQ(to_string(ir::make_stmt(a)),
            "allocate shared f32 u.s[10][34] at [0][-1] strides [36][1]\nu.s[0] = 1.0\n");
}

TEST(IrPrint, AScopeThatEndsEarlyIsIndented) {
  const ir::Stmt let = ir::make_stmt(ir::LetStmt{"c", 2, test::store("f", 0, make_var("c"))});
  EXPECT_EQ(to_string(let), "let c = 2\nf[0] = c\n");
  EXPECT_EQ(to_string(ir::make_block({let, test::store("f", 1, 3)})),
            "let c = 2:\n  f[0] = c\nf[1] = 3\n");
  EXPECT_EQ(to_string(ir::make_block({test::store("f", 1, 3), let})), "f[1] = 3\nlet c = 2\nf[0] = c\n");
}

TEST(IrPrint, BranchesBarriersAndMarkers) {
  const ir::Stmt barrier = ir::make_stmt(ir::Barrier{});
  const ir::Stmt branch =
      ir::make_stmt(ir::If{make_var("x") < 4, test::store("f", 0, 1), test::store("f", 0, 2)});
  EXPECT_EQ(to_string(ir::make_stmt(ir::Produce{"f", ir::make_block({branch, barrier})})),
            "produce f:\n  if x < 4:\n    f[0] = 1\n  else:\n    f[0] = 2\n  barrier\n");
}

TEST(IrPrint, AKernelShowsItsParametersAndBlock) {
  ir::Kernel kernel = test::shared_reverse(64);
  kernel.min_blocks = 3;
  EXPECT_EQ(to_string(kernel),
            "kernel reverse(f32* u read_only, f32* out written) block 64x1x1 min_blocks 3:\n"
            "  allocate shared f32 tile[64] strides [1]\n"
            "  tile[thread.x] = u[block.x*64 + thread.x]\n"
            "  barrier\n"
            "  out[block.x*64 + thread.x] = tile[63 - thread.x]\n");
}

}  // namespace
}  // namespace mica
