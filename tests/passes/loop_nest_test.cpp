// The loops that directives make, read as text.
#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"
#include "tests/passes/lowered.h"

namespace mica {
namespace {

using test::code;
using test::count;
using test::inside;
using test::loops;

struct Star {
  Var x{"x"}, y{"y"}, z{"z"};
  ImageParam u{Float(32), 3, "u"};
  Func next{"next"};
  Star() {
    next(x, y, z) = 0.5F * u(x, y, z) + 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                                u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
  }
};

struct Blur {
  Var x{"x"}, y{"y"};
  ImageParam in{UInt(16), 2, "in"};
  Func blur_x{"blur_x"}, blur_y{"blur_y"};
  Blur() {
    blur_x(x, y) = (in(x - 1, y) + in(x, y) + in(x + 1, y)) / 3;
    blur_y(x, y) = (blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1)) / 3;
  }
};

TEST(LoopNest, GpuTileMapsEveryDimensionToBlocksAndThreads) {
  Star s;
  s.next.gpu_tile(s.x, s.y, s.z, 32, 8, 1);
  EXPECT_EQ(loops(s.next, Backend::Cuda),
            "produce next:\n"
            "  gpu_block next.z.block in [0, next.extent.2)\n"
            "    gpu_block next.y.block in [0, (next.extent.1 + 7)/8)\n"
            "      gpu_block next.x.block in [0, (next.extent.0 + 31)/32)\n"
            "        gpu_thread next.z.thread in [0, 1)\n"
            "          gpu_thread next.y.thread in [0, 8)\n"
            "            gpu_thread next.x.thread in [0, 32)\n"
            "              if next.x.block*32 + next.x.thread < next.extent.0 && "
            "next.y.block*8 + next.y.thread < next.extent.1\n"
            "                next[..] = ...\n");
}

TEST(LoopNest, AGuardedVectorLoopHasAScalarTwinForTheLastPoints) {
  Star s;
  s.next.vectorize(s.x, 8);
  const std::string text = loops(s.next, Backend::Host);
  EXPECT_EQ(count(text, "vectorized next.x.vec in [0, 8)"), 1) << text;
  EXPECT_EQ(count(text, "for next.x.vec in [0, min(8, next.extent.0 - next.x*8))"), 1) << text;
}

TEST(LoopNest, AConstantExtentThatTheFactorDividesNeedsNoGuard) {
  Star s;
  s.next.bound(s.x, 0, 64);
  s.next.vectorize(s.x, 8);
  const std::string text = loops(s.next, Backend::Host);
  EXPECT_EQ(count(text, "if "), 0) << text;
  EXPECT_EQ(count(text, "for next.x in [0, 8)"), 1) << text;
}

TEST(LoopNest, ASerialLoopLeftOverBySplitRunsOnlyAsFarAsTheDomain) {
  Star s;
  Var xo("xo"), xi("xi");
  s.next.split(s.x, xo, xi, 32);
  const std::string text = loops(s.next, Backend::Host);
  EXPECT_EQ(count(text, "for next.xi in [0, min(32, next.extent.0 - next.xo*32))"), 1) << text;
}

TEST(LoopNest, ComputeAtOnTheHostComputesTheBoxOfOneTileClippedToTheImage) {
  Blur b;
  Var xo("xo"), yo("yo"), xi("xi"), yi("yi");
  b.blur_y.tile(b.x, b.y, xo, yo, xi, yi, 64, 16);
  b.blur_x.compute_at(b.blur_y, xo);
  const std::string text = loops(b.blur_y, Backend::Host);
  EXPECT_EQ(count(text, "u16 blur_x[18][64]: 2304 bytes"), 1) << text;
  EXPECT_EQ(
      count(text,
            "let blur_x.y.high = min(blur_y.min.1 + blur_y.yo*16 + 16, blur_y.min.1 + blur_y.extent.1)"),
      1)
      << text;
  EXPECT_EQ(count(text, "for blur_x.y in [0, min(blur_x.y.high - blur_x.y.low + 1, 18))"), 1) << text;
}

TEST(LoopNest, ComputeAtARowNeedsThreeRowsOfTheProducer) {
  Blur b;
  b.blur_x.compute_at(b.blur_y, b.y);
  const std::string text = loops(b.blur_y, Backend::Host);
  EXPECT_EQ(count(text, "blur_x[3][blur_y.extent.0]"), 1) << text;
}

TEST(LoopNest, AlignStoragePadsTheRowsOfASharedTile) {
  Blur b;
  b.blur_y.gpu_tile(b.x, b.y, 30, 8);
  b.blur_x.compute_at(b.blur_y, "x.block").align_storage(b.x, 33);
  const std::string text = inside(loops(b.blur_y, Backend::Cuda));
  EXPECT_EQ(count(text, "Shared u16 blur_x[10][33]: 660 bytes"), 1) << text;
}

TEST(LoopNest, AStagedInputHoldsTheTileWithItsHalo) {
  Star s;
  s.next.gpu_tile(s.x, s.y, s.z, 16, 8, 4);
  s.next.stage(s.u, MemoryType::Shared, LoadPolicy::HaloThreads);
  const std::string text = inside(loops(s.next, Backend::Cuda));
  EXPECT_EQ(count(text, "Shared f32 u.staged[6][10][18]: 4320 bytes"), 1) << text;
  EXPECT_EQ(count(text, "gpu_thread u.staged.tx in [0, 18)"), 1) << text;
}

TEST(LoopNest, TwoStepLoadsWithTheThreadsThatCompute) {
  Star s;
  s.next.gpu_tile(s.x, s.y, s.z, 16, 8, 4);
  s.next.stage(s.u, MemoryType::Shared, LoadPolicy::TwoStep);
  const std::string text = inside(loops(s.next, Backend::Cuda));
  // 1,080 points over 512 threads: three steps.
  EXPECT_EQ(count(text, "unrolled u.staged.step in [0, 3)"), 1) << text;
  EXPECT_EQ(count(text, "gpu_thread u.staged.tx in [0, 16)"), 1) << text;
}

TEST(LoopNest, StridedThreadsWalkTheBox) {
  Star s;
  s.next.gpu_tile(s.x, s.y, s.z, 16, 8, 4);
  s.next.stage(s.u, MemoryType::Shared, LoadPolicy::Strided);
  const std::string text = inside(loops(s.next, Backend::Cuda));
  EXPECT_EQ(count(text, "unrolled u.staged.x in [0, 2)"), 1) << text;
  EXPECT_EQ(count(text, "unrolled u.staged.y in [0, 2)"), 1) << text;
  EXPECT_EQ(count(text, "unrolled u.staged.z in [0, 2)"), 1) << text;
}

TEST(LoopNest, RootFuncsHaveNestsOfTheirOwnInOrder) {
  Blur b;
  b.blur_x.compute_root();
  Program program = test::lowered(b.blur_y, Backend::Host);
  ASSERT_EQ(program.nests.size(), 2U);
  EXPECT_EQ(program.nests[0].func, "blur_x");
  EXPECT_EQ(program.nests[1].func, "blur_y");
  ASSERT_EQ(program.plan.temporaries.size(), 1U);
  EXPECT_EQ(to_string(program.plan.temporaries[0].extents[1]), "blur_y.extent.1 + 2");
}

TEST(LoopNest, AnInlinedFuncLeavesNoTrace) {
  Blur b;
  EXPECT_EQ(count(code(b.blur_y, Backend::Host), "blur_x"), 0);
}

TEST(LoopNest, EveryDefinitionOfARootFuncIsALaunch) {
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  RDom r({{0, 4}});
  f(x, y) = 0.0F;
  f(x, y) += u(x + r.x, y);
  Program program = test::lowered(f, Backend::Cuda);
  ASSERT_EQ(program.plan.launches.size(), 2U);
  EXPECT_EQ(program.plan.launches[0].kernel, "f");
  EXPECT_EQ(program.plan.launches[1].kernel, "f.update1");
}

TEST(LoopNest, StoreInSharedOfAPerThreadFuncIsRefused) {
  Blur b;
  b.blur_y.gpu_tile(b.x, b.y, 32, 8);
  b.blur_x.compute_at(b.blur_y, "x.thread").store_in(MemoryType::Shared);
  EXPECT_THROW(loops(b.blur_y, Backend::Cuda), UserError);
}

TEST(LoopNest, StorageOutsideAParallelLoopIsRefused) {
  Blur b;
  b.blur_y.parallel(b.x);
  b.blur_x.store_at(b.blur_y, b.y).compute_at(b.blur_y, b.x);
  try {
    loops(b.blur_y, Backend::Host);
    FAIL() << "parallel iterations share the storage of blur_x";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("blur_x"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("loop x"), std::string::npos) << e.what();
  }
}

TEST(LoopNest, MoreThreadsThanABlockMayHaveIsRefusedWithTheNumbers) {
  Star s;
  s.next.gpu_tile(s.x, s.y, s.z, 16, 8, 8);
  s.next.stage(s.u, MemoryType::Shared, LoadPolicy::HaloThreads);
  try {
    code(s.next, Backend::Cuda);
    FAIL() << "a block of 18 x 10 x 10 threads was accepted";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("1800"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("1024"), std::string::npos) << e.what();
  }
}

TEST(LoopNest, TooMuchSharedMemoryIsRefusedWithTheNumbers) {
  Star s;
  s.next.gpu_tile(s.x, s.y, s.z, 32, 32, 1).unroll(s.y, 8).unroll(s.z, 16);
  s.next.stage(s.u, MemoryType::Shared);
  try {
    code(s.next, Backend::Cuda);
    FAIL() << "a box of 34 x 258 x 18 floats was accepted";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(34 * 258 * 18 * 4)), std::string::npos)
        << e.what();
    EXPECT_NE(std::string(e.what()).find("232448"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace mica
