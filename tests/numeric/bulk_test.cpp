// Rows that pass by the registers: bulk copies and asynchronous copies into staged boxes, marched and
// not, against the oracle. The emulator finds reads of what is still under way.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/check_targets.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

using Apply = std::function<void(TestPipeline&)>;

struct CopySchedule {
  std::string name;
  Apply apply;
};
void PrintTo(const CopySchedule& s, std::ostream* out) { *out << s.name; }

struct Shape {
  std::string name;
  std::function<TestPipeline()> make;
};
void PrintTo(const Shape& s, std::ostream* out) { *out << s.name; }

/// A star whose taps in x reach whole pieces of 16 bytes, and `radius` far in the other dimensions.
TestPipeline wide_star(Type type, int dimensions, int radius) {
  const std::vector<Var> vars = grid_vars(dimensions);
  const ImageParam u(type, dimensions, "u");
  Func next("next");
  const int across = type.bytes() == 8 && radius <= 2 ? 2 : 4;
  int taps = 0;
  Expr total = weight(type, taps++) * u(shifted(vars, 0, 0));
  for (int d = 0; d < dimensions; ++d) {
    for (int r = 1; r <= (d == 0 ? across : radius); ++r) {
      total = total + weight(type, taps++) * (u(shifted(vars, d, -r)) + u(shifted(vars, d, r)));
    }
  }
  next(shifted(vars, 0, 0)) = total;
  return {"wide_star", {next}, {next}, {u}};
}

void stage(TestPipeline& p, LoadPolicy load) { p.output().stage(p.inputs[0], MemoryType::Shared, load); }
void tile(TestPipeline& p, int threads_x) {
  if (p.output().dimensions() == 2) {
    p.output().gpu_tile("x", "y", threads_x, 4);
  } else {
    p.output().gpu_tile("x", "y", "z", threads_x, 4, 2);
  }
}

std::vector<CopySchedule> tiles() {
  std::vector<CopySchedule> list;
  for (const LoadPolicy load : {LoadPolicy::AsyncCopy, LoadPolicy::Bulk}) {
    const std::string name = to_string(load);
    list.push_back({name, [=](TestPipeline& p) { tile(p, 8), stage(p, load); }});
    list.push_back({name + "_vectors", [=](TestPipeline& p) {
                      tile(p, 2), stage(p, load);
                      p.output().vectorize("x", 4);
                    }});
  }
  return list;
}
/// Three inputs, each with taps to all sides.
TestPipeline three_inputs() {
  const std::vector<Var> vars = grid_vars(3);
  const ImageParam a(Float(32), 3, "a"), b(Float(32), 3, "b"), c(Float(64), 3, "c");
  Func next("next");
  Expr total = a(shifted(vars, 0, 0)) * b(shifted(vars, 0, 0));
  for (int d = 0; d < 3; ++d) {
    const int across = d == 0 ? 4 : 1;
    total = total + weight(Float(32), d) * a(shifted(vars, d, across)) * a(shifted(vars, d, -across)) -
            b(shifted(vars, d, 2 * across)) * b(shifted(vars, d, -across));
    total = total + cast<float>(c(shifted(vars, d, across)) * c(shifted(vars, d, -2 * across)));
  }
  next(shifted(vars, 0, 0)) = total;
  return {"three_inputs", {next}, {next}, {a, b, c}};
}

std::vector<Shape> shapes() {
  return {{"star2_radius1_f32", [] { return wide_star(Float(32), 2, 1); }},
          {"star2_radius4_f64", [] { return wide_star(Float(64), 2, 4); }},
          {"star3_radius1_f64", [] { return wide_star(Float(64), 3, 1); }},
          {"star3_radius2_f64", [] { return wide_star(Float(64), 3, 2); }},
          {"star3_radius3_f32", [] { return wide_star(Float(32), 3, 3); }},
          {"star3_radius4_f32", [] { return wide_star(Float(32), 3, 4); }}};
}

// ---- along a march ---------------------------------------------------------------------------------

/// A marched schedule of bulk copies, and what stands beside them.
Apply marched(int chunk, int vec, int rows,
              const std::function<void(Func&, const TestPipeline&)>& rest) {
  return [=](TestPipeline& p) {
    Func& f = p.output();
    const auto v = f.args();
    if (v.size() == 2) {
      f.gpu_tile(v[0], 16 / vec);
    } else {
      f.gpu_tile(v[0], v[1], 16 / vec, 4);
    }
    if (vec > 1) f.vectorize(v[0], vec);
    if (rows > 1 && v.size() > 2) f.unroll(v[1], rows);
    f.march(v.back(), chunk);
    stage(p, LoadPolicy::Bulk);
    rest(f, p);
  };
}

std::vector<CopySchedule> marches() {
  const auto nothing = [](Func&, const TestPipeline&) {};
  const auto ahead = [](int depth) {
    return [=](Func& f, const TestPipeline& p) { f.pipeline(p.inputs[0], depth); };
  };
  const auto window = [](Func& f, const TestPipeline& p) {
    f.register_window(p.inputs[0], f.args().back());
  };
  const auto scatter = [](Partials partials) {
    return [=](Func& f, const TestPipeline&) { f.scatter(f.args().back(), partials); };
  };
  const auto both = [](auto a, auto b) {
    return [=](Func& f, const TestPipeline& p) { a(f, p), b(f, p); };
  };
  return {
      {"bulk", marched(4, 1, 1, nothing)},
      {"bulk_whole_column", marched(0, 1, 1, nothing)},
      {"bulk_vectors_rows", marched(5, 4, 2, nothing)},
      {"bulk_ahead", marched(4, 1, 1, ahead(2))},
      {"bulk_vectors_rows_ahead", marched(5, 2, 2, ahead(1))},
      {"bulk_farther_ahead_than_the_chunk", marched(2, 1, 1, ahead(3))},
      {"bulk_window", marched(5, 4, 1, window)},
      {"bulk_window_ahead", marched(6, 1, 1, both(window, ahead(2)))},
      {"bulk_window_farther_ahead_than_the_chunk", marched(2, 2, 1, both(window, ahead(4)))},
      {"bulk_scatter", marched(5, 1, 2, scatter(Partials::EveryPlane))},
      {"bulk_scatter_ahead", marched(5, 4, 1, both(scatter(Partials::EveryPlane), ahead(3)))},
      {"bulk_centre_window_ahead",
       marched(0, 4, 1, both(scatter(Partials::Centre), both(window, ahead(1))))},
  };
}

/// Planes that further warps copy.
std::vector<CopySchedule> split_warps() {
  const auto split = [](LoadPolicy load, int warps, int depth, bool window) -> Apply {
    return [=](TestPipeline& p) {
      Func& f = p.output();
      const auto v = f.args();
      if (v.size() == 2) {
        f.gpu_tile(v[0], 32);
      } else {
        f.gpu_tile(v[0], v[1], 8, 8).vectorize(v[0], 2);
      }
      f.march(v.back(), 5);
      stage(p, load);
      if (window) f.register_window(p.inputs[0], v.back());
      f.pipeline(p.inputs[0], depth).warp_split(warps);
    };
  };
  return {
      {"split_two_step", split(LoadPolicy::TwoStep, 1, 0, false)},
      {"split_two_step_window_ahead", split(LoadPolicy::TwoStep, 2, 1, true)},
      {"split_async", split(LoadPolicy::AsyncCopy, 1, 0, false)},
      {"split_async_ahead", split(LoadPolicy::AsyncCopy, 3, 2, false)},
      {"split_async_window_ahead", split(LoadPolicy::AsyncCopy, 1, 2, true)},
      {"split_bulk", split(LoadPolicy::Bulk, 1, 0, false)},
      {"split_bulk_window_ahead", split(LoadPolicy::Bulk, 1, 2, true)},
  };
}

/// Dense inputs of these boxes start at a whole piece of 16 bytes, rows included; embedded ones do not.
Box extents_of(int dimensions) {
  if (dimensions == 2) return {{-3, 40}, {5, 19}};
  return {{2, 40}, {-4, 13}, {7, 17}};
}

class Copies : public testing::TestWithParam<std::tuple<Shape, CopySchedule, Layout>> {};

TEST_P(Copies, GiveTheBitsOfTheOracle) {
  const auto& [shape, schedule, layout] = GetParam();
  TestPipeline p = shape.make();
  const Box box = extents_of(p.output().dimensions());
  const auto keep = p.bind(box, 7, Contents::Ordinary, layout);
  const auto expected = expected_values(p.outputs, box);
  schedule.apply(p);
  for (const auto& target : all_targets()) {
    EXPECT_TRUE(run_matches(expected, p.outputs, box, target, layout));
  }
}

// ---- beside one another ------------------------------------------------------------------------------

std::vector<CopySchedule> mixtures() {
  const auto with = [](LoadPolicy a, LoadPolicy b, LoadPolicy c, int chunk, std::vector<int> ahead) {
    return [=](TestPipeline& p) {
      Func& f = p.output();
      if (chunk > 0) {
        f.gpu_tile("x", "y", 8, 4).march("z", chunk);
      } else {
        f.gpu_tile("x", "y", "z", 8, 4, 2);
      }
      const LoadPolicy loads[] = {a, b, c};
      for (std::size_t i = 0; i < 3; ++i) {
        f.stage(p.inputs[i], MemoryType::Shared, loads[i]);
        if (chunk > 0 && ahead[i] > 0) f.pipeline(p.inputs[i], ahead[i]);
      }
    };
  };
  const LoadPolicy bulk = LoadPolicy::Bulk, async = LoadPolicy::AsyncCopy, plain = LoadPolicy::TwoStep;
  return {{"three_in_bulk", with(bulk, bulk, bulk, 4, {0, 0, 0})},
          {"three_in_bulk_ahead", with(bulk, bulk, bulk, 5, {1, 3, 2})},
          {"bulk_async_plain", with(bulk, async, plain, 4, {0, 0, 0})},
          {"bulk_async_plain_ahead", with(bulk, async, plain, 5, {2, 1, 1})},
          {"async_bulk_bulk_ahead", with(async, bulk, bulk, 2, {3, 0, 3})},
          {"tile", with(bulk, bulk, async, 0, {})},
          {"tile_plain", with(async, plain, bulk, 0, {})}};
}

std::string name_of(const testing::TestParamInfo<Copies::ParamType>& tested) {
  return std::get<0>(tested.param).name + "_" + std::get<1>(tested.param).name +
         (std::get<2>(tested.param) == Layout::Dense ? "_aligned" : "");
}
INSTANTIATE_TEST_SUITE_P(Tiles, Copies,
                         testing::Combine(testing::ValuesIn(shapes()), testing::ValuesIn(tiles()),
                                          testing::Values(Layout::Dense, Layout::Embedded)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Marches, Copies,
                         testing::Combine(testing::ValuesIn(shapes()), testing::ValuesIn(marches()),
                                          testing::Values(Layout::Dense, Layout::Embedded)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(SplitWarps, Copies,
                         testing::Combine(testing::ValuesIn({shapes()[0], shapes()[3], shapes()[5]}),
                                          testing::ValuesIn(split_warps()),
                                          testing::Values(Layout::Dense, Layout::Embedded)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Mixtures, Copies,
                         testing::Combine(testing::Values(Shape{"three_inputs", three_inputs}),
                                          testing::ValuesIn(mixtures()),
                                          testing::Values(Layout::Dense, Layout::Embedded)),
                         name_of);

// Rows of the tile's 32 points and one piece more: 34 of f64, 36 of f32, 40 of f16, 48 of i8.
TEST(BulkRows, OfAnOddNumberOfPiecesAreWaitedForWhole) {
  for (const Type type : {Float(32), Float(64), Float(16), BFloat(16), Int(8), UInt(16), Int(64)}) {
    for (const bool march : {false, true}) {
      SCOPED_TRACE(to_string(type) + (march ? " along a march" : " in tiles"));
      const auto piece = 16 / type.bytes();
      const std::vector<Var> v = grid_vars(3);
      const ImageParam u(type, 3, "u");
      Func next("next");
      next(shifted(v, 0, 0)) = u(shifted(v, 0, -piece)) + u(shifted(v, 1, 1)) - u(shifted(v, 1, -1)) +
                               u(shifted(v, 2, 1)) - u(shifted(v, 2, -1));
      TestPipeline p{"odd_pieces", {next}, {next}, {u}};
      const Box box{{piece, 64}, {3, 6}, {-2, 8}};
      const auto keep = p.bind(box, 9, Contents::Ordinary, Layout::Dense);
      const auto expected = expected_values(p.outputs, box);
      if (march) {
        next.gpu_tile(v[0], v[1], 32, 2).march(v[2], 4);
      } else {
        next.gpu_tile(v[0], v[1], v[2], 32, 2, 2);
      }
      next.stage(u, MemoryType::Shared, LoadPolicy::Bulk);
      if (march) next.pipeline(u, 1);
      for (const Target& target : all_targets()) {
        EXPECT_TRUE(run_matches(expected, p.outputs, box, target, Layout::Dense));
      }
    }
  }
}

// A block's box of a source that is read at clamped places has fewer points at the clamp than elsewhere.
TEST(ClampedCopies, ReadNothingBeyondTheClamp) {
  for (const LoadPolicy load :
       {LoadPolicy::TwoStep, LoadPolicy::Strided, LoadPolicy::AsyncCopy, LoadPolicy::Bulk}) {
    for (const int clamped : {0, 1}) {
      for (const int chunk : {0, 4}) {
        const std::vector<Var> v = grid_vars(3);
        const ImageParam u(Float(32), 3, "u");
        Func next("next");
        std::vector<Expr> at = shifted(v, 0, 0), above = shifted(v, 2, 1);
        for (auto* taps : {&at, &above}) {
          Expr& index = (*taps)[static_cast<std::size_t>(clamped)];
          index = clamp(index, 8, 19);
        }
        next(v[0], v[1], v[2]) = u(at) - u(above);
        TestPipeline p{"clamped", {next}, {next}, {u}};
        const Box box{{0, 32}, {0, 24}, {0, 9}};
        const auto keep = p.bind(box, 3, Contents::Ordinary, Layout::Dense);
        const auto expected = expected_values(p.outputs, box);
        if (chunk > 0) {
          next.gpu_tile(v[0], v[1], 4, 4).march(v[2], chunk);
        } else {
          next.gpu_tile(v[0], v[1], v[2], 4, 4, 2);
        }
        next.vectorize(v[0], 4);
        next.stage(u, MemoryType::Shared, load);
        EXPECT_TRUE(run_matches(expected, p.outputs, box, Target::gpu_emulator(), Layout::Dense));
      }
    }
  }
}

}  // namespace
}  // namespace mica::test
