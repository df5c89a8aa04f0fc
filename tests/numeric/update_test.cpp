// Update definitions, reduction domains and Tuples on every target.
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");

TEST(Update, AddsOverAReductionDomainAtItsOwnPoint) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{-1, 3}, {-2, 4}});
  Func f("f");
  f(x, y) = 0.5F;
  f(x, y) += u(x + r.x, y + r.y) * cast<float>(r.x + 10 * r.y);
  const Box box{{-4, 37}, {3, 9}};
  const auto memory = bind_demanded({f}, box, {u}, 1);
  EXPECT_TRUE(check_all_targets(f, box));
}

TEST(Update, OfAnUndefinedFuncStartsFromTheNeutralElement) {
  const ImageParam u(Int(32), 1, "u");
  const RDom r({{0, 3}});
  Func total("total");
  Func product("product");
  Func difference("difference");
  total(x) += u(x + r);
  product(x) *= u(x + r);
  difference(x) -= u(x + r);
  const Box box{{0, 41}};
  const auto memory = bind_random(u, {{0, 43}}, 2);
  EXPECT_TRUE(check_all_targets({total, product, difference}, box));
}

TEST(Update, WithoutAReductionDomainRunsOncePerPoint) {
  const ImageParam u(Float(64), 2, "u");
  Func f("f");
  f(x, y) = u(x, y);
  f(x, y) *= u(x + 1, y);
  f(x, y) += 3.0;
  f(x, y) = select(f(x, y) > 0.0, f(x, y), -f(x, y));
  const Box box{{-1, 19}, {-1, 7}};
  const auto memory = bind_demanded({f}, box, {u}, 3);
  EXPECT_TRUE(check_all_targets(f, box));
}

TEST(Update, OfOneRowLeavesTheOthers) {
  const ImageParam u(Int(16), 2, "u");
  Func f("f");
  f(x, y) = u(x, y);
  f(x, 2) = cast<std::int16_t>(7);
  f(x, 4) += u(x, 0);
  const Box box{{0, 23}, {0, 6}};
  const auto memory = bind_random(u, box, 4);
  EXPECT_TRUE(check_all_targets(f, box));
}

TEST(Update, RunningSumAlongARow) {
  const ImageParam u(Int(64), 2, "u");
  const RDom r({{1, 30}});
  Func scan("scan");
  scan(x, y) = u(x, y);
  scan(r, y) = scan(r - 1, y) + scan(r, y);
  const Box box{{0, 31}, {-2, 9}};
  const auto memory = bind_random(u, box, 5);
  EXPECT_TRUE(check_all_targets(scan, box));
}

TEST(Update, RunningSumDownAColumnOfFloats) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{1, 12}});
  Func scan("scan");
  scan(x, y) = u(x, y);
  scan(x, r) += scan(x, r - 1) * 0.5F;
  const Box box{{-5, 27}, {0, 13}};
  const auto memory = bind_random(u, box, 6);
  EXPECT_TRUE(check_all_targets(scan, box));
}

TEST(Update, HistogramOfBytes) {
  const ImageParam u(UInt(8), 2, "u");
  const RDom r({{0, 40}, {0, 20}});
  Func histogram("histogram");
  histogram(x) = 0;
  histogram(clamp(cast<std::int32_t>(u(r.x, r.y)), 0, 255)) += 1;
  const auto memory = bind_random(u, {{0, 40}, {0, 20}}, 7);
  EXPECT_TRUE(check_all_targets(histogram, {{0, 256}}));
}

TEST(Update, OfAnIntermediateFuncIsReadAfterItsLastUpdate) {
  TestPipeline p = accumulate();
  const Box box{{-3, 29}, {5, 8}};
  const auto memory = p.bind(box, 8);
  EXPECT_TRUE(check_all_targets(p.output(), box));
}

TEST(Update, OfATupleUsesTheValuesFromBefore) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 6}});
  Func best("best");
  best(x, y) = Tuple(u(x, y), Expr(0));
  const Expr better = u(x + r, y) > best(x, y)[0];
  best(x, y) = Tuple(select(better, u(x + r, y), best(x, y)[0]), select(better, r, best(x, y)[1]));
  Func swapped("swapped");
  swapped(x, y) = Tuple(best(x, y)[1], best(x, y)[0]);
  swapped(x, y) = Tuple(swapped(x, y)[0] + 1, swapped(x, y)[1] * cast<float>(swapped(x, y)[0]));
  const Box box{{0, 21}, {0, 5}};
  const auto memory = bind_demanded({swapped}, box, {u}, 9);
  EXPECT_TRUE(check_all_targets(swapped, box));
}

TEST(Update, WithoutDirectivesReadsAStageInBlocksOfItsOwn) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{0, 2}});
  Func f("f");
  f(x, y) = 1.0F;
  f(x, y) += u(x, y + r.x);
  const Box box{{-2, 21}, {3, 9}};
  const auto memory = bind_demanded({f}, box, {u}, 3);
  f.gpu_tile(x, y, 8, 4).stage(u, MemoryType::Shared);
  for (const Target& target : all_targets()) EXPECT_TRUE(matches_oracle({f}, box, target));
}

TEST(Reductions, WrittenOutAsExpressions) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r({{-1, 3}, {-1, 3}});
  Func f("f");
  f(x, y) = Tuple(sum(r, u(x + r.x, y + r.y)), minimum(r, u(x + r.x, y + r.y)),
                  maximum(r, u(x + r.x, y + r.y) * cast<float>(r.x)));
  const Box box{{0, 33}, {-2, 7}};
  const auto memory = bind_demanded({f}, box, {u}, 10);
  EXPECT_TRUE(check_all_targets(f, box));
}

TEST(Tuples, OfMixedTypesFillSeveralBuffers) {
  TestPipeline p = tuple_stats();
  const Box box{{-6, 37}, {1, 11}};
  const auto memory = p.bind(box, 11);
  EXPECT_TRUE(check_all_targets(p.output(), box));
}

TEST(Tuples, ComputedAtRootAreReadElementByElement) {
  TestPipeline p = tuple_stats();
  Func& stats = p.func("stats");
  Func spread("spread");
  spread(x, y) = cast<float>(stats(x + 1, y)[0]) - stats(x, y - 1)[2];
  const Box box{{-6, 37}, {1, 11}};
  const auto memory = bind_demanded({spread}, box, p.inputs, 12);
  stats.compute_root();
  EXPECT_TRUE(matches_oracle({spread}, box, Target::host()));
  schedule_plain_gpu(stats);
  schedule_plain_gpu(spread);
  for (const Target& target : gpu_targets()) EXPECT_TRUE(matches_oracle({spread}, box, target));
}

}  // namespace
}  // namespace mica::test
