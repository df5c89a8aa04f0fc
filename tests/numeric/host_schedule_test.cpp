// Loop directives on the host: no schedule changes a bit or writes outside the output.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"
#include "tests/support/test_types.h"

namespace mica::test {
namespace {

const Box kBox{{-5, 41}, {3, 13}};
/// Extents that are whole tiles of every factor used below.
const Box kWholeTiles{{-5, 48}, {3, 16}};

struct LoopSchedule {
  std::string name;
  std::function<void(Func&, TailStrategy)> apply;
};
void PrintTo(const LoopSchedule& s, std::ostream* out) { *out << s.name; }

std::vector<LoopSchedule> loop_schedules() {
  using Tail = TailStrategy;
  return {
      {"split", [](Func& f, Tail t) { f.split("x", "xo", "xi", 8, t); }},
      {"split_by_one", [](Func& f, Tail t) { f.split("x", "xo", "xi", 1, t); }},
      {"split_twice",
       [](Func& f, Tail t) { f.split("x", "xo", "xi", 16, t).split("xi", "xm", "xj", 4, t); }},
      {"split_outer",
       [](Func& f, Tail t) { f.split("x", "xo", "xi", 8, t).split("xo", "xa", "xb", 2, t); }},
      {"split_both",
       [](Func& f, Tail t) { f.split("x", "xo", "xi", 8, t).split("y", "yo", "yi", 4, t); }},
      {"tile", [](Func& f, Tail t) { f.tile("x", "y", "xo", "yo", "xi", "yi", 16, 4, t); }},
      {"tile_larger_than_the_box",
       [](Func& f, Tail t) {
         if (t == Tail::RoundUp) t = Tail::GuardWithIf;
         f.tile("x", "y", "xo", "yo", "xi", "yi", 64, 32, t);
       }},
      {"tile_fused",
       [](Func& f, Tail t) {
         f.tile("x", "y", "xo", "yo", "xi", "yi", 8, 4, t).fuse("xo", "yo", "tile").parallel("tile");
       }},
      {"reorder", [](Func& f, Tail) { f.reorder("y", "x"); }},
      {"fuse", [](Func& f, Tail) { f.fuse("x", "y", "xy"); }},
      {"fuse_split_unroll",
       [](Func& f, Tail) {
         f.fuse("x", "y", "xy").split("xy", "o", "i", 8, Tail::GuardWithIf).unroll("i");
       }},
      {"unroll", [](Func& f, Tail t) { f.unroll("x", 4, t); }},
      {"unroll_y", [](Func& f, Tail t) { f.unroll("y", 2, t); }},
      {"vectorize_2", [](Func& f, Tail t) { f.vectorize("x", 2, t); }},
      {"vectorize_8", [](Func& f, Tail t) { f.vectorize("x", 8, t); }},
      {"vectorize_16", [](Func& f, Tail t) { f.vectorize("x", 16, t); }},
      {"vectorize_y", [](Func& f, Tail t) { f.vectorize("y", 4, t); }},
      {"vectorize_y_inside", [](Func& f, Tail t) { f.reorder("y", "x").vectorize("y", 4, t); }},
      {"rows_written_out",
       [](Func& f, Tail t) {
         f.split("y", "yo", "yi", 4, t).vectorize("x", 8, t).reorder("x.vec", "yi", "x", "yo");
         f.unroll("yi");
       }},
      {"parallel_rows_written_out",
       [](Func& f, Tail t) {
         f.split("y", "yo", "yi", 2, t).split("x", "xo", "xi", 4, t);
         f.reorder("xi", "yi", "xo", "yo").unroll("yi").vectorize("xi").parallel("yo");
       }},
      {"vectorize_unroll",
       [](Func& f, Tail t) { f.split("x", "xo", "xi", 16, t).vectorize("xi", 4).unroll("xi", 2); }},
      {"parallel", [](Func& f, Tail) { f.parallel("y"); }},
      {"parallel_both", [](Func& f, Tail) { f.parallel("y").parallel("x"); }},
      {"parallel_chunks", [](Func& f, Tail) { f.parallel("y", 4); }},
      {"parallel_tiles_of_vectors",
       [](Func& f, Tail t) {
         f.tile("x", "y", "xo", "yo", "xi", "yi", 16, 4, t)
             .vectorize("xi", 8)
             .unroll("yi", 2)
             .parallel("yo");
       }},
  };
}

class HostLoops : public ::testing::TestWithParam<LoopSchedule> {};

TEST_P(HostLoops, OfAStarWithEachTailStrategy) {
  for (const TailStrategy tail : {TailStrategy::Auto, TailStrategy::GuardWithIf,
                                  TailStrategy::ShiftInwards, TailStrategy::RoundUp}) {
    TestPipeline p = star(Float(32), 2, 2);
    const Box& box = tail == TailStrategy::RoundUp ? kWholeTiles : kBox;
    const auto memory = p.bind(box, 1);
    GetParam().apply(p.output(), tail);
    EXPECT_TRUE(matches_oracle(p.outputs, box, Target::host())) << to_string(tail);
  }
}

TEST_P(HostLoops, OfExtentsBelowTheFactor) {
  for (const TailStrategy tail : {TailStrategy::GuardWithIf, TailStrategy::ShiftInwards}) {
    TestPipeline p = star(Float(64), 2, 1);
    const Box box{{7, 3}, {-1, 2}};
    const auto memory = p.bind(box, 2);
    GetParam().apply(p.output(), tail);
    EXPECT_TRUE(matches_oracle(p.outputs, box, Target::host())) << to_string(tail);
  }
}

TEST_P(HostLoops, OfARootProducerAndItsConsumer) {
  TestPipeline p = blur();
  const auto memory = p.bind(kBox, 3);
  const std::vector<AnyBuffer> expected = expected_values(p.outputs, kBox);
  p.func("blur_x").compute_root();
  GetParam().apply(p.func("blur_x"), TailStrategy::GuardWithIf);
  GetParam().apply(p.func("blur_y"), TailStrategy::GuardWithIf);
  EXPECT_TRUE(run_matches(expected, p.outputs, kBox, Target::host()));
}

TEST_P(HostLoops, OfATuple) {
  TestPipeline p = tuple_stats();
  const auto memory = p.bind(kBox, 4);
  GetParam().apply(p.output(), TailStrategy::GuardWithIf);
  EXPECT_TRUE(matches_oracle(p.outputs, kBox, Target::host()));
}

INSTANTIATE_TEST_SUITE_P(Each, HostLoops, ::testing::ValuesIn(loop_schedules()),
                         case_name<LoopSchedule>);

class HostVectorsOfType : public ::testing::TestWithParam<Type> {};

TEST_P(HostVectorsOfType, OfEightLanes) {
  TestPipeline p = star(GetParam(), 2, 1);
  const auto memory = p.bind(kBox, 5);
  p.output().vectorize("x", 8);
  EXPECT_TRUE(matches_oracle(p.outputs, kBox, Target::host()));
}

INSTANTIATE_TEST_SUITE_P(Types, HostVectorsOfType, ::testing::ValuesIn(number_types()), type_name);

class HostVectorsOfPipeline : public ::testing::TestWithParam<PipelineMaker> {};

TEST_P(HostVectorsOfPipeline, WithEveryOutputInVectorsAndParallel) {
  TestPipeline p = GetParam().make();
  const Box full{{-5, 39}, {3, 11}, {-2, 5}, {0, 3}};
  const Box box(full.begin(), full.begin() + GetParam().dimensions);
  const auto memory = p.bind(box, 6);
  for (Func& f : p.outputs) {
    f.vectorize("x", 8);
    if (box.size() > 1) f.parallel(f.function()->args.back());
  }
  EXPECT_TRUE(matches_oracle(p.outputs, box, Target::host()));
}

INSTANTIATE_TEST_SUITE_P(All, HostVectorsOfPipeline, ::testing::ValuesIn(pipeline_makers()),
                         case_name<PipelineMaker>);

TEST(HostTiles, HoldTheirProducerInsideTheTile) {
  for (const char* const level : {"xo", "yo", "yi"}) {
    TestPipeline p = blur();
    const auto memory = p.bind(kBox, 7);
    p.output().tile("x", "y", "xo", "yo", "xi", "yi", 16, 4).vectorize("xi", 8).parallel("yo");
    p.func("blur_x").compute_at(p.output(), level).vectorize("x", 8);
    EXPECT_TRUE(matches_oracle(p.outputs, kBox, Target::host())) << level;
  }
}

TEST(HostTiles, HoldAChainOfProducers) {
  for (const TailStrategy tail : {TailStrategy::GuardWithIf, TailStrategy::ShiftInwards}) {
    TestPipeline p = gradient();
    const auto memory = p.bind(kBox, 8);
    Func& out = p.output();
    out.tile("x", "y", "xo", "yo", "xi", "yi", 8, 8, tail);
    p.func("smooth").compute_at(out, "xo").store_in(MemoryType::Stack);
    p.func("gx").compute_at(out, "xo");
    p.func("gy").compute_at(out, "yi");
    EXPECT_TRUE(matches_oracle(p.outputs, kBox, Target::host())) << to_string(tail);
  }
}

TEST(HostUpdates, CanBeVectorizedAlongPureVariables) {
  TestPipeline p = accumulate();
  const auto memory = p.bind(kBox, 9);
  Func& acc = p.func("acc");
  acc.compute_root().vectorize("x", 4);
  acc.update(0).vectorize("x", 8).parallel("y");
  EXPECT_TRUE(matches_oracle(p.outputs, kBox, Target::host()));
}

TEST(HostUpdates, CanReorderPureAndReductionLoops) {
  TestPipeline p = accumulate();
  const auto memory = p.bind(kBox, 10);
  Func& acc = p.func("acc");
  acc.compute_root();
  acc.update(0).reorder("x", "r.x", "y", "r.y");
  EXPECT_TRUE(matches_oracle(p.outputs, kBox, Target::host()));
}

TEST(HostUpdates, OfAProducerInsideATile) {
  TestPipeline p = accumulate();
  const auto memory = p.bind(kBox, 11);
  p.output().tile("x", "y", "xo", "yo", "xi", "yi", 8, 4);
  p.func("acc").compute_at(p.output(), "xo");
  EXPECT_TRUE(matches_oracle(p.outputs, kBox, Target::host()));
}

TEST(HostWrappers, OfInputsAndFuncsCopyWhatTheirConsumerReads) {
  TestPipeline p = blur();
  const auto memory = p.bind(kBox, 12);
  Func& out = p.output();
  Func& producer = p.func("blur_x");
  out.tile("x", "y", "xo", "yo", "xi", "yi", 16, 4);
  p.inputs.front().in(producer).compute_at(out, "xo");
  producer.compute_at(out, "xo");
  producer.in(out).compute_at(out, "yi");
  EXPECT_TRUE(matches_oracle(p.outputs, kBox, Target::host()));
}

}  // namespace
}  // namespace mica::test
