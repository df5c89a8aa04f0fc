// Taps that come from the warp's other threads, against the oracle.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

using Apply = std::function<void(Func&, const ImageParam&)>;

struct ShuffleSchedule {
  std::string name;
  int chunk, rows;
  Apply rest;
};
void PrintTo(const ShuffleSchedule& s, std::ostream* out) { *out << s.name; }

struct Shape {
  std::string name;
  TestPipeline (*make)();
  int vec;
};
void PrintTo(const Shape& s, std::ostream* out) { *out << s.name; }

std::vector<ShuffleSchedule> schedules() {
  const auto last = [](const Func& f) { return f.args().back(); };
  const Apply nothing = [](Func&, const ImageParam&) {};
  const Apply window = [=](Func& f, const ImageParam& u) { f.register_window(u, last(f)); };
  const Apply scatter = [=](Func& f, const ImageParam&) { f.scatter(last(f)); };
  const auto stage = [](LoadPolicy load) -> Apply {
    return [=](Func& f, const ImageParam& u) { f.stage(u, MemoryType::Shared, load); };
  };
  const auto both = [](const Apply& a, const Apply& b) -> Apply {
    return [=](Func& f, const ImageParam& u) { a(f, u), b(f, u); };
  };
  return {
      {"plain", 0, 1, nothing},
      {"plain_rows", 0, 2, nothing},
      {"staged_tile", 0, 1, stage(LoadPolicy::TwoStep)},
      {"march", 3, 1, nothing},
      {"march_window", 4, 1, window},
      {"march_stage", 3, 2, stage(LoadPolicy::AsyncCopy)},
      {"march_stage_window", 4, 2, both(stage(LoadPolicy::TwoStep), window)},
      {"march_scatter", 4, 1, scatter},
      {"march_scatter_stage_window", 3, 1, both(scatter, both(stage(LoadPolicy::AsyncCopy), window))},
  };
}

std::vector<Shape> shapes() {
  return {{"star2_radius1_f32", [] { return star(Float(32), 2, 1); }, 1},
          {"star2_radius2_f64", [] { return star(Float(64), 2, 2); }, 2},
          {"star3_radius1_f32_vectors", [] { return star(Float(32), 3, 1); }, 4},
          {"star3_radius4_f32", [] { return star(Float(32), 3, 4); }, 4},
          {"star3_radius3_f32", [] { return star(Float(32), 3, 3); }, 4},
          {"box2_radius1_f32", [] { return box(Float(32), 2, 1); }, 1},
          {"box3_radius1_f64", [] { return box(Float(64), 3, 1); }, 2}};
}
/// Sums of integers are not scattered, and blocks of HaloThreads are wider than their warps' rows.
std::vector<Shape> small_shapes() {
  return {{"box2_radius2_u16", [] { return box(UInt(16), 2, 2); }, 2},
          {"star2_radius1_f32", [] { return star(Float(32), 2, 1); }, 1}};
}
std::vector<ShuffleSchedule> small_schedules() {
  std::vector<ShuffleSchedule> list = schedules();
  std::erase_if(list, [](const auto& s) { return s.name.find("scatter") != std::string::npos; });
  list.push_back({"halo_threads", 0, 1, [](Func& f, const ImageParam& u) {
                    f.stage(u, MemoryType::Shared, LoadPolicy::HaloThreads);
                  }});
  return list;
}

class ShuffledTaps : public testing::TestWithParam<std::tuple<Shape, ShuffleSchedule, Layout>> {};

TEST_P(ShuffledTaps, AreTheOraclesBits) {
  const auto& [shape, schedule, layout] = GetParam();
  TestPipeline p = shape.make();
  Func& f = p.output();
  const std::int64_t width = std::int64_t{32} * shape.vec;
  // Two whole blocks in x and a part of one.
  const Box box = f.dimensions() == 2 ? Box{{-4, 2 * width + 12}, {5, 7}}
                                      : Box{{4, 2 * width + 12}, {-4, 6}, {7, 8}};
  const auto keep = p.bind(box, 5, Contents::Ordinary, layout);
  const auto expected = expected_values(p.outputs, box);
  const auto v = f.args();
  const bool march = schedule.chunk > 0;
  if (v.size() == 2 && march) {
    f.gpu_tile(v[0], 32);
  } else if (v.size() == 2 || march) {
    f.gpu_tile(v[0], v[1], 32, 2);
  } else {
    f.gpu_tile(v[0], v[1], v[2], 32, 2, 2);
  }
  if (shape.vec > 1) f.vectorize(v[0], shape.vec);
  if (schedule.rows > 1 && !(v.size() == 2 && march)) f.unroll(v[1], schedule.rows);
  if (march) f.march(v.back(), schedule.chunk);
  schedule.rest(f, p.inputs[0]);
  f.shuffle(p.inputs[0], v[0]);
  for (const auto& target : all_targets()) {
    EXPECT_TRUE(run_matches(expected, p.outputs, box, target, layout));
  }
}

std::string name_of(const testing::TestParamInfo<ShuffledTaps::ParamType>& tested) {
  return std::get<0>(tested.param).name + "_" + std::get<1>(tested.param).name +
         (std::get<2>(tested.param) == Layout::Dense ? "_aligned" : "");
}
INSTANTIATE_TEST_SUITE_P(Schedules, ShuffledTaps,
                         testing::Combine(testing::ValuesIn(shapes()), testing::ValuesIn(schedules()),
                                          testing::Values(Layout::Dense)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Small, ShuffledTaps,
                         testing::Combine(testing::ValuesIn(small_shapes()),
                                          testing::ValuesIn(small_schedules()),
                                          testing::Values(Layout::Dense, Layout::Embedded)),
                         name_of);

TEST(Shuffle, OfCopiesThatTwoFuncsOfAKernelHold) {
  const Var x("x"), y("y"), z("z");
  const ImageParam u(Float(32), 3, "u");
  Func once("once"), next("next");
  once(x, y, z) = 0.5F * u(x - 1, y, z) + u(x, y, z) - 0.3F * u(x + 1, y, z) + u(x, y + 1, z);
  next(x, y, z) = once(x, y, z) + 0.7F * once(x, y, z - 1) + u(x - 1, y, z) * 0.1F + u(x, y, z) -
                  u(x + 1, y, z) * 0.9F;
  const Box box{{-3, 101}, {2, 13}, {0, 9}};
  const auto memory = bind_demanded({next}, box, {u}, 5);
  const std::vector<AnyBuffer> expected = expected_values({next}, box);
  next.gpu_tile(x, y, 32, 4).march(z, 4).stage(u, MemoryType::Shared).shuffle(u, x);
  once.compute_at(next, "z.march").store_in(MemoryType::Register);
  once.stage(u, MemoryType::Shared);
  for (const Target& target : all_targets()) EXPECT_TRUE(run_matches(expected, {next}, box, target));
}

}  // namespace
}  // namespace mica::test
