// Pipelines of several Funcs: default schedules, every choice of compute level, mixed types, scaled
// accesses, Params.
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");

/// An odd box that suits every pipeline of its dimensionality.
Box some_box(int dimensions) {
  const Box full{{-5, 39}, {3, 11}, {-2, 5}, {0, 3}};
  return {full.begin(), full.begin() + dimensions};
}

class EachPipeline : public ::testing::TestWithParam<PipelineMaker> {};

TEST_P(EachPipeline, IsRightByDefaultOnEveryTarget) {
  TestPipeline p = GetParam().make();
  const Box box = some_box(GetParam().dimensions);
  const auto memory = p.bind(box, 1);
  EXPECT_TRUE(check_all_targets(p.outputs, box));
}

TEST_P(EachPipeline, IsRightWithEveryFuncAtRoot) {
  TestPipeline p = GetParam().make();
  const Box box = some_box(GetParam().dimensions);
  const auto memory = p.bind(box, 2);
  const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
  for (Func& f : p.funcs) f.compute_root();
  EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host()));
  for (Func& f : p.funcs) schedule_plain_gpu(f);
  for (const Target& target : gpu_targets()) {
    EXPECT_TRUE(run_matches(expected, p.outputs, box, target));
  }
}

TEST_P(EachPipeline, IsRightWithDenseInputsToo) {
  TestPipeline p = GetParam().make();
  const Box box = some_box(GetParam().dimensions);
  const auto memory = p.bind(box, 3, Contents::Special, Layout::Dense);
  EXPECT_TRUE(check_all_targets(p.outputs, box));
}

INSTANTIATE_TEST_SUITE_P(All, EachPipeline, ::testing::ValuesIn(pipeline_makers()),
                         case_name<PipelineMaker>);

TEST(Pipeline, ProducersAtEveryLevelOfTheirConsumerOnTheHost) {
  const Box box{{-5, 39}, {3, 11}};
  for (const char* const level : {"x", "y"}) {
    TestPipeline p = gradient();
    const auto memory = p.bind(box, 4);
    const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
    for (Func& f : p.funcs) {
      if (f.name() != "energy") f.compute_at(p.output(), level);
    }
    EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host())) << level;
    p.func("smooth").clear_schedule().compute_root();
    EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host())) << level;
  }
}

TEST(Pipeline, StorageOutsideTheComputeLevel) {
  const Box box{{-5, 39}, {3, 11}};
  TestPipeline p = blur();
  const auto memory = p.bind(box, 5);
  const std::vector<AnyBuffer> expected = expected_values(p.outputs, box);
  p.func("blur_x").store_root().compute_at(p.output(), "y");
  EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host()));
  p.func("blur_x").clear_schedule();
  p.func("blur_x").store_at(p.output(), "y").compute_at(p.output(), "x");
  EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::host()));
}

TEST(Pipeline, AProducerReadByTwoConsumersIsComputedForBoth) {
  const ImageParam u(Float(32), 2, "u");
  Func base("base");
  Func left("left");
  Func down("down");
  Func out("out");
  base(x, y) = u(x, y) * 2.0F + 1.0F;
  left(x, y) = base(x - 7, y) * base(x, y);
  down(x, y) = base(x, y + 4) - 1.0F;
  out(x, y) = left(x, y) + down(x + 1, y);
  const Box box{{0, 31}, {0, 9}};
  const auto memory = bind_demanded({out}, box, {u}, 6);
  const std::vector<AnyBuffer> expected = expected_values({out}, box);
  base.compute_root();
  left.compute_root();
  EXPECT_TRUE(run_matches(expected, {out}, box, Target::host()));
  base.clear_schedule();
  base.compute_at(out, y);
  left.compute_at(out, y);
  down.compute_at(out, y);
  EXPECT_TRUE(run_matches(expected, {out}, box, Target::host()));
}

TEST(Pipeline, OneOutputMayBeReadByAnother) {
  TestPipeline p = multi_output();
  const Box box{{2, 25}, {-4, 9}};
  const auto memory = p.bind(box, 7);
  EXPECT_TRUE(check_all_targets(p.outputs, box));
}

TEST(Pipeline, TwoFuncsOfOneNameStayApart) {
  const ImageParam u(Int(32), 1, "u");
  Func first("f");
  Func second("f");
  first(x) = u(x) * 3;
  second(x) = first(x + 1) - first(x);
  first.compute_root();
  const auto memory = bind_random(u, {{0, 40}}, 8);
  EXPECT_TRUE(matches_oracle({second}, {{0, 39}}, Target::host()));
}

TEST(Params, OfEveryTypeAreReadAtEachRun) {
  const Param<std::uint8_t> p8("p8", 200);
  const Param<std::int16_t> p16("p16", -300);
  const Param<std::int64_t> p64("p64", std::int64_t{1} << 40);
  const Param<float> pf("pf", 0.25F);
  const Param<double> pd("pd", 1e-3);
  const Param<float16> ph("ph", float16(1.5F));
  const Param<bfloat16> pb("pb", bfloat16(-3.0F));
  const Param<bool> flag("flag", true);
  Func f("f");
  f(x) = Tuple(cast<std::uint8_t>(x) + p8, cast<std::int16_t>(x) * p16, x + p64, cast<float>(x) * pf,
               cast<double>(x) + pd, cast<float16>(x) * ph, cast<bfloat16>(x) - pb, select(flag, x, -x));
  const Box box{{-20, 51}};
  EXPECT_TRUE(check_all_targets(f, box));
  p8.set(7);
  p16.set(12345);
  p64.set(-1);
  pf.set(-0.0F);
  pd.set(1e300);
  ph.set(float16(-0.125F));
  pb.set(bfloat16(100.0F));
  flag.set(false);
  EXPECT_TRUE(check_all_targets(f, box));
}

class ScaledAccess : public ::testing::TestWithParam<int> {};

TEST_P(ScaledAccess, StridesAndHalvesWithOffsets) {
  const int c = GetParam();
  const ImageParam u(Float(32), 2, "u");
  Func producer("producer");
  Func f("f");
  producer(x, y) = u(x, y) + u(x + 1, y) * 0.5F;
  f(x, y) = producer(2 * x + c, y) + producer((x + c) / 2, 3 * y - c) + producer(x, (y - c) / 4);
  const Box box{{-7, 27}, {-3, 9}};
  const auto memory = bind_demanded({f}, box, {u}, 9);
  const std::vector<AnyBuffer> expected = expected_values({f}, box);
  EXPECT_TRUE(check_all_targets(f, box));
  f.clear_schedule();
  producer.compute_root();
  EXPECT_TRUE(run_matches(expected, {f}, box, Target::host()));
  schedule_plain_gpu(producer);
  schedule_plain_gpu(f);
  for (const Target& target : gpu_targets()) EXPECT_TRUE(run_matches(expected, {f}, box, target));
  f.clear_schedule();
  producer.compute_at(f, y);
  EXPECT_TRUE(run_matches(expected, {f}, box, Target::host()));
}

INSTANTIATE_TEST_SUITE_P(Offsets, ScaledAccess, ::testing::Range(-3, 4));

TEST(ScaledAccesses, OfASplitConsumer) {
  TestPipeline p = down_up();
  const Box box{{-6, 35}, {1, 13}};
  const auto memory = p.bind(box, 10);
  p.output().tile("x", "y", "xo", "yo", "xi", "yi", 6, 5);
  p.func("down").compute_at(p.output(), "xo");
  EXPECT_TRUE(matches_oracle(p.outputs, box, Target::host()));
}

TEST(DataDependentIndices, ReadAnInputWhereTheUserClamps) {
  const ImageParam u(UInt(8), 2, "u");
  const ImageParam table(Float(32), 1, "table");
  Func f("f");
  f(x, y) = table(clamp(cast<std::int32_t>(u(x, y)), 5, 60)) +
            table(clamp(cast<std::int32_t>(u(x + 1, y)), 0, 255));
  const Box box{{0, 37}, {0, 5}};
  const auto memory_u = bind_random(u, {{0, 38}, {0, 5}}, 11);
  const auto memory_table = bind_random(table, {{0, 256}}, 12);
  EXPECT_TRUE(check_all_targets(f, box));
}

TEST(DataDependentIndices, ReadAFuncComputedAtRoot) {
  const ImageParam u(UInt(8), 2, "u");
  Func curve("curve");
  Func f("f");
  curve(x) = sqrt(cast<float>(x)) * 3.0F;
  f(x, y) = curve(clamp(cast<std::int32_t>(u(x, y)), 0, 255)) - curve(7);
  curve.compute_root();
  const Box box{{0, 37}, {0, 5}};
  const auto memory = bind_random(u, box, 13);
  EXPECT_TRUE(matches_oracle({f}, box, Target::host()));
  schedule_plain_gpu(curve);
  schedule_plain_gpu(f);
  for (const Target& target : gpu_targets()) EXPECT_TRUE(matches_oracle({f}, box, target));
}

}  // namespace
}  // namespace mica::test
