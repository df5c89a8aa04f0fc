// Misused marches, windows, copies and hints: each finding names what disagrees, the user's line and the
// fix.
#include <gtest/gtest.h>

#include "dsl/check_schedule.h"
#include "dsl/func.h"
#include "tests/passes/lowered.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;
using test::only_finding;

const Var x("x"), y("y"), z("z"), w("w"), zo("zo"), zi("zi");

/// u, v -> next, a star of radius 1 over u in three dimensions.
class MarchErrors : public ::testing::Test {
 protected:
  MarchErrors() {
    next(x, y, z) = 0.5F * u(x, y, z) + v(x, y, z) +
                    0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) +
                            u(x, y, z - 1) + u(x, y, z + 1));
  }
  Func& tiled() { return next.gpu_tile(x, y, 32, 4); }
  Func& marched() { return tiled().march(z, 8); }
  Diagnostics check(bool gpu = true) const { return check_of(next, gpu); }
  static Diagnostics check_of(const Func& f, bool gpu = true) {
    return check_schedule(make_pipeline({f.function()}), gpu);
  }
  ImageParam u{Float(32), 3, "u"}, v{Float(32), 3, "v"};
  Func next{"next"};
};

/// Runs `statement`, and EXPECTs one finding at its line.
#define EXPECT_FINDING(statement, ...) \
  statement;                           \
  EXPECT_TRUE(only_finding(check(), {__VA_ARGS__}, __LINE__))
#define EXPECT_FINDING_OF(func, statement, ...) \
  statement;                                    \
  EXPECT_TRUE(only_finding(check_of(func), {__VA_ARGS__}, __LINE__))

/// Lowers `func` for a GPU and EXPECTs a UserError at `at`.
#define EXPECT_REFUSED(func, at, ...) \
  EXPECT_TRUE(fails_with([&] { test::lowered(func, Backend::Cuda); }, {__VA_ARGS__}, at))

TEST_F(MarchErrors, LegalSchedulesHaveNoFindings) {
  marched().stage(u, MemoryType::Shared).register_window(u, z).pipeline(u, 1);
  EXPECT_TRUE(check().empty());
  EXPECT_TRUE(check(false).empty()) << "on the host the blocks are loops";
  next.clear_schedule();
  marched().scatter(z).stage(u, MemoryType::Shared).register_window(u, z).vectorize(x, 4).unroll(y, 2);
  next.order_blocks("z.block", "x.block").stream_loads(v).stream_stores().texture(v);
  EXPECT_TRUE(check().empty());
  next.clear_schedule();
  next.march(z).gpu_tile(x, y, 32, 4).shuffle(u, x).register_window(u, z);
  EXPECT_TRUE(check().empty());
  next.clear_schedule();
  marched().stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy).pipeline(u, 2).warp_split(1);
  EXPECT_TRUE(check().empty());
}

// ---- march -------------------------------------------------------------------------------------------

TEST_F(MarchErrors, MarchWithoutBlocks) {
  EXPECT_FINDING(next.march(z), "next.march(z)", "no block loops", "add gpu_tile over x, y");
  next.clear_schedule();
  EXPECT_FINDING(next.march(z, 8), "next.march(z, 8)", "no block loops", "gpu_tile");
}
TEST_F(MarchErrors, MarchOnAScheduleForTheHost) {
  const int line = __LINE__ + 1;
  next.vectorize(x, 8).parallel(y).march(z);
  EXPECT_TRUE(
      only_finding(check(false), {"next.march(z)", "no block loops", "gpu_tile over x, y"}, line));
}
TEST_F(MarchErrors, MarchOfTheOnlyDimension) {
  Func line_func("line");
  line_func(x) = x;
  EXPECT_FINDING_OF(line_func, line_func.march(x, 8), "no block loops", "which it does not have");
}
TEST_F(MarchErrors, MarchOfATiledVar) {
  const int tile_line = __LINE__ + 1;
  next.gpu_tile(y, z, 32, 4);
  EXPECT_FINDING(next.march(z, 8), "z is tiled by next.gpu_tile(y, z, 32, 4)",
                 "line " + std::to_string(tile_line), "leave it whole",
                 "dimensions left to march are x");
}
TEST_F(MarchErrors, MarchAlongTheVectors) {
  next.gpu_tile(y, z, 32, 4).vectorize(x, 4);
  EXPECT_FINDING(next.march(x), "x is vectorized by next.vectorize(x, 4)",
                 "vectorize another dimension");
}
TEST_F(MarchErrors, MarchOfAVectorizedLoop) {
  next.gpu_tile(y, z, 32, 4).bound(x, 0, 16).vectorize(x);
  EXPECT_FINDING(next.march(x), "loop x is Vectorized", "serial(x)");
}
TEST_F(MarchErrors, MarchOfAnUnrolledVar) {
  tiled().unroll(z, 2);
  EXPECT_FINDING(next.march(z, 8), "z is taken apart by next.unroll(z, 2)", "leave it whole");
}
TEST_F(MarchErrors, MarchOfASplitVar) {
  tiled().split(z, zo, zi, 8).gpu_blocks(zo);
  EXPECT_FINDING(next.march(z), "z is taken apart by next.split(z, zo, zi, 8)");
}
TEST_F(MarchErrors, MarchOfAPartOfAVar) {
  tiled().split(z, zo, zi, 8).gpu_blocks(zo);
  EXPECT_FINDING(next.march(zi), "zi is no dimension of next", "x, y, z", "march(v, chunk)");
}
TEST_F(MarchErrors, MarchOfABlockLoop) {
  tiled().gpu_blocks(z);
  EXPECT_FINDING(next.march(z), "loop z is GpuBlock", "serial(z)");
}
TEST_F(MarchErrors, MarchOfAThreadLoop) {
  next.gpu_blocks(y, z).bound(x, 0, 32).gpu_threads(x);
  EXPECT_FINDING(next.march(x), "loop x is GpuThread", "serial(x)");
}
TEST_F(MarchErrors, MarchOfAnUnknownVar) {
  tiled().gpu_blocks(z);
  EXPECT_FINDING(next.march(w, 8), "w is no dimension of next", "one of x, y, z");
}
TEST_F(MarchErrors, SecondMarch) {
  next.gpu_tile(x, 32);
  const int line = __LINE__ + 1;
  next.march(z, 8);
  EXPECT_FINDING(next.march(y, 4), "next.march(y, 4)", "marches along z already",
                 "line " + std::to_string(line), "remove one");
}
TEST_F(MarchErrors, MarchOfOneVarTwice) {
  marched();
  EXPECT_FINDING(next.march(z, 4), "next.march(z, 4)", "marches along z already");
}
TEST_F(MarchErrors, Chunk) {
  tiled();
  EXPECT_FINDING(next.march(z, -4), "the chunk is -4", "at least 1", "left out");
}
TEST_F(MarchErrors, MarchWithUpdates) {
  next(x, y, z) += v(x, y, z);
  next.update().gpu_tile(x, y, z, 32, 4, 1);
  tiled();
  EXPECT_FINDING(next.march(z, 8), "next has 1 update", "one definition");
}
TEST_F(MarchErrors, MarchOfAReductionVar) {
  RDom r({{0, 3}, {0, 4}});
  next(x, y, z) += v(x + r.x, y + r.y, z);
  next.update().gpu_tile(x, y, z, 32, 4, 1);
  tiled().gpu_blocks(z);
  EXPECT_FINDING(next.march(r.x), "r.x runs over a reduction domain", "a dimension of next: x, y, z");
}
TEST_F(MarchErrors, MarchOfAnInlinedFunc) {
  Func out("out");
  out(x, y, z) = next(x, y, z) * 2.0F;
  EXPECT_FINDING_OF(out, next.march(z, 8), "next.march(z, 8)", "next is computed inline");
}
TEST_F(MarchErrors, MarchInsideABlock) {
  Func out("out");
  out(x, y, z) = next(x, y, z) * 2.0F;
  out.gpu_tile(x, y, z, 8, 8, 2);
  next.compute_at(out, "x.block").gpu_threads(x, y);
  EXPECT_FINDING_OF(out, next.march(z), "next is computed inside out", "march out", "compute_root()");
}
TEST_F(MarchErrors, AMarchedVarIsNotTakenApartLater) {
  marched();
  EXPECT_FINDING(next.vectorize(z, 4), "next.vectorize(z, 4)", "z belongs to next.march(z, 8)",
                 "nor vectorized");
  next.clear_schedule();
  tiled().march(z);
  EXPECT_FINDING(next.unroll(z, 2), "z belongs to next.march(z)");
  next.clear_schedule();
  tiled().march(z);
  EXPECT_FINDING(next.split(z, zo, zi, 4), "z belongs to next.march(z)");
  next.clear_schedule();
  marched();
  EXPECT_FINDING(next.unroll("z.march"), "z.march belongs to next.march(z, 8)");
  next.clear_schedule();
  marched();
  EXPECT_FINDING(next.serial("z.march"), "z.march belongs to next.march(z, 8)");
}
TEST_F(MarchErrors, TilingOfAMarchedVar) {
  next.march(z, 8);
  EXPECT_EQ(check().size(), 1U);
  const int line = __LINE__ + 1;
  next.gpu_tile(x, y, z, 8, 4, 4);
  const Diagnostics findings = check();
  ASSERT_EQ(findings.size(), 2U) << "and there are no blocks";
  EXPECT_TRUE(only_finding({findings.front()}, {"z belongs to next.march(z, 8)"}, line));
}
TEST_F(MarchErrors, AMarchThatAReorderMovedInsideTheThreads) {
  const int line = __LINE__ + 1;
  next.gpu_tile(x, y, 32, 4).march(z, 8);
  next.reorder("z.march", "x.thread");
  EXPECT_TRUE(only_finding(
      check(),
      {"next.march(z, 8)", "GpuThread loop y.thread stands outside loop z.march", "reorder it inside"},
      line));
}
TEST_F(MarchErrors, TooManyBlockLoops) {
  Func f("f");
  f(x, y, z, w) = x + y + z + w;
  f.gpu_tile(x, y, 32, 4).gpu_blocks(w);
  f.march(z, 8);
  EXPECT_TRUE(only_finding(check_of(f), {"4 block loops, x.block, y.block, z.block, w", "3 axes"}));
}

// ---- register_window ---------------------------------------------------------------------------------

TEST_F(MarchErrors, WindowWithoutAMarch) {
  tiled().gpu_blocks(z);
  EXPECT_FINDING(next.register_window(u, z), "next.register_window(u, z)", "marches along nothing",
                 "march(z, chunk)");
}
TEST_F(MarchErrors, WindowAlongAnotherVar) {
  marched();
  EXPECT_FINDING(next.register_window(u, y), "y is not marched", "next marches along z");
}
TEST_F(MarchErrors, WindowOfSomethingThatIsNotRead) {
  ImageParam other(Float(32), 3, "other");
  marched();
  EXPECT_FINDING(next.register_window(other, z), "next does not read other", "it reads u, v");
}
TEST_F(MarchErrors, WindowWithoutATapInTheColumn) {
  Func f("f");
  f(x, y, z) = u(x + 1, y, z) + u(x - 1, y, z + 1);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.register_window(u, z), "no tap of u stands at the point's own column",
                    "u is read at (x + 1, y, z), (x - 1, y, z + 1)", "a window holds taps (x, y, z + c)",
                    "stage(u, MemoryType::Shared)");
}
TEST_F(MarchErrors, WindowOfAStagedSourceWithoutATapInTheColumn) {
  Func f("f");
  f(x, y, z) = u(x + 1, y, z) + u(x, y + 2, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8).stage(u, MemoryType::Shared);
  EXPECT_FINDING_OF(f, f.register_window(u, z), "u is read at (x + 1, y, z), (x, y + 2, z)");
}
TEST_F(MarchErrors, WindowTwice) {
  const int line = __LINE__ + 1;
  marched().register_window(u, z);
  EXPECT_FINDING(next.register_window(u, z), "u has a window already", "line " + std::to_string(line));
}
TEST_F(MarchErrors, WindowOfAnInlinedFunc) {
  Func out("out");
  out(x, y, z) = next(x, y, z) * 2.0F;
  EXPECT_FINDING_OF(out, next.register_window(u, z), "next is computed inline", "inlined into");
}
TEST_F(MarchErrors, StageThatTheWindowLeavesNothing) {
  marched().register_window(v, z);
  EXPECT_FINDING(next.stage(v, MemoryType::Shared), "every tap of v stands at the point's own column",
                 "register_window", "remove one");
}

// ---- copies that pass by the registers ---------------------------------------------------------------

TEST_F(MarchErrors, AsyncCopyOfAnInlineExpression) {
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
TEST_F(MarchErrors, AsyncCopyOfABoundaryCondition) {
  Func edge = BoundaryConditions::repeat_edge(u), f("f");
  f(x, y, z) = edge(x, y - 1, z) + edge(x, y + 1, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.stage(edge, MemoryType::Shared, LoadPolicy::AsyncCopy),
                    "copies memory as it is", "computed inside the block");
}
TEST_F(MarchErrors, AsyncCopyOfSmallElements) {
  ImageParam h(UInt(16), 3, "h");
  Func f("f");
  f(x, y, z) = h(x, y - 1, z) + h(x, y + 1, z);
  f.gpu_tile(x, y, 15, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.stage(h, MemoryType::Shared, LoadPolicy::AsyncCopy), "15 points of x",
                    "elements of h (2 bytes)", "4, 8 or 16 bytes", "the next legal are 16 points");
  f.vectorize(x, 2);
  EXPECT_TRUE(check_of(f).empty());
}
TEST_F(MarchErrors, BulkRowsOfAnOddLength) {
  marched();
  EXPECT_FINDING(next.stage(u, MemoryType::Shared, LoadPolicy::Bulk),
                 "34 elements of 4 bytes = 136 bytes (32 points of x, a halo of 1 before and 1 after)",
                 "starts 4 bytes before the tile", "multiples of 16 bytes", "32 points with halos of 4");
}
TEST_F(MarchErrors, BulkTilesOfAnOddWidth) {
  Func f("f");
  f(x, y, z) = u(x, y - 1, z) + u(x, y + 1, z);
  f.gpu_tile(x, y, 30, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.stage(u, MemoryType::Shared, LoadPolicy::Bulk), "30 elements of 4 bytes = 120",
                    "the nearest legal are 32 points");
}
TEST_F(MarchErrors, BulkRowsOfSixteenBytes) {
  Func f("f");
  f(x, y, z) = u(x - 4, y - 1, z) + u(x + 4, y + 1, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  EXPECT_TRUE(check_of(f).empty());
}
TEST_F(MarchErrors, BulkHaloOfAProducerInTheBlock) {
  Func lap("lap"), f("f");
  lap(x, y, z) = u(x - 2, y, z) + u(x + 2, y, z);
  f(x, y, z) = lap(x - 2, y, z) + lap(x + 2, y, z) + u(x, y, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
  EXPECT_TRUE(check_of(f).empty()) << "only f itself reads the box; lap is inlined and reads u";
}
TEST_F(MarchErrors, BulkInAnotherMemory) {
  marched();
  EXPECT_FINDING(next.stage(u, MemoryType::Register, LoadPolicy::AsyncCopy), "MemoryType::Register",
                 "Shared and Auto");
}

// ---- pipeline ----------------------------------------------------------------------------------------

TEST_F(MarchErrors, PipelineWithoutAMarch) {
  tiled().gpu_blocks(z).stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.pipeline(u, 1), "next.pipeline(u, 1)", "marches along nothing", "march(z, chunk)");
}
TEST_F(MarchErrors, PipelineOfWhatIsNotKept) {
  marched().stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.pipeline(v, 1), "neither stages v nor has a window of it", "staged or windowed: u",
                 "stage(v, MemoryType::Shared)");
}
TEST_F(MarchErrors, PipelineOfWhatIsNotRead) {
  ImageParam other(Float(32), 3, "other");
  marched();
  EXPECT_FINDING(next.pipeline(other, 1), "next does not read other", "u, v");
}
TEST_F(MarchErrors, PipelineDepth) {
  marched().stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.pipeline(u, 17), "the depth is 17", "0 (no step ahead) to 16");
  next.clear_schedule();
  marched().stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.pipeline(u, -1), "the depth is -1", "to 16");
}
TEST_F(MarchErrors, PipelineTwice) {
  const int line = __LINE__ + 1;
  marched().stage(u, MemoryType::Shared).pipeline(u, 2);
  EXPECT_FINDING(next.pipeline(u, 3), "u is asked for 2 steps ahead already",
                 "line " + std::to_string(line), "here 3");
}

// ---- scatter -----------------------------------------------------------------------------------------

TEST_F(MarchErrors, ScatterWithoutAMarch) {
  tiled().gpu_blocks(z);
  EXPECT_FINDING(next.scatter(z), "next.scatter(z)", "marches along nothing");
}
TEST_F(MarchErrors, ScatterAlongAnotherVar) {
  marched();
  EXPECT_FINDING(next.scatter(x), "x is not marched", "marches along z");
}
TEST_F(MarchErrors, ScatterTwice) {
  marched().scatter(z);
  EXPECT_FINDING(next.scatter(z, Partials::Centre), "Partials::Centre", "scattered already");
}
TEST_F(MarchErrors, ScatterOfATuple) {
  Func f("f");
  f(x, y, z) = Tuple(u(x, y, z - 1) + u(x, y, z + 1), u(x, y, z));
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.scatter(z), "cannot be added up plane by plane", "several values");
}
TEST_F(MarchErrors, ScatterOfAStrictSum) {
  Func f("f");
  f(x, y, z) = strict(u(x, y, z - 1) + u(x, y, z + 1));
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.scatter(z), "strict", "written order");
}
TEST_F(MarchErrors, ScatterOfOnePlane) {
  Func f("f");
  f(x, y, z) = u(x - 1, y, z) + u(x + 1, y, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.scatter(z), "one plane only", "register_window");
}
TEST_F(MarchErrors, ScatterOfATermOfSeveralPlanes) {
  Func f("f");
  f(x, y, z) = u(x, y, z - 1) * u(x, y, z + 1) + u(x, y, z) * u(x, y, z - 2) + v(x, y, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, f.scatter(z), "a term of it reads several planes");
}

// ---- shuffle -----------------------------------------------------------------------------------------

TEST_F(MarchErrors, ShuffleWithoutThreads) {
  EXPECT_FINDING(next.shuffle(u, x), "next.shuffle(u, x)", "no thread loops", "gpu_tile");
}
TEST_F(MarchErrors, ShuffleAlongTheSecondVar) {
  marched();
  EXPECT_FINDING(next.shuffle(u, y), "neighbours along x (thread loop x.thread), not along y");
}
TEST_F(MarchErrors, ShuffleOfHalfAWarp) {
  next.gpu_tile(x, y, 48, 4).march(z, 8);
  EXPECT_FINDING(next.shuffle(u, x), "48 threads (x.thread)", "a warp has 32", "the next 64");
}
TEST_F(MarchErrors, ShuffleWithoutTapsBeside) {
  marched();
  EXPECT_FINDING(next.shuffle(v, x), "no tap of v stands beside", "(x, y, z)");
}
TEST_F(MarchErrors, ShuffleOfFarTaps) {
  Func f("f");
  f(x, y, z) = u(x - 3, y, z) + u(x + 1, y, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8).vectorize(x, 2);
  EXPECT_FINDING_OF(f, f.shuffle(u, x), "the tap (x - 3, y, z) of u lies 3 points beside", "holds 2",
                    "vectorize(x, 4)");
}
TEST_F(MarchErrors, ShuffleOfWhatIsNotRead) {
  ImageParam other(Float(32), 3, "other");
  marched();
  EXPECT_FINDING(next.shuffle(other, x), "next does not read other");
}

// ---- order_blocks ------------------------------------------------------------------------------------

TEST_F(MarchErrors, OrderOfALoopThatIsNoBlockLoop) {
  marched();
  EXPECT_FINDING(next.order_blocks("z.block", "x.thread"), "x.thread is a GpuThread loop",
                 "x.block, y.block, z.block");
}
TEST_F(MarchErrors, OrderOfAnUnknownLoop) {
  marched();
  EXPECT_FINDING(next.order_blocks("z.block", "w.block"), "no loop w.block");
}
TEST_F(MarchErrors, OrderNamesALoopTwice) {
  marched();
  EXPECT_FINDING(next.order_blocks("z.block", "z.block"), "next.order_blocks(", "named twice");
}
TEST_F(MarchErrors, OrderWithoutBlocks) {
  EXPECT_FINDING(next.order_blocks("x.block"), "next has no block loops at this point", "gpu_tile");
}
TEST_F(MarchErrors, OrderOfNothing) {
  marched();
  next.order_blocks({});
  EXPECT_TRUE(only_finding(check(), {"names no loop", "x.block, y.block, z.block"}));
}

// ---- loads and stores --------------------------------------------------------------------------------

TEST_F(MarchErrors, StreamLoadsOfWhatIsNotRead) {
  ImageParam other(Float(32), 3, "other");
  Func out("out");
  out(x, y, z) = next(x, y, z) + other(x, y, z);
  next.compute_root();
  EXPECT_FINDING_OF(out, next.stream_loads(other), "next.stream_loads(other)", "does not read other",
                    "u, v");
}
TEST_F(MarchErrors, StreamLoadsOfSomethingThatIsNoInput) {
  next.apply({{{"next", 0, {{directive::StreamLoads{"u"}, {}}}}}});
  EXPECT_TRUE(check().empty());
  EXPECT_FINDING_OF(next, next.texture(ImageParam(Float(32), 3, "next")),
                    "next is no input; inputs are");
}
TEST_F(MarchErrors, TextureOfWideElements) {
  ImageParam d(Float(64), 3, "d");
  Func f("f");
  f(x, y, z) = d(x, y, z);
  EXPECT_FINDING_OF(f, f.texture(d), "f64 of 8 bytes", "elements of 4 bytes", "read_only(d)");
}
TEST_F(MarchErrors, TextureOfAStagedCopy) {
  const int line = __LINE__ + 1;
  marched().stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  EXPECT_FINDING(next.texture(u), "u is staged by LoadPolicy::AsyncCopy", "line " + std::to_string(line),
                 "TwoStep");
}
TEST_F(MarchErrors, StreamStoresOfAnInlinedFunc) {
  Func out("out");
  out(x, y, z) = next(x, y, z) * 2.0F;
  EXPECT_FINDING_OF(out, next.stream_stores(), "next is computed inline", "compute_root()");
}
TEST_F(MarchErrors, StreamStoresInsideABlock) {
  Func out("out");
  out(x, y, z) = next(x, y, z) * 2.0F;
  out.gpu_tile(x, y, z, 8, 8, 2);
  next.compute_at(out, "x.block");
  EXPECT_FINDING_OF(out, next.stream_stores(), "next is kept inside a block");
}

// ---- warp_split --------------------------------------------------------------------------------------

TEST_F(MarchErrors, WarpSplitCount) {
  marched().stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(0), "0 warps", "1 to 8");
  next.clear_schedule();
  marched().stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(9), "9 warps", "1 to 8");
}
TEST_F(MarchErrors, WarpSplitWithoutAStage) {
  marched().register_window(u, z);
  EXPECT_FINDING(next.warp_split(1), "stages nothing along its march over z", "stage(");
}
TEST_F(MarchErrors, WarpSplitWithoutAMarch) {
  tiled().gpu_blocks(z).stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(1), "marches along nothing");
}
TEST_F(MarchErrors, WarpSplitOfAFullBlock) {
  next.gpu_tile(x, y, 32, 30).march(z, 8).stage(u, MemoryType::Shared);
  EXPECT_FINDING(next.warp_split(4), "960 threads compute and 4 x 32 fill, together 1088", "1024");
}

// ---- updates -----------------------------------------------------------------------------------------

TEST_F(MarchErrors, DirectivesOfAWholeFuncOnAnUpdate) {
  namespace d = directive;
  Func f("f");
  f(x, y, z) = u(x, y, z);
  f(x, y, z) += u(x, y, z + 1);
  const std::vector<std::pair<decltype(Directive::op), std::string>> cases{
      {d::March{"z", 8}, ".march(z, 8)"},
      {d::RegisterWindow{"u", "z"}, ".register_window(u, z)"},
      {d::Prefetch{"u", 1}, ".pipeline(u, 1)"},
      {d::Scatter{"z", Partials::Centre}, ".scatter(z, Partials::Centre)"},
      {d::Exchange{"u", "x"}, ".shuffle(u, x)"},
      {d::OrderBlocks{{"x"}}, ".order_blocks(x)"},
      {d::StreamLoads{"u"}, ".stream_loads(u)"},
      {d::StreamStores{}, ".stream_stores()"},
      {d::Texture{"u"}, ".texture(u)"},
      {d::WarpSplit{1}, ".warp_split(1)"}};
  for (const auto& [op, text] : cases) {
    f.apply({{{"f", 1, {{op, {}}}}}});
    EXPECT_TRUE(
        only_finding(check_of(f), {"f.update(0)" + text, "belongs to f as a whole", "f" + text}));
  }
}

// ---- what shows when loops are made
// --------------------------------------------------------------------

TEST_F(MarchErrors, AFuncInRegistersReadBesideThePoint) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x, y, z - 1) + b(x + 1, y, z + 1);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  const int line = __LINE__ + 1;
  b.compute_at(f, "z.march").store_in(MemoryType::Register);
  EXPECT_REFUSED(f, line, "b is kept in registers along the march of f",
                 "f reads it at (x + 1, y, z + 1)", "MemoryType::Shared");
}
TEST_F(MarchErrors, AFuncKeptAlongAMarchReadAtEverySecondPlane) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x, y, 2 * z) + b(x, y, 2 * z + 1);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  const int line = __LINE__ + 1;
  b.compute_at(f, "z.march").gpu_threads(x, y);
  EXPECT_REFUSED(f, line, "b, kept along the march of f over z", "dimension 2 (z)", "z + constant",
                 "compute it at the root");
}
TEST_F(MarchErrors, AFuncKeptAlongAMarchReadInTwoDimensionsOfIt) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x, y, z) + b(x, z, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  const int line = __LINE__ + 1;
  b.compute_at(f, "z.march").gpu_threads(x, y);
  EXPECT_REFUSED(f, line, "b, kept along the march of f over z", "in one dimension");
}
TEST_F(MarchErrors, AFuncWithUpdatesKeptAlongAMarch) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  b(x, y, z) += v(x, y, z);
  f(x, y, z) = b(x, y, z - 1) + b(x, y, z + 1);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  const int line = __LINE__ + 1;
  b.compute_at(f, "z.march").gpu_threads(x, y);
  EXPECT_REFUSED(f, line, "b has updates", "plane by plane", "at the root");
}
TEST_F(MarchErrors, AFuncKeptAlongAMarchInTheStack) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x, y, z - 1) + b(x + 1, y, z + 1);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  const int line = __LINE__ + 1;
  b.compute_at(f, "z.march").store_in(MemoryType::Stack).gpu_threads(x, y);
  EXPECT_REFUSED(f, line, "store_in(MemoryType::Stack)", "MemoryType::Shared");
}
TEST_F(MarchErrors, AMarchLoopThatIsNotThere) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x, y, z - 1) + b(x, y, z + 1);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  EXPECT_FINDING_OF(f, b.compute_at(f, z), "f has no loop z", "z.march");
}
TEST_F(MarchErrors, ARingLargerThanSharedMemory) {
  Func f("f");
  f(x, y, z) = u(x - 1, y, z - 1) + u(x + 1, y, z + 1) + v(x, y - 1, z);
  f.gpu_tile(x, y, 32, 32).unroll(y, 8).march(z, 8);
  f.stage(u, MemoryType::Shared).stage(v, MemoryType::Shared).pipeline(u, 4);
  EXPECT_REFUSED(f, 0, "a block of f needs", "u.staged", "7 planes of 34 x 256 of f32", "v.staged",
                 "1 plane of 32 x 256 of f32", "232448", "fewer planes ahead");
}

}  // namespace
}  // namespace mica
