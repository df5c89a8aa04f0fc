#include "dsl/schedule/loop_dims.h"

#include <map>

#include <gtest/gtest.h>

#include "dsl/func/func.h"

namespace mica {
namespace {

const Var x("x"), y("y"), z("z"), xo("xo"), xi("xi"), yo("yo"), yi("yi"), xy("xy");

Func grid(int dimensions = 2) {
  Func f("f");
  if (dimensions == 1) f(x) = x;
  if (dimensions == 2) f(x, y) = x + y;
  if (dimensions == 3) f(x, y, z) = x + y + z;
  return f;
}

LoopNestSpec expand(const Func& f, int definition = 0) {
  Diagnostics findings;
  LoopNestSpec spec = expand_loops(*f.function(), definition, findings);
  for (const auto& finding : findings) ADD_FAILURE() << finding.message;
  return spec;
}

/// "x:Serial y:GpuBlock(8)" innermost first; constant extents in parentheses.
std::string loops(const LoopNestSpec& spec) {
  std::string text;
  for (const auto& dim : spec.dims) {
    text += (text.empty() ? "" : " ") + dim.name + ":" + to_string(dim.kind);
    if (dim.extent > 0) text += "(" + std::to_string(dim.extent) + ")";
  }
  return text;
}

/// The value of `dim` where the loops have the given values; extents of fused inner loops are given.
std::int64_t value_of(const LoopNestSpec& spec, const std::string& dim,
                      std::map<std::string, std::int64_t> values, std::int64_t fused_inner = 1) {
  for (auto step = spec.steps.rbegin(); step != spec.steps.rend(); ++step) {
    if (step->kind == SplitStep::Split) {
      values[step->old_var] = values.at(step->outer) * step->factor + values.at(step->inner);
    } else {
      const std::int64_t fused = values.at(step->old_var);
      values[step->inner] = fused % fused_inner;
      values[step->outer] = fused / fused_inner;
    }
  }
  return values.at(dim);
}

TEST(LoopDims, APureDefinitionHasItsFirstArgumentInnermost) {
  EXPECT_EQ(loops(expand(grid(3))), "x:Serial y:Serial z:Serial");
}

TEST(LoopDims, AnUpdateHasItsReductionLoopsInnermost) {
  Func f = grid();
  RDom r({{0, 3}, {0, 5}});
  f(x, y) += r.x + r.y;
  const LoopNestSpec spec = expand(f, 1);
  EXPECT_EQ(loops(spec), "r.x:Serial(3) r.y:Serial(5) x:Serial y:Serial");
  EXPECT_TRUE(spec.dims[1].is_rvar);
  EXPECT_FALSE(spec.dims[2].is_rvar);
}

TEST(LoopDims, SplitPutsTheInnerLoopInsideTheOuter) {
  Func f = grid();
  f.split(x, xo, xi, 8);
  const LoopNestSpec spec = expand(f);
  EXPECT_EQ(loops(spec), "xi:Serial(8) xo:Serial y:Serial");
  ASSERT_EQ(spec.steps.size(), 1U);
  EXPECT_EQ(spec.steps[0].tail, TailStrategy::GuardWithIf) << "Auto is resolved";
  EXPECT_EQ(value_of(spec, "x", {{"xo", 3}, {"xi", 5}}), 29);
}

TEST(LoopDims, TileOrdersTilesOutsideTheirPoints) {
  Func f = grid();
  f.tile(x, y, xo, yo, xi, yi, 8, 4);
  EXPECT_EQ(loops(expand(f)), "xi:Serial(8) yi:Serial(4) xo:Serial yo:Serial");
}

TEST(LoopDims, FuseJoinsTwoLoopsInnerFastest) {
  Func f = grid();
  f.bound(x, 0, 6).bound(y, 0, 4).fuse(x, y, xy);
  const LoopNestSpec spec = expand(f);
  EXPECT_EQ(loops(spec), "xy:Serial(24)");
  EXPECT_EQ(value_of(spec, "x", {{"xy", 15}}, 6), 3);
  EXPECT_EQ(value_of(spec, "y", {{"xy", 15}}, 6), 2);
}

TEST(LoopDims, ReorderPermutesTheNamedLoopsInTheirPlaces) {
  Func f = grid(3);
  f.reorder(z, x);
  EXPECT_EQ(loops(expand(f)), "z:Serial y:Serial x:Serial");
}

TEST(LoopDims, VectorizeAndUnrollWithAFactorKeepTheOuterName) {
  Func f = grid();
  f.parallel(y).vectorize(x, 8).unroll(x, 2).unroll(y, 4);
  const LoopNestSpec spec = expand(f);
  EXPECT_EQ(loops(spec),
            "x.vec:Vectorized(8) x.unroll:Unrolled(2) x:Serial y.unroll:Unrolled(4) y:Parallel");
  EXPECT_EQ(value_of(spec, "x", {{"x", 3}, {"x.unroll", 1}, {"x.vec", 5}, {"y", 0}, {"y.unroll", 0}}),
            (3 * 2 + 1) * 8 + 5);
}

TEST(LoopDims, ParallelWithAChunkKeepsTheOuterName) {
  Func f = grid();
  f.parallel(y, 16);
  EXPECT_EQ(loops(expand(f)), "x:Serial y.chunk:Serial(16) y:Parallel");
}

TEST(LoopDims, AWholeLoopMayBeVectorizedOrUnrolled) {
  Func f = grid();
  f.split(x, xo, xi, 4).vectorize(xi).bound(y, 0, 3).unroll(y);
  EXPECT_EQ(loops(expand(f)), "xi:Vectorized(4) xo:Serial y:Unrolled(3)");
}

TEST(LoopDims, GpuTilePutsThreadsInsideBlocksAndTheRestOutside) {
  Func f = grid(3);
  f.gpu_tile(x, y, 32, 8);
  EXPECT_EQ(loops(expand(f)),
            "x.thread:GpuThread(32) y.thread:GpuThread(8) x.block:GpuBlock y.block:GpuBlock z:Serial");
  f.gpu_blocks(z);
  EXPECT_EQ(expand(f).dims.back().kind, LoopKind::GpuBlock);
}

TEST(LoopDims, AVectorAfterGpuTileGivesEachThreadNeighbouringPoints) {
  Func f = grid();
  f.gpu_tile(x, y, 32, 8).vectorize(x, 4).unroll(y, 2);
  const LoopNestSpec spec = expand(f);
  EXPECT_EQ(loops(spec),
            "x.vec:Vectorized(4) y.unroll:Unrolled(2) x.thread:GpuThread(32) y.thread:GpuThread(8) "
            "x.block:GpuBlock y.block:GpuBlock");
  const std::map<std::string, std::int64_t> at = {{"x.block", 5}, {"x.thread", 7}, {"x.vec", 3},
                                                  {"y.block", 2}, {"y.thread", 4}, {"y.unroll", 1}};
  EXPECT_EQ(value_of(spec, "x", at), (5 * 32 + 7) * 4 + 3);
  EXPECT_EQ(value_of(spec, "y", at), (2 * 8 + 4) * 2 + 1);
}

TEST(LoopDims, AVectorBeforeGpuTileMeansTheSame) {
  Func f = grid(1);
  f.vectorize(x, 4).gpu_tile(x, 32);
  const LoopNestSpec spec = expand(f);
  EXPECT_EQ(loops(spec), "x.vec:Vectorized(4) x.thread:GpuThread(32) x.block:GpuBlock");
  EXPECT_EQ(value_of(spec, "x", {{"x.block", 5}, {"x.thread", 7}, {"x.vec", 3}}), (5 * 32 + 7) * 4 + 3);
}

TEST(LoopDims, ATiledVarMayHaveRowsOfVectors) {
  Func f = grid(1);
  f.gpu_tile(x, 32).unroll(x, 2).vectorize(x, 4);
  const LoopNestSpec spec = expand(f);
  EXPECT_EQ(loops(spec),
            "x.vec:Vectorized(4) x.unroll:Unrolled(2) x.thread:GpuThread(32) x.block:GpuBlock");
  EXPECT_EQ(value_of(spec, "x", {{"x.block", 5}, {"x.thread", 7}, {"x.unroll", 1}, {"x.vec", 3}}),
            ((5 * 32 + 7) * 2 + 1) * 4 + 3);
}

TEST(LoopDims, GpuTilesTailIsThatOfTheBlocksWholeTile) {
  Func f = grid(1);
  f.gpu_tile(x, 32, TailStrategy::ShiftInwards).unroll(x, 2).vectorize(x, 4);
  const LoopNestSpec spec = expand(f);
  ASSERT_EQ(spec.steps.size(), 3U);
  EXPECT_EQ(spec.steps[0].tail, TailStrategy::ShiftInwards);
  EXPECT_EQ(spec.steps[0].factor, 32 * 2 * 4);
  EXPECT_EQ(spec.steps[0].outer, "x.block");
  EXPECT_EQ(spec.steps[1].factor, 4);
  EXPECT_EQ(spec.steps[2].factor, 2) << "no split but the first leaves a remainder";
}

TEST(LoopDims, AVectorMayHaveATailOfItsOwn) {
  Func f = grid(1);
  f.gpu_tile(x, 32).vectorize(x, 4, TailStrategy::RoundUp);
  const LoopNestSpec spec = expand(f);
  ASSERT_EQ(spec.steps.size(), 2U);
  EXPECT_EQ(spec.steps[0].factor, 4);
  EXPECT_EQ(spec.steps[0].tail, TailStrategy::RoundUp);
  EXPECT_EQ(spec.steps[1].factor, 32);
  EXPECT_EQ(spec.steps[1].tail, TailStrategy::GuardWithIf);
  EXPECT_EQ(value_of(spec, "x", {{"x.block", 5}, {"x.thread", 7}, {"x.vec", 3}}), (5 * 32 + 7) * 4 + 3);
}

TEST(LoopDims, GpuTileOfAnUpdateKeepsTheReductionInsideTheThread) {
  Func f = grid();
  RDom r({{0, 3}});
  f(x, y) += r.x;
  f.update().gpu_tile(x, y, 16, 4).vectorize(x, 2);
  EXPECT_EQ(loops(expand(f, 1)),
            "x.vec:Vectorized(2) r.x:Serial(3) x.thread:GpuThread(16) y.thread:GpuThread(4) "
            "x.block:GpuBlock y.block:GpuBlock");
}

TEST(LoopDims, ABoundMakesBlockCountsConstant) {
  Func f = grid(1);
  f.bound(x, 0, 1000).gpu_tile(x, 32).vectorize(x, 4);
  EXPECT_EQ(loops(expand(f)), "x.vec:Vectorized(4) x.thread:GpuThread(32) x.block:GpuBlock(8)");
}

TEST(LoopDims, ADirectiveThatDoesNotApplyIsLeftOutAndReported) {
  Func f = grid();
  const int line = __LINE__ + 1;
  f.split("q", xo, xi, 8).vectorize(x, 4);
  Diagnostics findings;
  const LoopNestSpec spec = expand_loops(*f.function(), 0, findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].where.line, line);
  EXPECT_EQ(findings[0].message,
            "f.split(q, xo, xi, 8): there is no loop q at this point; the loops are x, y (innermost "
            "first)");
  EXPECT_EQ(loops(spec), "x.vec:Vectorized(4) x:Serial y:Serial");
}

}  // namespace
}  // namespace mica
