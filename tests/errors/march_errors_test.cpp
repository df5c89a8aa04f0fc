// Misused marches, windows and sums: each finding names what disagrees, the user's line and the fix.
#include "tests/errors/march_errors.h"

namespace mica {
namespace {

class MarchErrors : public test::MarchedFunc {};

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
TEST_F(MarchErrors, ChunksThatHalvingDoesNotReach) {
  tiled();
  EXPECT_FINDING(next.march(z, 24, 7), "next.march(z, 24, 7)", "chunks of 24 planes", "chunks of 7",
                 "legal are 12, 6, 3, and 0");
  next.clear_schedule();
  tiled();
  EXPECT_FINDING(next.march(z, 24, 24), "chunks of 24 planes", "legal are 12, 6, 3");
  next.clear_schedule();
  tiled();
  EXPECT_FINDING(next.march(z, 24, -3), "chunks of -3", "legal are 12, 6, 3");
  next.clear_schedule();
  tiled();
  EXPECT_FINDING(next.march(z, 9, 3), "chunks of 9 planes", "let chunk be a power of two");
  next.clear_schedule();
  tiled();
  EXPECT_FINDING(next.march(z, 0, 4), "all planes", "march(z, chunk, 4)");
}
TEST_F(MarchErrors, MarchOnAScheduleForTheHost) {
  const int line = __LINE__ + 1;
  next.vectorize(x, 8).parallel(y).march(z);
  EXPECT_TRUE(
      test::only_finding(check(false), {"next.march(z)", "no block loops", "gpu_tile over x, y"}, line));
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
  EXPECT_TRUE(test::only_finding({findings.front()}, {"z belongs to next.march(z, 8)"}, line));
}
TEST_F(MarchErrors, AMarchThatAReorderMovedInsideTheThreads) {
  const int line = __LINE__ + 1;
  next.gpu_tile(x, y, 32, 4).march(z, 8);
  next.reorder("z.march", "x.thread");
  EXPECT_TRUE(test::only_finding(
      check(),
      {"next.march(z, 8)", "GpuThread loop y.thread stands outside loop z.march", "reorder it inside"},
      line));
}
TEST_F(MarchErrors, TooManyBlockLoops) {
  Func f("f");
  f(x, y, z, w) = x + y + z + w;
  f.gpu_tile(x, y, 32, 4).gpu_blocks(w);
  f.march(z, 8);
  EXPECT_TRUE(
      test::only_finding(check_of(f), {"4 block loops, x.block, y.block, z.block, w", "3 axes"}));
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
  next.clear_schedule();
  marched();
  EXPECT_FINDING(next.scatter("w"), "w is no dimension of next; its dimensions are x, y, z");
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

// ---- updates -----------------------------------------------------------------------------------------

TEST_F(MarchErrors, DirectivesOfAWholeFuncOnAnUpdate) {
  namespace d = directive;
  Func f("f");
  f(x, y, z) = u(x, y, z);
  f(x, y, z) += u(x, y, z + 1);
  const std::vector<std::pair<decltype(Directive::op), std::string>> cases{
      {d::March{"z", 8}, ".march(z, 8)"},
      {d::RegisterWindow{"u", "z"}, ".register_window(u, z)"},
      {d::PipelineDepth{"u", 1}, ".pipeline(u, 1)"},
      {d::Scatter{"z", Partials::Centre}, ".scatter(z, Partials::Centre)"},
      {d::Shuffle{"u", "x"}, ".shuffle(u, x)"},
      {d::OrderBlocks{{"x"}}, ".order_blocks(x)"},
      {d::StreamLoads{"u"}, ".stream_loads(u)"},
      {d::StreamStores{}, ".stream_stores()"},
      {d::Texture{"u"}, ".texture(u)"},
      {d::WarpSplit{1}, ".warp_split(1)"}};
  for (const auto& [op, text] : cases) {
    f.apply({{{"f", 1, {{op, {}}}}}});
    EXPECT_TRUE(
        test::only_finding(check_of(f), {"f.update(0)" + text, "belongs to f as a whole", "f" + text}));
  }
}

// ---- what shows when loops are made ------------------------------------------------------------------

TEST_F(MarchErrors, AFuncInRegistersReadElsewhere) {
  for (const bool beside : {false, true}) {
    Func b("b"), f("f");
    b(x, y, z) = u(x, y, z) * 2.0F;
    f(x, y, z) = b(beside ? x - 1 : Expr(x), y, z - 1) + b(y, x, z + 1);
    f.gpu_tile(x, y, 32, 4).march(z, 8);
    const int line = __LINE__ + 1;
    b.compute_at(f, "z.march").store_in(MemoryType::Register);
    EXPECT_REFUSED(f, line, "b is kept in registers along the march of f", "f reads it at (y, x, z + 1)",
                   "MemoryType::Shared");
  }
}
TEST_F(MarchErrors, AFuncInRegistersReadBesideThePointsOfAShortRow) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x, y, z - 1) + b(x + 1, y, z + 1);
  f.gpu_tile(x, y, 16, 4).march(z, 8);
  const int line = __LINE__ + 1;
  b.compute_at(f, "z.march").store_in(MemoryType::Register);
  EXPECT_REFUSED(f, line, "read up to 1 points beside a thread's own along x",
                 "a row of the block has 16 threads, and must have 32", "MemoryType::Shared");
}
TEST_F(MarchErrors, AFuncInRegistersReadBesideThePointsOfABlockWithoutThreads) {
  const Var outer("outer"), inner("inner");
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x, y, z - 1) + b(x + 1, y, z + 1);
  f.split(x, outer, inner, 4).gpu_blocks(outer).gpu_blocks(y).march(z);
  const int line = __LINE__ + 1;
  b.compute_at(f, z).store_in(MemoryType::Register);
  EXPECT_REFUSED(f, line, "read up to 1 points beside a thread's own along x",
                 "no thread loop walks x: add gpu_tile over it", "MemoryType::Shared");
}
TEST_F(MarchErrors, AFuncInRegistersReadFartherThanTheNextThread) {
  for (const bool in_row : {true, false}) {
    Func b("b"), f("f");
    b(x, y, z) = u(x, y, z) * 2.0F;
    f(x, y, z) = in_row ? b(x - 3, y, z) : b(x, y - 3, z);
    f.gpu_tile(x, y, 32, 8).vectorize(x, 2).unroll(y, 2).march(z, 8);
    const int line = __LINE__ + 1;
    b.compute_at(f, "z.march").store_in(MemoryType::Register);
    EXPECT_REFUSED(
        f, line, std::string("read up to 3 points beside a thread's own along ") + (in_row ? "x" : "y"),
        "the next thread has 2",
        std::string("give each thread 3 by ") + (in_row ? "vectorize" : "unroll"));
  }
}
TEST_F(MarchErrors, ABlockWithoutPointsOfItsOwn) {
  Func b("b"), c("c"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  c(x, y, z) = b(x, y - 1, z) + b(x, y + 1, z);
  f(x, y, z) = c(x, y - 1, z) + c(x, y + 1, z);
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  const int line = __LINE__ + 1;
  c.compute_at(f, "z.march").store_in(MemoryType::Register);
  b.compute_at(f, "z.march").store_in(MemoryType::Register);
  EXPECT_REFUSED(f, line, "a block of f has 4 points along y", "need 2 before and 2 behind",
                 "the next legal are 5");
}
TEST_F(MarchErrors, AFuncInRegistersReadWhereNoThreadsStand) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z) * 2.0F;
  f(x, y, z) = b(x, y, z) + b(x, y + 1, z);
  f.reorder(y, x, z).gpu_tile(x, 32).march(z, 8);
  const int line = __LINE__ + 1;
  b.compute_at(f, "z.march").store_in(MemoryType::Register);
  EXPECT_REFUSED(f, line, "the blocks of f would have to overlap along y", "no block loop walks y",
                 "gpu_tile over y");
}
TEST_F(MarchErrors, AFuncInRegistersOfThreadsThatWalkMoreThanABlock) {
  for (const bool bounded : {false, true}) {  // to the points of one block
    Func b("b"), f("f");
    b(x, y, z) = u(x, y, z) * 2.0F;
    f(x, y, z) = b(x, y, z) + b(x, y + 1, z);
    if (bounded) f.bound(x, 0, 7);
    f.gpu_tile(x, y, 7, 3).march(z, 8).vectorize("x.thread", 16, TailStrategy::GuardWithIf);
    const int line = __LINE__ + 1;
    b.compute_at(f, "z.march").store_in(MemoryType::Register);
    EXPECT_REFUSED(f, line, "the threads of f walk more points along x than a block has",
                   "a factor that divides the block's points");
  }
}
TEST_F(MarchErrors, AScatterAlongAnotherDimensionThanTheMarchAround) {
  Func b("b"), f("f");
  b(x, y, z) = u(x, y, z - 1) + u(x, y, z + 1);
  f(x, y, z) = b(x, y, z) * 2.0F;
  f.gpu_tile(x, y, 32, 4).march(z, 8);
  b.compute_at(f, "z.march");
  EXPECT_FINDING_OF(f, b.scatter(y), "b is computed at the march of f, which walks z of it, not y",
                    "name z");
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
