// Misused copies, shuffles, orders and hints: each finding names what disagrees, the user's line and
// the fix.
#include "tests/errors/march_errors.h"

namespace mica {
namespace {

class CopyErrors : public test::MarchedFunc {};

// ---- copies that pass by the registers ---------------------------------------------------------------

TEST_F(CopyErrors, AsyncCopyOfAnInlineExpression) {
  Func lap("lap"), f("f");
  lap(x, y, z) = u(x - 1, y, z) + u(x + 1, y, z);
  f(x, y, z) = lap(x, y - 1, z) + lap(x, y + 1, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.stage(lap, MemoryType::Shared, LoadPolicy::AsyncCopy),
                    "f.stage(lap, MemoryType::Shared, LoadPolicy::AsyncCopy)", "copies memory as it is",
                    "lap is computed inside the block", "compute_root()", "TwoStep");
  lap.compute_root();
  EXPECT_TRUE(check_of(f).empty());
}
TEST_F(CopyErrors, AsyncCopyOfABoundaryCondition) {
  Func edge = BoundaryConditions::repeat_edge(u), f("f");
  f(x, y, z) = edge(x, y - 1, z) + edge(x, y + 1, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.stage(edge, MemoryType::Shared, LoadPolicy::AsyncCopy),
                    "copies memory as it is", "computed inside the block");
}
TEST_F(CopyErrors, AsyncCopyOfSmallElements) {
  ImageParam h(UInt(16), 3, "h");
  Func f("f");
  f(x, y, z) = h(x, y - 1, z) + h(x, y + 1, z);
  f.gpu_tile(x, y, 15, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.stage(h, MemoryType::Shared, LoadPolicy::AsyncCopy), "15 points of x",
                    "elements of h (2 bytes)", "4, 8 or 16 bytes", "the next legal are 16 points");
  f.vectorize(x, 2);
  EXPECT_TRUE(check_of(f).empty());
}
TEST_F(CopyErrors, BulkRowsOfAnOddLength) {
  marched();
  EXPECT_FINDING(next.stage(u, MemoryType::Shared, LoadPolicy::Bulk),
                 "34 elements of 4 bytes = 136 bytes (32 points of x, a halo of 1 before and 1 after)",
                 "starts 4 bytes before the tile", "multiples of 16 bytes", "32 points with halos of 4");
}
TEST_F(CopyErrors, BulkTilesOfAnOddWidth) {
  Func f("f");
  f(x, y, z) = u(x, y - 1, z) + u(x, y + 1, z);
  f.gpu_tile(x, y, 30, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.stage(u, MemoryType::Shared, LoadPolicy::Bulk), "30 elements of 4 bytes = 120",
                    "the nearest legal are 32 points");
}
TEST_F(CopyErrors, BulkRowsOfSixteenBytes) {
  Func f("f");
  f(x, y, z) = u(x - 4, y - 1, z) + u(x + 4, y + 1, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  EXPECT_TRUE(check_of(f).empty());
}
TEST_F(CopyErrors, BulkHaloOfAProducerInTheBlock) {
  Func lap("lap"), f("f");
  lap(x, y, z) = u(x - 2, y, z) + u(x + 2, y, z);
  f(x, y, z) = lap(x - 2, y, z) + lap(x + 2, y, z) + u(x, y, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  EXPECT_TRUE(check_of(f).empty()) << "only f itself reads the box; lap is inlined and reads u";
}
TEST_F(CopyErrors, BulkInAnotherMemory) {
  marched();
  EXPECT_FINDING(next.stage(u, MemoryType::Register, LoadPolicy::AsyncCopy), "MemoryType::Register",
                 "Shared and Auto");
}

// ---- shuffle -----------------------------------------------------------------------------------------

TEST_F(CopyErrors, ShuffleWithoutThreads) {
  EXPECT_FINDING(next.shuffle(u, x), "next.shuffle(u, x)", "no thread loops", "gpu_tile");
}
TEST_F(CopyErrors, ShuffleAlongTheSecondVar) {
  marched();
  EXPECT_FINDING(next.shuffle(u, y), "neighbours along x (thread loop x.thread), not along y");
}
TEST_F(CopyErrors, ShuffleOfHalfAWarp) {
  next.gpu_tile(x, y, 48, 4).march(z, 8);
  EXPECT_FINDING(next.shuffle(u, x), "48 threads (x.thread)", "a warp has 32", "the next 64");
}
TEST_F(CopyErrors, ShuffleWithoutTapsBeside) {
  marched();
  EXPECT_FINDING(next.shuffle(v, x), "no tap of v stands beside", "(x, y, z)");
}
TEST_F(CopyErrors, ShuffleOfFarTaps) {
  Func f("f");
  f(x, y, z) = u(x - 3, y, z) + u(x + 1, y, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8).vectorize(x, 2);
  EXPECT_FINDING_OF(f, f.shuffle(u, x), "the tap (x - 3, y, z) of u lies 3 points beside", "holds 2",
                    "vectorize(x, 4)");
}
TEST_F(CopyErrors, ShuffleOfWhatIsNotRead) {
  ImageParam other(Float(32), 3, "other");
  marched();
  EXPECT_FINDING(next.shuffle(other, x), "next does not read other");
}

// ---- order_blocks ------------------------------------------------------------------------------------

TEST_F(CopyErrors, OrderOfALoopThatIsNoBlockLoop) {
  marched();
  EXPECT_FINDING(next.order_blocks("z.block", "x.thread"), "x.thread is a GpuThread loop",
                 "x.block, y.block, z.block");
}
TEST_F(CopyErrors, OrderOfAnUnknownLoop) {
  marched();
  EXPECT_FINDING(next.order_blocks("z.block", "w.block"), "no loop w.block");
}
TEST_F(CopyErrors, OrderNamesALoopTwice) {
  marched();
  EXPECT_FINDING(next.order_blocks("z.block", "z.block"), "next.order_blocks(", "named twice");
}
TEST_F(CopyErrors, OrderWithoutBlocks) {
  EXPECT_FINDING(next.order_blocks("x.block"), "next has no block loops at this point", "gpu_tile");
}
TEST_F(CopyErrors, OrderOfNothing) {
  marched();
  next.order_blocks({});
  EXPECT_TRUE(test::only_finding(check(), {"names no loop", "x.block, y.block, z.block"}));
}

// ---- loads and stores --------------------------------------------------------------------------------

TEST_F(CopyErrors, StreamLoadsOfWhatIsNotRead) {
  ImageParam other(Float(32), 3, "other");
  Func out("out");
  out(x, y, z) = next(x, y, z) + other(x, y, z);
  next.compute_root();
  EXPECT_FINDING_OF(out, next.stream_loads(other), "next.stream_loads(other)", "does not read other",
                    "u, v");
}
TEST_F(CopyErrors, StreamLoadsOfSomethingThatIsNoInput) {
  next.apply({{{"next", 0, {{directive::StreamLoads{"u"}, {}}}}}});
  EXPECT_TRUE(check().empty());
  EXPECT_FINDING_OF(next, next.texture(ImageParam(Float(32), 3, "next")),
                    "next is no input; inputs are");
}
TEST_F(CopyErrors, TextureOfWideElements) {
  ImageParam d(Float(64), 3, "d");
  Func f("f");
  f(x, y, z) = d(x, y, z);
  EXPECT_FINDING_OF(f, f.texture(d), "f64 of 8 bytes", "elements of 4 bytes", "read_only(d)");
}
TEST_F(CopyErrors, TextureOfAStagedCopy) {
  const int line = __LINE__ + 1;
  marched().stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  EXPECT_FINDING(next.texture(u), "u is staged by LoadPolicy::AsyncCopy", "line " + std::to_string(line),
                 "TwoStep");
}
// By a Func inside its blocks: the kernel has one parameter for the array. Another kernel has its own.
TEST_F(CopyErrors, TextureOfACopyStagedInsideTheBlocks) {
  Func inner("inner"), outer("outer");
  inner(x, y, z) = u(x - 1, y, z) + u(x + 1, y, z);
  outer(x, y, z) = inner(x, y - 1, z) + inner(x, y, z);
  outer.gpu_tile(x, y, 8, 4).march(z, 8);
  inner.compute_at(outer, "z.march").stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  EXPECT_FINDING_OF(outer, outer.texture(u), "u is staged by LoadPolicy::AsyncCopy", "TwoStep");
  outer.clear_schedule();
  inner.compute_root().gpu_tile(x, y, z, 8, 4, 1).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  Func last("last");
  last(x, y, z) = outer(x, y, z) + u(x, y, z);
  last.gpu_tile(x, y, z, 8, 4, 1).texture(u);
  EXPECT_TRUE(check_of(last).empty()) << check_of(last).front().message;
}
TEST_F(CopyErrors, StreamStoresOfAnInlinedFunc) {
  Func out("out");
  out(x, y, z) = next(x, y, z) * 2.0F;
  EXPECT_FINDING_OF(out, next.stream_stores(), "next is computed inline", "compute_root()");
}
TEST_F(CopyErrors, StreamStoresInsideABlock) {
  Func out("out");
  out(x, y, z) = next(x, y, z) * 2.0F;
  out.gpu_tile(x, y, z, 8, 8, 2);
  next.compute_at(out, "x.block");
  EXPECT_FINDING_OF(out, next.stream_stores(), "next is kept inside a block");
}

// ---- warp_split --------------------------------------------------------------------------------------

TEST_F(CopyErrors, WarpSplitCount) {
  marched().stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(0), "0 warps", "1 to 8");
  next.clear_schedule();
  marched().stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(9), "9 warps", "1 to 8");
}
TEST_F(CopyErrors, WarpSplitWithoutAStage) {
  marched().register_window(u, z);
  EXPECT_FINDING(next.warp_split(1), "stages nothing along its march over z", "stage(");
}
TEST_F(CopyErrors, WarpSplitWithoutAMarch) {
  tiled().gpu_blocks(z).stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(1), "marches along nothing");
}
TEST_F(CopyErrors, WarpSplitOfAFullBlock) {
  next.gpu_tile(x, y, 32, 30).march(z, 8).stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(4), "960 threads compute and 4 x 32 fill, together 1088", "1024");
}
TEST_F(CopyErrors, WarpSplitOfPlanesDealtToTheTile) {
  for (const LoadPolicy policy : {LoadPolicy::HaloThreads, LoadPolicy::Strided}) {
    next.clear_schedule();
    marched().stage(u, MemoryType::Shared, policy);
    EXPECT_FINDING(next.warp_split(1), "LoadPolicy::" + to_string(policy),
                   "TwoStep, AsyncCopy and Bulk");
  }
}
TEST_F(CopyErrors, WarpSplitOfATileOfNoWholeWarps) {
  next.gpu_tile(x, y, 12, 6).march(z, 8).stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(1), "72 threads compute", "multiples of 32");
}
TEST_F(CopyErrors, WarpSplitOfNoWholeRows) {
  next.gpu_tile(x, y, 64, 4).march(z, 8).stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(1), "1 x 32 threads", "which have 64", "multiples of 2 warps");
}

}  // namespace
}  // namespace mica
