// Marched kernels against the oracle: every way to keep planes, on stencils of many shapes.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

using Apply = std::function<void(TestPipeline&)>;

struct MarchSchedule {
  std::string name;
  Apply apply;
};
void PrintTo(const MarchSchedule& s, std::ostream* out) { *out << s.name; }

struct Shape {
  std::string name;
  TestPipeline (*make)();
};
void PrintTo(const Shape& s, std::ostream* out) { *out << s.name; }

void tile(TestPipeline& p, int chunk, int vec = 1, int rows = 1) {
  Func& f = p.output();
  const auto v = f.args();
  const std::size_t last = v.size() - 1;
  if (v.size() == 2) {
    f.gpu_tile(v[0], 16);
  } else {
    f.gpu_tile(v[0], v[1], 8, 4);
  }
  if (vec > 1) f.vectorize(v[0], vec);
  if (rows > 1 && v.size() > 2) f.unroll(v[1], rows);
  if (v.size() == 4) f.gpu_blocks(v[2]);  // with a whole column a block: a grid has three axes
  f.march(v[last], v.size() == 4 ? 0 : chunk);
}
Var marched(TestPipeline& p) { return p.output().args().back(); }

std::vector<MarchSchedule> schedules() {
  auto with = [](int chunk, int vec, int rows, const Apply& rest) {
    return [=](TestPipeline& p) {
      tile(p, chunk, vec, rows);
      rest(p);
    };
  };
  auto nothing = [](TestPipeline&) {};
  auto window = [](TestPipeline& p) { p.output().register_window(p.inputs[0], marched(p)); };
  auto stage = [](LoadPolicy load) {
    return [=](TestPipeline& p) { p.output().stage(p.inputs[0], MemoryType::Shared, load); };
  };
  auto both = [](TestPipeline& p) {
    p.output().stage(p.inputs[0], MemoryType::Shared).register_window(p.inputs[0], marched(p));
  };
  auto scatter = [](Partials partials) {
    return [=](TestPipeline& p) { p.output().scatter(marched(p), partials); };
  };
  auto all = [](std::vector<Apply> parts) {
    return [=](TestPipeline& p) {
      for (const auto& part : parts) part(p);
    };
  };
  auto ahead = [](int depth) {
    return [=](TestPipeline& p) { p.output().pipeline(p.inputs[0], depth); };
  };
  return {
      {"plain", with(4, 1, 1, nothing)},
      {"whole_column", with(0, 1, 1, nothing)},
      {"window", with(5, 1, 1, window)},
      {"window_vectors_rows", with(5, 4, 2, window)},
      {"window_ahead", with(5, 2, 1, all({window, ahead(2)}))},
      {"stage_two_step", with(4, 1, 1, stage(LoadPolicy::TwoStep))},
      {"stage_strided_vectors", with(4, 4, 1, stage(LoadPolicy::Strided))},
      {"stage_halo_threads", with(3, 1, 1, stage(LoadPolicy::HaloThreads))},
      {"copies", with(4, 1, 1, stage(LoadPolicy::AsyncCopy))},
      {"copies_ahead", with(4, 4, 2, all({stage(LoadPolicy::AsyncCopy), ahead(2)}))},
      {"copies_scatter",
       with(5, 4, 2, all({scatter(Partials::EveryPlane), stage(LoadPolicy::AsyncCopy), ahead(3)}))},
      {"copies_centre_window",
       with(5, 4, 1, all({scatter(Partials::Centre), stage(LoadPolicy::AsyncCopy), window, ahead(1)}))},
      {"copies_window_ahead", with(6, 1, 1, all({stage(LoadPolicy::AsyncCopy), window, ahead(2)}))},
      {"copies_window_farther_ahead_than_the_chunk",
       with(2, 2, 1, all({stage(LoadPolicy::AsyncCopy), window, ahead(4)}))},
      {"copies_window", with(5, 1, 1, all({stage(LoadPolicy::AsyncCopy), window}))},
      {"stage_ahead", with(4, 2, 2, all({stage(LoadPolicy::TwoStep), ahead(1)}))},
      {"stage_far_ahead", with(2, 1, 1, all({stage(LoadPolicy::TwoStep), ahead(3)}))},
      {"both_farther_ahead_than_the_chunk", with(2, 1, 1, all({both, ahead(3)}))},
      {"both", with(6, 1, 1, both)},
      {"both_vectors_rows", with(6, 4, 2, both)},
      {"both_ahead", with(6, 2, 1, all({both, ahead(1)}))},
      {"scatter", with(5, 1, 1, scatter(Partials::EveryPlane))},
      {"scatter_window", with(5, 4, 1, all({scatter(Partials::EveryPlane), window}))},
      {"scatter_stage", with(5, 4, 2, all({scatter(Partials::EveryPlane), stage(LoadPolicy::TwoStep)}))},
      {"scatter_both", with(5, 2, 2, all({scatter(Partials::EveryPlane), both}))},
      {"scatter_both_ahead", with(5, 2, 2, all({scatter(Partials::EveryPlane), both, ahead(2)}))},
      {"centre_both", with(5, 4, 1, all({scatter(Partials::Centre), both}))},
      {"centre_stage", with(0, 1, 1, all({scatter(Partials::Centre), stage(LoadPolicy::TwoStep)}))},
  };
}

std::vector<Shape> shapes() {
  return {{"star2_radius1_f32", [] { return star(Float(32), 2, 1); }},
          {"star2_radius3_f64", [] { return star(Float(64), 2, 3); }},
          {"star3_radius1_f32", [] { return star(Float(32), 3, 1); }},
          {"star3_radius4_f32", [] { return star(Float(32), 3, 4); }},
          {"star3_radius2_f64", [] { return star(Float(64), 3, 2); }},
          {"star4_radius1_f32", [] { return star(Float(32), 4, 1); }},
          {"box2_radius1_f32", [] { return box(Float(32), 2, 1); }},
          {"box3_radius1_f32", [] { return box(Float(32), 3, 1); }},
          {"box2_radius2_f64", [] { return box(Float(64), 2, 2); }}};
}

Box extents_of(int dimensions) {
  switch (dimensions) {
    case 2: return {{-3, 37}, {5, 19}};
    case 3: return {{2, 37}, {-4, 13}, {7, 17}};
    default: return {{2, 19}, {-4, 7}, {7, 11}, {0, 3}};
  }
}

class March : public testing::TestWithParam<std::tuple<Shape, MarchSchedule>> {};

TEST_P(March, GivesTheBitsOfTheOracle) {
  const auto& [shape, schedule] = GetParam();
  TestPipeline p = shape.make();
  const Box box = extents_of(p.output().dimensions());
  const auto keep = p.bind(box, 7);
  const auto expected = expected_values(p.outputs, box);
  schedule.apply(p);
  for (const auto& target : all_targets()) {
    EXPECT_TRUE(run_matches(expected, p.outputs, box, target));
  }
}

// The last chunk has fewer planes than the others.
TEST(MarchedChunks, AFuncOfTheWholeChunkEndsWithTheDomain) {
  const std::vector<Var> v = grid_vars(2);
  const ImageParam u(Float(32), 2, "u");
  Func b("b"), next("next");
  b(v[0], v[1]) = u(v[0], v[1]) * 0.5F;
  next(v[0], v[1]) = b(v[0] - 1, v[1]) + b(v[0], v[1] + 1);
  TestPipeline p{"chunk", {b, next}, {next}, {u}};
  const Box box{{0, 24}, {3, 9}};
  const auto keep = p.bind(box, 7);
  next.gpu_tile(v[0], 8).march(v[1], 7);
  b.compute_at(next, "x.block");
  EXPECT_TRUE(matches_oracle(p.outputs, box, Target::gpu_emulator()));
}

INSTANTIATE_TEST_SUITE_P(Stencils, March,
                         testing::Combine(testing::ValuesIn(shapes()), testing::ValuesIn(schedules())),
                         [](const auto& tested) {
                           return std::get<0>(tested.param).name + "_" + std::get<1>(tested.param).name;
                         });

}  // namespace
}  // namespace mica::test
