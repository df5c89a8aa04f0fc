// Blocks of which some points lie outside the domain: loads held inside their arrays, stores tested.
// Rows whose end cuts a vector, fewer points than a vector, and one point along each dimension.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "codegen/lower.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

struct Shape {
  std::string name;
  int vec = 4;           ///< elements of 16 bytes, or of 8 where they are narrow
  LoadPolicy rows = {};  ///< Bulk where its rows are whole pieces of 16 bytes
  std::function<TestPipeline()> make;
};
void PrintTo(const Shape& s, std::ostream* out) { *out << s.name; }

/// Each input of another type, with taps to all sides of it.
TestPipeline fields() {
  const std::vector<Var> v = grid_vars(3);
  const ImageParam a(Float(32), 3, "a"), b(Float(64), 3, "b"), c(UInt(16), 3, "c");
  Func next("next");
  Expr first = a(shifted(v, 0, 0)), second = b(shifted(v, 0, 0));
  for (int d = 0; d < 3; ++d) {
    first = first + weight(Float(32), d) * (a(shifted(v, d, -1)) + a(shifted(v, d, 1)));
    second = second + weight(Float(64), d) * (b(shifted(v, d, -2)) - b(shifted(v, d, 1)));
    first = first + cast<float>(c(shifted(v, d, 1)));
  }
  next(v[0], v[1], v[2]) = Tuple(first, second);
  return {"fields", {next}, {next}, {a, b, c}};
}

std::vector<Shape> shapes() {
  const LoadPolicy async = LoadPolicy::AsyncCopy, bulk = LoadPolicy::Bulk;
  return {{"star1_f32", 4, async, [] { return star(Float(32), 3, 1); }},
          {"star4_f32", 4, bulk, [] { return star(Float(32), 3, 4); }},
          {"star4_f64", 2, bulk, [] { return star(Float(64), 3, 4); }},
          {"box1_f64", 2, async, [] { return box(Float(64), 3, 1); }},
          {"star1_u16", 4, async, [] { return star(UInt(16), 3, 1); }},
          {"fields", 2, async, fields}};
}

struct Schedule {
  std::string name;
  std::function<void(Func& f, const std::vector<ImageParam>& inputs, const Shape& shape)> apply;
};
void PrintTo(const Schedule& s, std::ostream* out) { *out << s.name; }

std::vector<Schedule> schedules() {
  using Inputs = std::vector<ImageParam>;
  const auto stage = [](Func& f, const Inputs& inputs, LoadPolicy load, int ahead) {
    for (const ImageParam& u : inputs) {
      f.stage(u, MemoryType::Shared, load);
      if (ahead > 0) f.pipeline(u, ahead);
    }
  };
  const auto march = [](Func& f, int vec, int rows, int chunk) {
    f.gpu_tile("x", "y", 8, 4);
    if (vec > 1) f.vectorize("x", vec);
    if (rows > 1) f.unroll("y", rows);
    f.march("z", chunk);
  };
  return {
      {"loads", [=](Func& f, const Inputs& in,
                    const Shape&) { march(f, 1, 1, 4), stage(f, in, LoadPolicy::TwoStep, 0); }},
      {"loads_vectors_rows",
       [=](Func& f, const Inputs& in, const Shape& s) {
         march(f, s.vec, 2, 5), stage(f, in, LoadPolicy::Strided, 1);
       }},
      {"copies_vectors_rows",
       [=](Func& f, const Inputs& in, const Shape& s) {
         march(f, s.vec, 2, 4), stage(f, in, LoadPolicy::AsyncCopy, 2);
       }},
      {"rows_vectors", [=](Func& f, const Inputs& in,
                           const Shape& s) { march(f, s.vec, 1, 3), stage(f, in, s.rows, 1); }},
      {"window_rows",
       [=](Func& f, const Inputs& in, const Shape&) {
         march(f, 1, 2, 5);
         for (const ImageParam& u : in) f.register_window(u, "z");
       }},
      {"window_stage_vectors",
       [=](Func& f, const Inputs& in, const Shape& s) {
         march(f, s.vec, 1, 0), stage(f, in, LoadPolicy::TwoStep, 1);
         for (const ImageParam& u : in) f.register_window(u, "z");
       }},
      {"window_shuffle_vectors",
       [=](Func& f, const Inputs& in, const Shape& s) {
         f.gpu_tile("x", "y", 32, 2).vectorize("x", s.vec).march("z", 4);
         for (const ImageParam& u : in) f.register_window(u, "z");
         if (s.vec == 4) f.shuffle(in.front(), "x");
       }},
      {"tile_rows",
       [=](Func& f, const Inputs& in, const Shape& s) {
         f.gpu_tile("x", "y", "z", 8, 2, 2).vectorize("x", s.vec);
         stage(f, in, s.rows, 0);
       }},
  };
}

class EdgeBlocks : public testing::TestWithParam<std::tuple<Shape, Schedule, Layout>> {};

TEST_P(EdgeBlocks, GiveTheBitsOfTheOracle) {
  const auto& [shape, schedule, layout] = GetParam();
  TestPipeline p = shape.make();
  schedule.apply(p.output(), p.inputs, shape);
  std::vector<CompiledOutputs> compiled;
  for (const Target& target : all_targets()) compiled.emplace_back(p.outputs, target);
  for (const Box& box : {Box{{0, 1}, {0, 1}, {0, 1}}, Box{{0, 511}, {3, 2}, {1, 2}},
                         Box{{-4, 35}, {0, 11}, {2, 5}}, Box{{8, 3}, {-1, 2}, {0, 9}}}) {
    SCOPED_TRACE(std::to_string(box[0].second) + " points a row");
    const auto keep = p.bind(box, 11, Contents::Ordinary, layout);
    const auto expected = expected_values(p.outputs, box);
    for (CompiledOutputs& one : compiled) EXPECT_TRUE(one.match(expected, box, layout));
  }
}

std::string name_of(const testing::TestParamInfo<EdgeBlocks::ParamType>& tested) {
  return std::get<0>(tested.param).name + "_" + std::get<1>(tested.param).name +
         (std::get<2>(tested.param) == Layout::Dense ? "_dense" : "");
}
INSTANTIATE_TEST_SUITE_P(All, EdgeBlocks,
                         testing::Combine(testing::ValuesIn(shapes()), testing::ValuesIn(schedules()),
                                          testing::Values(Layout::Dense, Layout::Embedded)),
                         name_of);

// Lanes that do not stand side by side stay inside by themselves.
TEST(EdgeBlocksOfVectors, GatherWithinTheirArrays) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy}) {
    const std::vector<Var> v = grid_vars(2);
    const ImageParam u(Float(32), 2, "u"), w(Float(32), 2, "w");
    Func f("f");
    f(v[0], v[1]) = u(v[0], v[1] - 1) + u(v[0] + 1, v[1]) + w(2 * v[0], v[1]) + w(v[0] / 2, v[1]) +
                    w(20 - v[0], v[1]) + w(clamp(cast<int>(w(v[0], v[1])), 0, 3), v[1]);
    TestPipeline p{"gathers", {f}, {f}, {u, w}};
    const Box box{{1, 13}, {0, 7}};
    const auto keep = p.bind(box, 5, Contents::Small, Layout::Dense);
    const auto expected = expected_values(p.outputs, box);
    f.gpu_tile("x", 4).vectorize("x", 4).march("y", 3).stage(u, MemoryType::Shared, load);
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, p.outputs, box, target, Layout::Dense));
    }
  }
}

/// Rows whose first point is aligned and whose last vector is cut: `of` reads u around the point and w
/// where `extent` of w says.
void expect_bits_in_padded_rows(const std::function<Expr(const ImageParam&, const ImageParam&)>& of,
                                const std::function<int(int points)>& extent) {
  for (const LoadPolicy load : {LoadPolicy::TwoStep, LoadPolicy::AsyncCopy, LoadPolicy::Strided}) {
    for (const int n : {1, 35, 41}) {
      SCOPED_TRACE(std::to_string(n) + " points a row");
      const std::vector<Var> v = grid_vars(3);
      ImageParam u(Float(32), 3, "u"), w(Float(32), 3, "w");
      Func f("f");
      f(v[0], v[1], v[2]) = of(u, w);
      auto around = AnyBuffer::with_halo(Float(32), {n, 7, 5}, {4, 1, 1});
      auto beside = AnyBuffer::with_halo(Float(32), {extent(n), 7, 5}, {0, 0, 0});
      fill_random(around, 7);
      fill_random(beside, 8);
      u.set(around);
      w.set(beside);
      const Buffer<float> expected(expected_values({f}, {{0, n}, {0, 7}, {0, 5}}).front());
      f.gpu_tile("x", "y", 8, 2).vectorize("x", 4).unroll("y", 2).march("z", 4);
      f.stage(u, MemoryType::Shared, load);
      for (const Target& target : all_targets()) {
        Buffer<float> out(AnyBuffer::with_halo(Float(32), {n, 7, 5}, {0, 0, 0}));
        f.realize(out, target);
        int different = 0;
        for (int z = 0; z < 5; ++z) {
          for (int y = 0; y < 7; ++y) {
            for (int x = 0; x < n; ++x) different += out(x, y, z) != expected(x, y, z) ? 1 : 0;
          }
        }
        EXPECT_EQ(different, 0);
      }
    }
  }
}

TEST(EdgeBlocksOfPaddedRows, EndInTheMiddleOfAVector) {
  const std::vector<Var> v = grid_vars(3);
  expect_bits_in_padded_rows(
      [&](const ImageParam& u, const ImageParam& w) {
        return u(shifted(v, 0, -4)) + u(shifted(v, 0, 4)) + u(shifted(v, 1, -1)) + u(shifted(v, 1, 1)) +
               u(shifted(v, 2, -1)) + u(shifted(v, 2, 1)) + w(shifted(v, 0, 0));
      },
      [](int points) { return points; });
}
TEST(EdgeBlocksOfPaddedRows, GatherEveryOtherElement) {
  const std::vector<Var> v = grid_vars(3);
  expect_bits_in_padded_rows(
      [&](const ImageParam& u, const ImageParam& w) {
        return u(shifted(v, 1, -1)) + u(shifted(v, 2, 1)) + w(2 * v[0], v[1], v[2]);
      },
      [](int points) { return 2 * points - 1; });
}

// A thread's points reach beyond the tile of which the block holds what is read.
TEST(EdgeBlocksOfTiles, ThatLoopsRoundUpAreTested) {
  const std::vector<Var> v = grid_vars(2);
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(v[0], v[1]) = u(v[0], v[1] - 1) + u(v[0] + 1, v[1]);
  TestPipeline p{"rounded", {f}, {f}, {u}};
  const Box box{{0, 8}, {0, 7}};
  const auto keep = p.bind(box, 5, Contents::Ordinary, Layout::Embedded);
  const auto expected = expected_values(p.outputs, box);
  f.gpu_tile("x", 3).march("y", 3).stage(u, MemoryType::Shared).unroll("x.thread", 2);
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(run_matches(expected, p.outputs, box, target, Layout::Embedded));
  }
}

// A Func computed before the march is computed for a whole chunk, of which the last has fewer planes:
// those before the first that is needed are none of the input's.
TEST(EdgeBlocks, OfChunksThatWalkAnInputBackwards) {
  for (const bool staged : {true, false}) {
    const std::vector<Var> v = grid_vars(2);
    const ImageParam u(Float(32), 2, "u");
    Func back("back"), f("f");
    back(v[0], v[1]) = u(v[0], -v[1]) + 1.0F;
    f(v[0], v[1]) = back(v[0], v[1]);
    TestPipeline p{"backwards", {back, f}, {f}, {u}};
    const Box box{{0, 9}, {0, 11}};
    const auto keep = p.bind(box, 5, Contents::Ordinary, Layout::Dense);
    const auto expected = expected_values(p.outputs, box);
    if (staged) back.stage(u, MemoryType::Shared);
    back.compute_at(f, "x.block");
    f.gpu_tile("x", 4).march("y", 9);
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, p.outputs, box, target, Layout::Dense));
    }
  }
}

// What a kernel itself stores is read for the thread's own points only.
TEST(EdgeBlocksOfUpdates, ReadTheirOwnFuncAtTheirOwnPoints) {
  for (const int vec : {1, 4}) {
    const std::vector<Var> v = grid_vars(2);
    const ImageParam u(Float(32), 2, "u");
    Func b("b"), f("f");
    b(v[0], v[1]) = u(shifted(v, 0, 1)) - u(shifted(v, 1, -1));
    f(v[0], v[1]) = b(shifted(v, 0, -1));
    f(v[0], v[1]) += 0.5F * b(shifted(v, 1, 1)) + b(shifted(v, 0, 0));
    TestPipeline p{"update", {b, f}, {f}, {u}};
    const Box box{{0, 13}, {0, 7}};
    const auto keep = p.bind(box, 5, Contents::Ordinary, Layout::Dense);
    const auto expected = expected_values(p.outputs, box);
    for (Stage stage : {Stage(f), f.update(0)}) {
      stage.gpu_tile("x", "y", 4, 4);
      if (vec > 1) stage.vectorize("x", vec);
    }
    b.compute_at(f, "x.block");
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, p.outputs, box, target, Layout::Dense));
    }
  }
}

// One definition keeps nothing, and has no part in what the other one reads.
TEST(EdgeBlocksOfUpdates, KeepWhatAnotherDefinitionReads) {
  const std::vector<Var> v = grid_vars(2);
  Func carried("carried"), f("f");
  carried(v[0], v[1]) = select(v[0] == 1, 1.0F, carried(v[0] - 1, v[1]) * 0.5F);
  f(v[0], v[1]) = carried(v[0], v[1]);
  f(v[0], v[1]) = 1.0F;
  const Box box{{0, 3}, {0, 5}};
  const auto expected = expected_values({f}, box);
  carried.compute_at(f, "y.thread");
  f.gpu_tile("y", 4);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {f}, box, target));
}

}  // namespace
}  // namespace mica::test
