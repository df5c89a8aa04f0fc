// Programs and schedules that random search found to go wrong, made small.
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/lower.h"
#include "dsl/pipeline/pipeline.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

TEST(FoundByFuzzing, AnUpdateOfAProducerInsideAVectorizedLoopThatItsBoundsDependOn) {
  const Var x("x");
  const Var y("y");
  const RDom r({{0, 2}}, "r");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x + 10 * y);
  f(x, r + 1) = 7.0F;
  g(x, y) = f(x, y) + f(x, y + 1);
  f.compute_at(g, x);
  g.vectorize(y, 4);
  EXPECT_TRUE(matches_oracle({g}, {{-2, 5}, {-3, 11}}, Target::host()));
}

TEST(FoundByFuzzing, UnrollingALoopOfNoConstantExtentIsRefused) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x + 10 * y);
  g(x, y) = f(x, y) + f(x + 1, y);
  f.compute_at(g, y).unroll(x);
  EXPECT_TRUE(fails_with([&] { std::ignore = compile(g, Target::host()).kernels(); },
                         {"unroll of", "not constant"}));
}

TEST(FoundByFuzzing, RoundedUpTilesOfAProducerStayInsideItsStorage) {
  const Var x("x");
  Func f("f");
  Func g("g");
  f(x) = cast<float>(x);
  g(x) = f(x) + f(x + 1);
  f.compute_root().split(x, "xo", "xi", 16, TailStrategy::RoundUp);
  const std::string code = g.compile_to_lowered_stmt(Target::host());
  EXPECT_NE(code.find("f.xi in [0, min(16, f.extent.0 - f.xo*16))"), std::string::npos) << code;
  EXPECT_TRUE(matches_oracle({g}, {{-3, 32}}, Target::host()));
}

TEST(FoundByFuzzing, LoopsBetweenThreadLoopsAreRefused) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x + 10 * y);
  g(x, y) = f(x, y) + f(x + 1, y);
  g.gpu_tile(x, y, 8, 4).unroll("y.thread", 2);
  EXPECT_TRUE(fails_with([&] { std::ignore = compile(g, Target::gpu_emulator()).kernels(); },
                         {"loop y.thread.unroll stands between thread loops y.thread and x.thread"}));
  g.clear_schedule();
  g.gpu_tile(x, y, 8, 4);
  f.compute_at(g, "y.thread");
  EXPECT_TRUE(fails_with([&] { std::ignore = compile(g, Target::gpu_emulator()).kernels(); },
                         {"loop y.thread of g is inside some of its thread loops only", "x.thread"}));
  g.clear_schedule();
  g.gpu_tile(x, y, 8, 4);
  f.compute_at(g, "x.thread");
  EXPECT_TRUE(matches_oracle({g}, {{-3, 19}, {2, 7}}, Target::gpu_emulator()));
}

TEST(FoundByFuzzing, AStageOfAFuncComputedInAnothersBlocks) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  Func g("g");
  f(x, y) = u(x - 1, y) + u(x + 1, y);
  g(x, y) = f(x, y) * f(x, y + 1);
  g.gpu_tile(x, y, 8, 4);
  f.compute_at(g, "x.block").stage(u, MemoryType::Shared);
  const Box box{{-2, 21}, {1, 9}};
  EXPECT_TRUE(matches_oracle({g}, box, {u}, all_targets()));
}

TEST(FoundByFuzzing, AStageOfAFuncWithAnUpdateThatHasNoLoopAlongTheRows) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 2}}, "r");
  Func f("f");
  f(x, y) = cast<float>(x);
  f(r, y) = 2.0F;
  f(x, y) += u(x, y) + u(x + 1, y);
  f.gpu_tile(x, y, 8, 4).stage(u, MemoryType::Shared);
  f.update(1).gpu_tile(x, y, 8, 4);
  const Box box{{-3, 19}, {2, 7}};
  EXPECT_TRUE(matches_oracle({f}, box, {u}, gpu_targets()));
}

TEST(FoundByFuzzing, AScatteredSumWhoseLastPlaneReadsNothingOfTheStagedSource) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  Func g("g");
  Func h("h");
  h(x, y) = cast<float>(x * y);
  g(x, y) = u(x, y) - h(x, y + 1);
  const Box box{{0, 8}, {0, 5}};
  const auto memory = bind_demanded({g}, box, {u}, 1);
  for (const int chunk : {1, 2, 4, 0}) {
    for (const Partials partials : {Partials::Centre, Partials::EveryPlane}) {
      g.clear_schedule();
      g.gpu_tile(x, 4).march(y, chunk).stage(u, MemoryType::Shared).scatter(y, partials);
      EXPECT_TRUE(matches_oracle({g}, box, Target::gpu_emulator()));
      g.pipeline(u, 2);
      EXPECT_TRUE(matches_oracle({g}, box, Target::gpu_emulator()));
    }
  }
}

TEST(FoundByFuzzing, AProducersStorageHoldsItsBoundedRange) {
  const Var x("x");
  Func f("f");
  Func g("g");
  f(x) = cast<float>(x);
  g(x) = f(x - 1) + f(x + 1);
  f.compute_root().bound(x, -8, 64);
  EXPECT_TRUE(matches_oracle({g}, {{-3, 17}}, Target::host()));
  EXPECT_TRUE(fails_with(
      [&] {
        AnyBuffer out = buffer_over(Float(32), {{-3, 59}});
        compile(g, Target::host()).run(out);
      },
      {"bound(x, -8, 64) of f", "need indices -4 to 56"}));
}

TEST(FoundByFuzzing, AStageThatAnUpdateWithoutBlocksReadsIsRefused) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  const RDom r({{0, 2}}, "r");
  Func f("f");
  f(x) = u(x);
  f(r) += u(r + 1);
  f.gpu_tile(x, 8).stage(u, MemoryType::Shared);
  EXPECT_TRUE(fails_with([&] { std::ignore = compile(f, Target::gpu_emulator()).kernels(); },
                         {"f.update(0) reads u and has no block loops"}));
}

TEST(FoundByFuzzing, ALoopThatAnUpdateNeedsThroughAnotherFuncMustBeItsOwn) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  Func h("h");
  f(x, y) = cast<float>(x + 10 * y);
  g(x, y) = f(x, y) + f(x + 1, y);
  h(x, y) = 1.0F;
  h(x, y) += g(x, y);
  h.split(x, "xo", "xi", 2);
  f.compute_at(h, "xo");
  g.compute_at(h, y);
  EXPECT_TRUE(fails_with([&] { std::ignore = compile(h, Target::host()).kernels(); },
                         {"h.update(0) has no loop xo"}));
}

TEST(FoundByFuzzing, AProducerOfAWholeChunkEndsWithTheDomain) {
  const Var x("x");
  const Var y("y");
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  Func g("g");
  f(x, y) = u(x, y);
  g(x, y) = f(x, y) + f(x, y + 1);
  g.gpu_tile(x, 4).march(y, 2).order_blocks("y.block");
  f.compute_at(g, "y.block");
  for (const Box& box : {Box{{0, 4}, {0, 1}}, Box{{-3, 16}, {2, 5}}}) {
    const auto memory = bind_demanded({g}, box, {u}, 1);
    EXPECT_TRUE(matches_oracle({g}, box, Target::gpu_emulator()));
  }
}

TEST(FoundByFuzzing, AStageOfAClampedIndexEndsWithTheClamp) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(clamp(x, -9, 5)) + u(clamp(x + 1, -9, 5));
  f.gpu_tile(x, 4).stage(u, MemoryType::Shared);
  const Box box{{-16, 32}};
  EXPECT_TRUE(matches_oracle({f}, box, {u}, gpu_targets()));
}

TEST(FoundByFuzzing, AStagedBoxBetweenAClampedAndAConstantIndexIsClipped) {
  const Var x("x");
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(clamp(x, -20, -15)) + u(0);
  f.gpu_tile(x, 2).stage(u, MemoryType::Shared);
  const Box box{{-24, 16}};
  EXPECT_TRUE(matches_oracle({f}, box, {u}, gpu_targets()));
}

TEST(FoundByFuzzing, TheAbsoluteValueOfTheLeastIntegerIsItself) {
  const Var x("x");
  for (const Type type : {Int(8), Int(16), Int(32), Int(64)}) {
    ImageParam u(type, 1, "u");
    Func f("f");
    f(x) = abs(u(x)) >> cast(type, 3);
    const Box box{{0, 40}};
    AnyBuffer values(type, std::vector<std::int64_t>{40});
    fill_random(values, 3, Contents::Special);
    u.set(values);
    for (const Target& target : all_targets()) {
      f.clear_schedule();
      if (target.is_gpu()) f.gpu_tile(x, 8);
      EXPECT_TRUE(matches_oracle({f}, box, target)) << to_string(type);
    }
  }
}

TEST(FoundByFuzzing, AWindowAndAPlaneOfAnInputThatLacksOneOfTheTilesDimensions) {
  const Var x("x");
  const Var y("y");
  const Var z("z");
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y, z) = u(y, z) + u(y - 1, z) - u(y + 1, z) + u(y, z + 1);
  f.gpu_tile(x, y, 4, 2).march(z, 3).register_window(u, z).stage(u, MemoryType::Shared);
  const Box box{{0, 8}, {0, 4}, {0, 7}};
  EXPECT_TRUE(matches_oracle({f}, box, {u}, gpu_targets()));
}

TEST(FoundByFuzzing, UpdateTilesTooNarrowForOneAsynchronousCopyAreWhole) {
  const Var x("x");
  const Var y("y");
  const RDom r({{0, 2}}, "r");
  ImageParam u(UInt(8), 1, "u");
  Func f("f");
  f(x, y) = cast<std::uint8_t>(1);
  f(x, y) = f(x, y) + u(x) * cast<std::uint8_t>(r);
  f.stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
  f.update(0).gpu_tile(y, x, 1, 2);
  const Box box{{0, 12}, {0, 3}};
  EXPECT_TRUE(matches_oracle({f}, box, {u}, gpu_targets()));
}

TEST(FoundByFuzzing, AProducerAtALoopOfAnUnscheduledFuncOnAGpuTarget) {
  const Var x("x");
  Func f("f");
  Func g("g");
  f(x) = cast<float>(x) * 0.5F;
  g(x) = f(x) + f(x + 1);
  f.compute_at(g, x);
  EXPECT_TRUE(matches_oracle({g}, {{-3, 19}}, Target::gpu_emulator()));
}

TEST(FoundByFuzzing, AProducerAtALoopThatADefinitionBesideAScheduledUpdateHas) {
  const Var x("x");
  const Var y("y");
  const RDom r({{0, 2}}, "r");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x) * 0.5F + cast<float>(y);
  g(x, y) = f(x, y) + f(x + 1, y);
  g(x, r + 1) += 1.0F;
  f.compute_at(g, x);
  g.update(0).gpu_blocks(x);
  for (const Target& target : gpu_targets())
    EXPECT_TRUE(matches_oracle({g}, {{-3, 19}, {0, 5}}, target));
}

TEST(FoundByFuzzing, VectorsOfRowsThatFollowEachOtherInAThreadsArray) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x) * 0.5F + cast<float>(y);
  g(x, y) = f(x, y) + f(x + 1, y - 1);
  f.compute_at(g, "x.thread");
  g.gpu_tile(x, 8).vectorize(x, 4).march(y, 6);
  for (const Target& target : gpu_targets())
    EXPECT_TRUE(matches_oracle({g}, {{-8, 64}, {-9, 4}}, target));
}

TEST(FoundByFuzzing, PlanesOfAMarchThatAreAlsoReadAtAConstantAreRefused) {
  const Var x("x");
  const Var y("y");
  Func f("f");
  Func g("g");
  Func h("h");
  f(x, y) = cast<float>(x) * 0.5F + cast<float>(y);
  g(x, y) = f(x, y);
  h(x, y) = g(x, -1) + f(-1, 0);
  f.compute_at(h, x);
  g.compute_at(h, x);
  h.gpu_tile(y, 1).march(x);
  EXPECT_TRUE(
      fails_with([&] { std::ignore = compile(h, Target::gpu_emulator()).kernels(); },
                 {"f, kept along the march of h over x", "read at -1 to -1 in dimension 0 (x)"}));
}

TEST(FoundByFuzzing, AnUpdateAtOnePointOfAFuncThatABlockKeeps) {
  const Var x("x");
  const Var y("y");
  const RDom r({{0, 3}}, "r");
  const RDom s({{0, 2}}, "s");
  Func f("f");
  Func g("g");
  f(x, y) = cast<float>(x) * 0.5F + cast<float>(y);
  f(r, r) = f(r, r) + 1.5F;
  g(x, y) = 1.0F;
  g(x, y) = g(x, y) + f(s, s + 1);
  f.compute_at(g, "x.block");
  g.update(0).gpu_tile(x, y, 4, 4);
  for (const Target& target : gpu_targets()) EXPECT_TRUE(matches_oracle({g}, {{-3, 8}, {0, 8}}, target));
}

TEST(FoundByFuzzing, IntegersThatOverflowAHalf) {
  const Var x("x");
  ImageParam u(Float(16), 1, "u");
  Buffer<float16> in(64);
  for (int i = 0; i < 64; ++i) in(i) = static_cast<float16>(static_cast<float>(i - 20));
  u.set(in);
  const Expr large = cast(Float(16), cast(Int(32), u(x)) << 22);
  Func f("f");
  f(x) = large / u(x);
  Func g("g");
  g(x) = select(u(x) < 3, cast(Float(32), large) * 0.5F, 1.0F);
  for (const Target& target : all_targets()) {
    for (const int lanes : {1, 4, 8}) {
      for (Func h : {f, g}) {
        h.clear_schedule();
        if (target.is_gpu()) h.gpu_tile(x, 8);
        if (lanes > 1) h.vectorize(x, lanes);
        EXPECT_TRUE(matches_oracle({h}, {{0, 64}}, target)) << lanes << " lanes";
      }
    }
  }
}

TEST(FoundByFuzzing, RegistersAskedForThatALargeBlockCannotHave) {
  const Var x("x");
  const Var y("y");
  ImageParam u(Float(64), 2, "u");
  Func f("f");
  Expr total = u(x, y);
  for (int i = 1; i < 40; ++i) total = total + u(x + i, y) * u(x, y + i);
  f(x, y) = total;
  f.gpu_tile(x, y, 32, 24).max_registers(255).launch_bounds(3);
  const Program program =
      lower(make_pipeline({f.function()}), {Target{Backend::Cuda, 0}, {}, {}, DeviceLimits{}});
  EXPECT_EQ(program.nests.at(0).kernel.max_registers, 80);  // 65,536 / 768, in units of 8
  Buffer<double> in(100, 80);
  fill_random(in, 1, Contents::Small);
  u.set(in);
  for (const Target& target : gpu_targets())
    EXPECT_TRUE(matches_oracle({f}, {{0, 60}, {0, 40}}, target));
}

TEST(FoundByFuzzing, VectorsThatReachPastWhatIsStoredOutsideTheirLoop) {
  const Var x("x"), xo("xo"), xm("xm"), xi("xi"), fo("fo"), fi("fi");
  ImageParam u(Float(32), 1, "u");
  Buffer<float> in(64);
  fill_random(in, 1, Contents::Small);
  u.set(in);
  Func g("g");
  Func f("f");
  Func h("h");
  g(x) = u(x);
  g(x) += u(x + 1);
  f(x) = g(x) * 0.5F;
  h(x) = f(x) - f(x + 1);
  for (const Target& target : all_targets()) {
    h.clear_schedule();
    f.split(x, xo, xi, 3).vectorize(xi, 8);
    g.compute_at(f, xi).store_at(f, xo);
    EXPECT_TRUE(matches_oracle({f}, {{0, 50}}, target)) << "one Func inside another";
    h.clear_schedule().split(x, xo, xi, 5);
    f.compute_at(h, xo).split(x, fo, fi, 3).vectorize(fi, 8);
    g.compute_at(f, fi).store_at(h, xo);
    EXPECT_TRUE(matches_oracle({h}, {{0, 50}}, target)) << "stored outside both";
    h.clear_schedule();
    f.split(x, xo, xi, 12).split(xi, xm, xi, 3).vectorize(xi, 2);
    f.gpu_blocks(xo).gpu_threads(xm);
    g.compute_at(f, xi).store_at(f, xm);
    EXPECT_TRUE(matches_oracle({f}, {{0, 50}}, target)) << "in a thread's registers";
  }
}

TEST(FoundByFuzzing, PartsOfAFusedLoopOfUnknownExtent) {
  const Var x("x"), y("y"), a("a"), ao("ao"), ai("ai");
  Func g("g");
  Func f("f");
  g(x, y) = cast<float>(x * 3 + y);
  f(x, y) = g(x, y) + g(x + 1, y + 1);
  f.fuse(x, y, a).split(a, ao, ai, 8);
  g.compute_at(f, ao);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, {{-2, 9}, {3, 5}}, target));
}

TEST(FoundByFuzzing, StorageOutsideAllLoopsAfterStorageElsewhere) {
  const Var x("x"), y("y"), yo("yo"), yi("yi");
  Func g("g");
  Func h("h");
  Func f("f");
  g(x, y) = cast<float>(x * 3 + y);
  g(x, y) += 0.5F;
  h(x, y) = g(x, y) * g(x + 1, y);
  f(x, y) = h(x, y) + h(x - 1, y + 1);
  for (const Target& target : all_targets()) {
    f.clear_schedule().split(y, yo, yi, 2);
    h.compute_at(f, yo);
    g.compute_at(h, y).store_at(h, x).store_root();
    EXPECT_TRUE(matches_oracle({f}, {{-2, 9}, {3, 5}}, target)) << "the last counts";
    f.clear_schedule();
    h.compute_at(f, y).store_root();
    g.compute_at(h, x).store_root();
    EXPECT_TRUE(matches_oracle({f}, {{-2, 9}, {3, 5}}, target)) << "loops by default";
  }
}

TEST(FoundByFuzzing, AnIndexThatWrapsOnItsWay) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, 1}, {0, 5}}, 1);
  Func f("f");
  f(x, y) = u(x, (y * 1073741824 + (-2147483647 - 1)) % 5);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, {{0, 1}, {0, 3}}, target));
}

TEST(FoundByFuzzing, ADividendThatWrapsWithinItsFirstPeriod) {
  const Var x("x");
  const ImageParam u(Float(32), 1, "u");
  const auto memory = bind_random(u, {{0, 30}}, 1);
  for (const int constant : {2147483644, 2147483640, -2147483647, 60, -70}) {
    Func f("f");
    f(x) = u((x + constant) % 30);
    for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, {{-40, 90}}, target));
  }
}

TEST(FoundByFuzzing, WrittenOutPointsOfAColorOfWhichNoneIsLeftBehindTheLastVector) {
  const Var x("x"), y("y");
  Func f("f");
  f(x, y) = Expr(1.0F);
  f(x, y) = f(x, y) + 2.0F;
  f.update(0).color((x * 2 - y) % 2).vectorize(x, 2).unroll(x, 2);
  for (const Box& box : {Box{{0, 1}, {0, 1}}, Box{{0, 23}, {0, 5}}}) {
    EXPECT_TRUE(matches_oracle({f}, box, Target::host()));
  }
}

TEST(FoundByFuzzing, RegistersFilledFromAPlaneThatTheSameStepCopies) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u");
  for (const int width : {1, 4}) {
    const Box box{{0, 6}, {0, 5}};
    const auto memory = bind_random(u, box, 1);
    Func held("held"), f("f");
    held(x, y) = u(x, y) + 1.0F;
    f(x, y) = held(x, y);
    f.gpu_tile(x, width).march(y, 2);
    held.compute_at(f, "y.march").store_in(MemoryType::Register);
    held.stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
    for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, box, target));
  }
}

TEST(FoundByFuzzing, AnIndexThatSharesItsPartsAndHasNoSchedule) {
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u");
  const auto memory = bind_random(u, {{0, 16}, {0, 5}}, 1);
  Expr e = u(x, y);
  for (int depth = 0; depth < 60; ++depth) e = max(e, 0.5F * e);
  Func f("f");
  f(x, y) = u(min(max(cast<std::int32_t>(e) % 16, 0), 15), y);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, {{0, 16}, {0, 5}}, target));
}

}  // namespace
}  // namespace mica::test
