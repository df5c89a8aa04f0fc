// What compilation refuses beyond single directives: schedules whose parts do not go together, indices
// that nothing bounds, code that a GPU cannot have. Each names what disagrees, the line and the fix.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "tests/passes/lowered.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

const Var x("x"), y("y"), z("z"), xo("xo"), xi("xi"), yi("yi");

/// u -> b -> next in two dimensions.
class LoweringErrors : public ::testing::Test {
 protected:
  LoweringErrors() {
    b(x, y) = u(x - 1, y) + u(x + 1, y);
    next(x, y) = b(x, y - 1) + b(x, y + 1);
  }
  static void lower_for(const Func& f, Backend backend) { (void)test::lowered(f, backend); }
  ImageParam u{Float(32), 2, "u"};
  Func b{"b"}, next{"next"};
};

/// Runs `statement` and EXPECTs that `func` is refused at its line, on a GPU and on the host.
#define EXPECT_REFUSED_ON_GPU(func, statement, ...) \
  statement;                                        \
  EXPECT_TRUE(fails_with([&] { lower_for(func, Backend::Cuda); }, {__VA_ARGS__}, __LINE__))
#define EXPECT_REFUSED_ON_HOST(func, statement, ...) \
  statement;                                         \
  EXPECT_TRUE(fails_with([&] { lower_for(func, Backend::Host); }, {__VA_ARGS__}, __LINE__))

// ---- loops
// ---------------------------------------------------------------------------------------------

TEST_F(LoweringErrors, ASerialLoopBetweenThreadLoops) {
  Func f("f");
  f(x, y, z) = x + y + z;
  f.bound(x, 0, 32).split(z, "zo", "zi", 2).gpu_blocks("zo");
  EXPECT_REFUSED_ON_GPU(f, f.gpu_threads(x, "zi"), "loop y stands between thread loops zi and x",
                        "reorder it inside all thread loops");
}
TEST_F(LoweringErrors, AReductionLoopOutsideTheBlocks) {
  RDom r({{0, 3}});
  next(x, y) += u(x + r, y);
  next.update().reorder(x, y, r);
  EXPECT_REFUSED_ON_GPU(next, next.update().gpu_tile(x, y, 8, 8), "reduction loop r.x stands outside",
                        "reorder it inside the thread loops");
}
TEST_F(LoweringErrors, MoreThreadsAlongOneVarThanABlockHas) {
  EXPECT_REFUSED_ON_GPU(next, next.gpu_tile(x, 2048), "2048 threads along x", "at most 1024");
}
TEST_F(LoweringErrors, OneVarTwiceInATile) {
  EXPECT_REFUSED_ON_GPU(next, next.gpu_tile(x, x, 8, 8), "loop x is named twice");
}
TEST_F(LoweringErrors, AVectorTakenApart) {
  next.split(x, xo, xi, 8).vectorize(xi);
  EXPECT_REFUSED_ON_HOST(next, next.vectorize(xi, 4), "loop xi is already Vectorized");
}
TEST_F(LoweringErrors, StagedBoxesThatNeedMoreThreadsThanABlockHas) {
  next(x, y) += u(x, y - 1) + u(x, y + 1) + u(x - 1, y) + u(x + 1, y);
  next.gpu_tile(x, y, 32, 32);
  next.update().gpu_tile(x, y, 32, 32);
  EXPECT_REFUSED_ON_GPU(next, next.stage(u, MemoryType::Shared, LoadPolicy::HaloThreads),
                        "a block of next has 34 x 34 x 1 = 1156 threads", "allows 1024",
                        "smaller tiles, or another LoadPolicy than HaloThreads");
}
TEST_F(LoweringErrors, StagedBoxesThatNeedMoreThreadsAlongZ) {
  ImageParam v(Float(32), 3, "v");
  Func f("f");
  f(x, y, z) = v(x, y, z - 1) + v(x, y, z + 1);
  f.gpu_tile(x, y, z, 4, 2, 63);
  EXPECT_REFUSED_ON_GPU(f, f.stage(v, MemoryType::Shared, LoadPolicy::HaloThreads),
                        "a block of f has 65 threads in z", "allows 64", "longest axis first");
}

// ---- places
// ----------------------------------------------------------------------------------------------

TEST_F(LoweringErrors, ComputeAtAnOuterThreadLoop) {
  next.gpu_tile(x, y, 8, 8);
  EXPECT_REFUSED_ON_GPU(next, b.compute_at(next, "y.thread"),
                        "loop y.thread of next is inside some of its thread loops only",
                        "innermost thread loop, x.thread");
}
TEST_F(LoweringErrors, StorageAtAFuncThatIsNotThere) {
  Func other("other");
  other(x, y) = u(x, y);
  b.compute_at(next, y);
  EXPECT_REFUSED_ON_HOST(next, b.store_at(other, y), "there is no Func other", "Funcs are", "next");
}
TEST_F(LoweringErrors, StorageAtALoopThatTheReadingUpdateDoesNotHave) {
  const RDom r({{0, 3}}, "r");
  Func total("total");
  total(x, y) = 0.0F;
  total(x, y) += b(r, y);
  total.split(y, "yo", yi, 2);
  b.compute_at(total, x);
  EXPECT_REFUSED_ON_HOST(total, b.store_at(total, yi), "total.update(0) has no loop yi",
                         "its loops are r.x, x, y (innermost first)");
}
TEST_F(LoweringErrors, StorageInsideTheComputationOfAnUpdate) {
  const RDom r({{0, 3}}, "r");
  Func total("total");
  total(x, y) = 0.0F;
  total(x, y) += b(r, y);
  total.update(0).reorder(r, y, x);
  total.reorder(x, y);
  b.compute_at(total, y);
  b.store_at(total, x);
  EXPECT_NO_THROW(lower_for(total, Backend::Host));
  total.update(0).reorder(r, x, y);
  EXPECT_TRUE(fails_with([&] { lower_for(total, Backend::Host); },
                         {"loop x of total is not around loop y of total", "where b is computed"}));
}
TEST_F(LoweringErrors, AStageReadByAnUpdateWhoseLoopsOthersName) {
  Func c("c");
  c(x, y) = u(x, y) * 2.0F;
  Func total("total");
  total(x, y) = 0.0F;
  total(x, y) = b(x, y);
  total(x, y) += c(x, y);
  total.gpu_tile(x, y, 8, 8);
  total.update(1).gpu_blocks(x, y);
  c.compute_at(total, x);
  EXPECT_REFUSED_ON_GPU(total, total.stage(b, MemoryType::Shared),
                        "total.update(0) reads b and has no block loops",
                        "whose definitions all have blocks");
}
TEST_F(LoweringErrors, MemoryOfAnInlineFunc) {
  EXPECT_REFUSED_ON_HOST(next, b.store_in(MemoryType::Heap), "b is computed inline and has no storage",
                         "compute_root()");
}
TEST_F(LoweringErrors, AStageByTwoDirectives) {
  next.gpu_tile(x, y, 8, 8).stage(b, MemoryType::Shared);
  EXPECT_REFUSED_ON_GPU(next, next.stage(b, MemoryType::Shared, LoadPolicy::Strided),
                        "b is staged already (line " + std::to_string(__LINE__ - 2) + ")",
                        "remove one of the two");
}
TEST_F(LoweringErrors, AStageReadByAnUpdateWithoutVars) {
  RDom r({{0, 3}});
  next(r, 0) += b(r, 0);
  next.gpu_tile(x, y, 8, 8);
  EXPECT_REFUSED_ON_GPU(next, next.stage(b, MemoryType::Shared), "reads b and has no block loops",
                        "whose definitions all have blocks");
}
TEST_F(LoweringErrors, AStageByAFuncInsideAnothersThreads) {
  next.gpu_tile(x, y, 8, 8);
  b.compute_at(next, "x.thread");
  EXPECT_REFUSED_ON_GPU(next, b.stage(u, MemoryType::Shared),
                        "b is computed inside a thread, and shared memory belongs to the whole block",
                        "stage u in the Func that has the blocks");
}
TEST_F(LoweringErrors, StorageOutsideALoopWhoseIterationsRunAtOnce) {
  next.split(y, "yo", yi, 8).parallel(yi);
  b.compute_at(next, yi);
  EXPECT_REFUSED_ON_HOST(next, b.store_at(next, "yo"), "store_at(next, yo) of b",
                         "the Parallel loop yi stands between", "store inside it, or make it serial");
}
TEST_F(LoweringErrors, StorageOutsideAllLoopsOfWhichOneIsParallel) {
  next.parallel(y);
  b.compute_at(next, x);
  EXPECT_REFUSED_ON_HOST(next, b.store_root(), "store_root() of b", "the Parallel loop y stands between",
                         "store inside it, or make it serial");
}
TEST_F(LoweringErrors, StorageOutsideAllLoopsOfTwoFuncs) {
  Func last("last");
  last(x, y) = next(x, y) + next(x + 1, y);
  last.parallel(y);
  next.compute_at(last, y);
  b.compute_at(next, y);
  EXPECT_REFUSED_ON_HOST(last, b.store_root(), "store_root() of b",
                         "the Parallel loop y stands between");
}
TEST_F(LoweringErrors, ABoxInABlockWhoseSizeIsNotConstant) {
  next.split(x, xo, xi, 32).reorder(xi, xo, y).gpu_blocks(y).gpu_threads(xi);
  EXPECT_REFUSED_ON_GPU(
      next, b.compute_at(next, y), "inside a block, b needs indices",
      "of dimension 0 (x), whose number is not constant",
      "split x by a constant in its consumer, or, where that clamps or repeats what it reads, "
      "compute_root b");
}
TEST_F(LoweringErrors, StageOfWhatAFuncInsideReads) {
  b.compute_at(next, "x.block");
  EXPECT_REFUSED_ON_GPU(next, next.gpu_tile(x, y, 32, 8).stage(u, MemoryType::Shared),
                        "u is read by b, which is computed inside next: write b.stage(u, ...)");
}
TEST_F(LoweringErrors, FixedMemoryForABoxWhoseSizeIsNotConstant) {
  b.compute_at(next, y);
  EXPECT_REFUSED_ON_HOST(next, b.store_in(MemoryType::Stack), "store_in(MemoryType::Stack)",
                         "a number of points here that is not constant", "MemoryType::Heap");
}

TEST_F(LoweringErrors, AnArrayLargerThanAThreadsMemory) {
  const int line = __LINE__ + 1;
  Func f("f"), g("g");
  g(x) = x;
  f(x) = g(x) + g(x + (1 << 17));
  f.gpu_tile(x, 32);
  g.compute_at(f, "x.thread");
  const auto lower_it = [&] { lower_for(f, Backend::Cuda); };
  EXPECT_TRUE(fails_with(lower_it,
                         {"a thread of f keeps 524292 bytes for itself", "has at most 524288",
                          "g 524292 bytes (131073 of i32)", "compute fewer points a thread"},
                         line));
}
TEST_F(LoweringErrors, ABlocksArrayOfMoreBytesThan32BitsHold) {
  next.split(y, "yo", yi, 1 << 14).split(x, xo, xi, 1 << 20).split(xi, "xs", "xt", 32);
  next.reorder("xt", "xs", yi, xo, "yo").gpu_blocks(xo, "yo").gpu_threads("xt");
  b.compute_at(next, xo).store_in(MemoryType::Shared);
  EXPECT_TRUE(fails_with([&] { lower_for(next, Backend::Cuda); },
                         {"a block of next needs 68727865344 bytes of shared memory", "smaller tiles"}));
}

// ---- indices
// -----------------------------------------------------------------------------------------------

TEST_F(LoweringErrors, AnIndexThatDependsOnDataWithoutBounds) {
  ImageParam at(Int(32), 2, "at");
  Func f("f");
  EXPECT_REFUSED_ON_HOST(f, f(x, y) = u(at(x, y), y), "the index at(x, y) in dimension 0 of u",
                         "read by f(x, y)", "nothing bounds it", "clamp(index, low, high)");
}
TEST_F(LoweringErrors, AnUpdateOfAnOutputAtAnIndexWithoutBounds) {
  ImageParam at(Int(32), 1, "at");
  RDom r({{0, 8}});
  Func f("f");
  f(x) = 0;
  EXPECT_REFUSED_ON_HOST(f, f(at(r)) = 1, "update 1 of f writes at index at(r.x)",
                         "which nothing bounds", "clamp it");
}
TEST_F(LoweringErrors, AnUpdateOfAnotherFuncAtAnIndexWithoutBounds) {
  ImageParam at(Int(32), 1, "at");
  RDom r({{0, 8}});
  Func f("f"), g("g");
  f(x) = 0;
  f(at(r)) += 1;
  const int line = __LINE__ - 1;
  g(x) = f(x) + f(x + 1);
  f.compute_root();
  EXPECT_TRUE(fails_with([&] { lower_for(g, Backend::Host); },
                         {"update 1 of f writes at", "which nothing bounds", "clamp it"}, line));
}

// ---- names
// -----------------------------------------------------------------------------------------------

TEST_F(LoweringErrors, ADirectiveOnOneOfTwoInputsOfOneName) {
  ImageParam other(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y) + other(x, y);
  f.gpu_tile(x, y, 8, 8);
  EXPECT_REFUSED_ON_GPU(f, f.read_only(other), "two inputs are named u", "give them different names");
}
TEST_F(LoweringErrors, AStageOfOneOfTwoSourcesOfOneName) {
  Func source("u"), f("f");
  source(x, y) = x + y;
  f(x, y) = u(x, y) + source(x, y);
  source.compute_root();
  f.gpu_tile(x, y, 8, 8);
  EXPECT_REFUSED_ON_GPU(f, f.stage(u, MemoryType::Shared), "f reads two sources named u",
                        "give them different names");
}
TEST_F(LoweringErrors, AVarNamedAsADimensionOfTheDomain) {
  const Var named("r.x");
  RDom r({{0, 3}});
  Func f("f");
  f(named) = 0.0F;
  EXPECT_FAILS(f(named) += u(named + r, 0), "r.x names both a Var and a dimension of an RDom",
               "give the RDom another name");
}
TEST_F(LoweringErrors, AnExteriorWithoutAValue) {
  EXPECT_TRUE(fails_with([&] { BoundaryConditions::constant_exterior(u, Expr()); },
                         {"constant_exterior of u", "an undefined Expr"}));
}

// ---- marches
// -----------------------------------------------------------------------------------------------

class MarchedPairs : public LoweringErrors {
 protected:
  MarchedPairs() {
    f(x, y, z) = v(x - 1, y, z) + v(x + 1, y, z) + v(x, y, z - 1) + v(x, y, z + 1);
    f.gpu_tile(x, y, 32, 4).march(z, 8);
  }
  ImageParam v{Float(32), 3, "v"};
  Func f{"f"};
};
TEST_F(MarchedPairs, TwoSplitsOfTheWarps) {
  f.stage(v, MemoryType::Shared).warp_split(1);
  const std::string line = std::to_string(__LINE__ - 1);
  EXPECT_REFUSED_ON_GPU(f, f.warp_split(2), "the warps are split already (line " + line + ")",
                        "remove one of the two");
}
TEST_F(MarchedPairs, ACopyEngineFartherAheadThanBarriersReach) {
  Func g("g");
  g(x, y, z) = v(x - 4, y, z) + v(x + 4, y, z) + v(x, y, z - 1) + v(x, y, z + 1);
  g.gpu_tile(x, y, 32, 2).march(z, 8).stage(v, MemoryType::Shared, LoadPolicy::Bulk).pipeline(v, 12);
  EXPECT_REFUSED_ON_GPU(g, g.warp_split(1), "may be 12 steps ahead in the march of g",
                        "15 named barriers", "at most 11: pipeline(..., 11)");
}
TEST_F(MarchedPairs, ThreadsOfAStageBesideTheTileOfSplitWarps) {
  Func inner("inner"), g("g");
  inner(x, y, z) = v(x, y, z) + 1.0F;
  g(x, y, z) = inner(x - 1, y, z) + inner(x + 1, y, z) + v(x, y - 1, z);
  g.gpu_tile(x, y, 32, 2).march(z, 8).stage(v, MemoryType::Shared).warp_split(1);
  EXPECT_REFUSED_ON_GPU(g, inner.compute_at(g, "z.march").gpu_threads(x, y),
                        "of which g has 32 in x, and inner is computed by 34", "leave out warp_split");
}
TEST_F(MarchedPairs, TwoShufflesOfOneInput) {
  f.shuffle(v, x);
  EXPECT_REFUSED_ON_GPU(f, f.shuffle(v, x), "v is exchanged already", "remove one of the two");
}

// ---- calls of the compiler
// -----------------------------------------------------------------------------

TEST_F(LoweringErrors, PtxOfAFuncWithoutKernels) {
  next.parallel(y);
  EXPECT_TRUE(fails_with([&] { (void)compile_to_ptx(next); },
                         {"no Func behind next is scheduled on the GPU", "gpu_tile or gpu_blocks"}));
}
TEST_F(LoweringErrors, PtxForAGpuOrOfAVersionThatIsTooOld) {
  next.gpu_tile(x, y, 8, 8);
  EXPECT_TRUE(fails_with([&] { (void)compile_to_ptx(next, 75); },
                         {"compute capability 7.5 (sm_75) is too old", "8.0 (sm_80) or newer"}));
  EXPECT_TRUE(fails_with([&] { (void)compile_to_ptx(next, 90, 70); },
                         {"PTX version 70 (ten times) does not serve sm_90", "use 78 or newer, or 0"}));
  EXPECT_TRUE(fails_with([&] { (void)compile_to_ptx(next, -5); }, {"too old"}));
}
TEST_F(LoweringErrors, PtxOfAVersionThatIsNotThere) {
  next.gpu_tile(x, y, 8, 8);
  for (const int version : {1000000, 99999, 89}) {
    EXPECT_TRUE(
        fails_with([&] { (void)compile_to_ptx(next, 90, version); },
                   {"PTX version " + std::to_string(version) + " (ten times) is none that LLVM writes",
                    "or 0 for the lowest that serves"}));
  }
  EXPECT_NE(compile_to_ptx(next, 1000000).find(".target sm_"), std::string::npos) << "a later GPU";
}
TEST_F(LoweringErrors, BulkCopiesForAGpuThatHasNone) {
  ImageParam v(Float(32), 3, "v");
  Func f("f");
  f(x, y, z) = v(x - 4, y, z) + v(x + 4, y, z) + v(x, y, z + 1);
  f.gpu_tile(x, y, 32, 4).march(z, 8).stage(v, MemoryType::Shared, LoadPolicy::Bulk);
  EXPECT_TRUE(fails_with([&] { (void)compile_to_ptx(f, 80); },
                         {"kernel f copies in bulk, which needs compute capability 9.0 (sm_90)",
                          "the code is for 8.0 (sm_80)", "stage by LoadPolicy::AsyncCopy there"}));
}
TEST_F(LoweringErrors, SizesOfAnotherNumber) {
  EXPECT_TRUE(fails_with(
      [&] {
        (void)next.realize({4, 4, 4}, Target::host());
      },
      {"next has 2 dimensions", "was given 3 sizes", "give one for each dimension"}));
}
TEST_F(LoweringErrors, APassThatIsNotThere) {
  EXPECT_TRUE(
      fails_with([&] { (void)code_after_pass(next, Target::host(), "fuse_all"); },
                 {"there is no pass fuse_all", "the passes are ", "infer_bounds", "unroll_loops"}));
}
TEST_F(LoweringErrors, ABakedSymbolThatIsNotThere) {
  CompileOptions options;
  options.bake = {{"u.extent.7", 8}};
  EXPECT_TRUE(fails_with([&] { (void)compile(next, Target::host(), options); },
                         {"bake: there is no symbol u.extent.7", "<array>.extent.<d>"}));
}
TEST_F(LoweringErrors, BakedValuesThatNoArrayHas) {
  constexpr std::int64_t kTwoTo32 = std::int64_t{1} << 32;
  const auto refused = [&](const std::string& symbol, std::int64_t value, const std::string& legal) {
    for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
      CompileOptions options;
      options.bake = {{symbol, value}};
      EXPECT_TRUE(fails_with([&] { (void)compile(next, target, options); },
                             {"bake: " + symbol + " is " + std::to_string(value) + "; ", legal}));
    }
  };
  for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{1} << 30, kTwoTo32 / 2, kTwoTo32 + 8,
                                   std::int64_t{1} << 40, INT64_MIN, INT64_MAX}) {
    refused("next.extent.0", value, "an extent must be from 0 to 1073741823");
    refused("u.extent.1", value, "an extent must be from 0 to 1073741823");
  }
  for (const std::int64_t value : {(std::int64_t{1} << 28) + 1, kTwoTo32, INT64_MIN, INT64_MAX}) {
    refused("next.min.1", value, "a min must be from -268435456 to 268435456");
  }
  for (const std::int64_t value : {kTwoTo32 / 2, -kTwoTo32 / 2 - 1, kTwoTo32 + 8, INT64_MIN}) {
    refused("u.stride.1", value, "a stride must be from -2147483648 to 2147483647");
  }
}
TEST_F(LoweringErrors, ATapBeyondAnInputSaysWhatToDoAboutAnInput) {
  ImageParam v(Float(32), 1, "v");
  Func f("f");
  f(x) = v(x + 1);
  v.set(Buffer<float>(8));
  Buffer<float> out(8);
  EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); },
                         {"f(x) reads v(x + 1) as far as index 8", "input v ends at 7",
                          "on its high side it is short by 1", "give v a wider halo"}));
}
// Funcs have the box that their readers need; only an input can be too small for it.
TEST_F(LoweringErrors, AHaloIsAskedOfAnInputHoweverItIsRead) {
  using Schedule = std::function<void(ImageParam&, Func&, Func&)>;
  const auto refused = [](const Schedule& schedule, const std::vector<std::string>& parts,
                          const std::string& absent = "g a wider halo") {
    ImageParam v(Float(32), 1, "v");
    Func g("g"), f("f");
    g(x) = v(x - 1) + v(x + 1);
    f(x) = g(x - 1) + g(x + 1);
    schedule(v, g, f);
    v.set(Buffer<float>(8));
    Buffer<float> out(8);
    EXPECT_TRUE(fails_with([&] { f.realize(out, Target::host()); }, parts));
    try {
      f.realize(out, Target::host());
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).find(absent), std::string::npos) << error.what();
    }
  };
  refused([](auto&, Func& g, Func&) { g.compute_root(); },
          {"g(x) reads v(x - 1) as far as index -2", "Realize onto an interior crop",
           "give v a wider halo"});
  refused([](auto&, Func& g, Func& f) { g.compute_at(f, "x"); },
          {"reads v(x - 1) as far as index -2", "give v a wider halo"});
  refused([](auto&, Func& g, Func& f) { g.compute_root().in(f).compute_root(); },
          {"g(x) reads v(x - 1) as far as index -2", "give v a wider halo"});
  refused([](ImageParam& v, Func& g, Func&) { v.in(g.compute_root()).compute_root(); },
          {"as far as index -2", "give v a wider halo"});
  // A smaller crop of f would need no less of v.
  refused([](auto&, Func& g, Func&) { g.compute_root().bound("x", -4, 16); },
          {"g(x) reads v(x - 1) as far as index -5", "Give v a wider halo"}, "crop");
  refused(
      [](auto&, Func& g, Func&) { g.compute_root().bound("x", 0, 8); },
      {"bound(x, 0, 8) of g", "its consumers need indices -1 to 8", "bound a range that holds them"});
}
TEST_F(LoweringErrors, ATapBeyondAnOutputSaysWhatToDoAboutAnOutput) {
  Func f("f"), g("g");
  f(x) = cast<float>(x);
  g(x) = f(x - 2);
  Buffer<float> first(8), second(8);
  EXPECT_TRUE(fails_with(
      [&] {
        compile({f, g}, Target::host()).run({&first, &second});
      },
      {"g(x) reads f(x - 2) as far as index -2", "output f starts at 0",
       "on its low side it is short by 2", "Realize f over a box that is larger"}));
}

// The size of what a program can write is bounded by a number.
TEST_F(LoweringErrors, MoreOperationsThanAreCompiled) {
  Expr many = u(x, y);
  for (int i = 1; i < 70'000; ++i) many = many + u(x, y) * (1e-3F * static_cast<float>(i));
  Func long_sum("long_sum");
  long_sum(x, y) = many;
  EXPECT_TRUE(fails_with(
      [&] { lower_for(long_sum, Backend::Host); },
      {"long_sum has 13999", "operations a point", "at most 131072", "compute_root()"}, __LINE__ - 3));
  // What is inline counts where it is computed.
  Expr sum = b(x, y);
  for (int i = 1; i < 40'000; ++i) sum = sum + u(x, y) * (1e-3F * static_cast<float>(i));
  Func part("part"), whole("whole");
  part(x, y) = sum;
  whole(x, y) = part(x, y) + part(x + 1, y);
  part.compute_inline();
  EXPECT_TRUE(fails_with([&] { lower_for(whole, Backend::Host); }, {"whole has", "computed inline"}));
}

}  // namespace
}  // namespace mica
