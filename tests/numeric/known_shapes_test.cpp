// Shapes that are compiled in, by bound and by bake: above all along a march, whose number of planes is
// a constant then.
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/expr/limits.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

constexpr int kChunk = 5;

/// What is known when the pipeline is compiled.
enum class Known : std::uint8_t { Planes, Bound, Baked, Both };

struct MarchSchedule {
  std::string name;
  int chunk = kChunk;
  std::function<void(Func&, const ImageParam&)> rest;
};

std::vector<MarchSchedule> marches() {
  const auto staged = [](LoadPolicy load, int ahead) {
    return [=](Func& f, const ImageParam& u) {
      f.stage(u, MemoryType::Shared, load);
      if (ahead > 0) f.pipeline(u, ahead);
    };
  };
  return {
      {"plain", kChunk, [](Func&, const ImageParam&) {}},
      {"whole_column", 0, [](Func&, const ImageParam&) {}},
      {"window", kChunk, [](Func& f, const ImageParam& u) { f.register_window(u, "z"); }},
      {"window_whole_column", 0, [](Func& f, const ImageParam& u) { f.register_window(u, "z"); }},
      {"window_ahead", kChunk,
       [](Func& f, const ImageParam& u) { f.register_window(u, "z").pipeline(u, 2); }},
      {"two_step", kChunk, staged(LoadPolicy::TwoStep, 0)},
      {"two_step_ahead", kChunk, staged(LoadPolicy::TwoStep, 2)},
      {"async_ahead", kChunk, staged(LoadPolicy::AsyncCopy, 2)},
      {"async_whole_column", 0, staged(LoadPolicy::AsyncCopy, 1)},
      {"bulk", kChunk, staged(LoadPolicy::Bulk, 0)},
      {"bulk_ahead", kChunk, staged(LoadPolicy::Bulk, 3)},
      {"stage_and_window", kChunk,
       [](Func& f, const ImageParam& u) { f.stage(u, MemoryType::Shared).register_window(u, "z"); }},
      {"scatter", kChunk,
       [](Func& f, const ImageParam& u) { f.stage(u, MemoryType::Shared).scatter("z"); }},
      {"vectors_rows_split", kChunk,
       [](Func& f, const ImageParam& u) {
         f.vectorize("x", 4).unroll("y", 2).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
         f.pipeline(u, 1).warp_split(1);
       }},
  };
}

/// Symbols of an array over `box`, but for its strides.
void bake_box(std::map<std::string, std::int64_t>& bake, const std::string& array, const Box& box) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    bake[array + ".min." + std::to_string(d)] = box[d].first;
    bake[array + ".extent." + std::to_string(d)] = box[d].second;
  }
}

class KnownMarch : public testing::TestWithParam<std::tuple<std::size_t, Known>> {};

TEST_P(KnownMarch, GivesTheBitsOfTheOracle) {
  const MarchSchedule march = marches()[std::get<0>(GetParam())];
  const Known known = std::get<1>(GetParam());
  for (const std::int64_t planes : {1, 4, 5, 6, 10, 13}) {
    // Rows of the box and of what it reads are whole pieces of 16 bytes, as bulk copies need them.
    const Box box{{4, 32}, {-3, 9}, {2, planes}};
    const std::vector<Var> v = grid_vars(3);
    const ImageParam u(Float(32), 3, "u");
    Func next("next");
    next(v[0], v[1], v[2]) = u(v[0] - 4, v[1], v[2]) + 2.0F * u(v[0] + 4, v[1] + 1, v[2]) +
                             3.0F * u(v[0], v[1], v[2] - 1) + 4.0F * u(v[0], v[1], v[2] + 1);
    TestPipeline p{"known", {next}, {next}, {u}};
    const auto keep = p.bind(box, 7, Contents::Ordinary, Layout::Dense);
    const auto expected = expected_values(p.outputs, box);
    next.gpu_tile("x", "y", 8, 4).march("z", march.chunk);
    march.rest(next, u);
    CompileOptions options;
    const bool bound = known == Known::Bound || known == Known::Both;
    if (bound) {
      for (std::size_t d = 0; d < 3; ++d) next.bound(v[d], box[d].first, box[d].second);
    } else if (known == Known::Planes) {
      next.bound("z", box[2].first, box[2].second);
    }
    if (known == Known::Baked || known == Known::Both) {
      bake_box(options.bake, "next", box);
      bake_box(options.bake, "u", {{0, 40}, {-3, 10}, {1, planes + 2}});
      options.bake["u.stride.1"] = 40;
      options.bake["u.stride.2"] = 400;
    }
    for (const Target& target : all_targets()) {
      EXPECT_TRUE(run_matches(expected, p.outputs, box, target, Layout::Dense, options));
    }
  }
}

std::string name_of(const testing::TestParamInfo<KnownMarch::ParamType>& tested) {
  const char* const known[] = {"planes", "bound", "baked", "bound_and_baked"};
  return marches()[std::get<0>(tested.param)].name + "_" +
         known[static_cast<std::size_t>(std::get<1>(tested.param))];
}
INSTANTIATE_TEST_SUITE_P(Marches, KnownMarch,
                         testing::Combine(testing::Range(std::size_t{0}, marches().size()),
                                          testing::Values(Known::Planes, Known::Bound, Known::Baked,
                                                          Known::Both)),
                         name_of);

TEST(KnownShapes, AMarchWhoseChunkDividesABoundExtent) {
  const Var x("x"), y("y");
  Func f("f");
  f(x, y) = cast<float>(x + 10 * y);
  f.gpu_tile(x, 8).march(y, 9).bound(y, 0, 27);
  for (const Target& target : all_targets()) {
    EXPECT_TRUE(matches_oracle({f}, {{-2, 21}, {0, 27}}, target));
  }
}

/// Every symbol of u and next at once, one schedule after the other.
TEST(KnownShapes, OfEveryKindOfSchedule) {
  const std::vector<std::function<void(Func&, const ImageParam&)>> schedules{
      [](Func&, const ImageParam&) {},
      [](Func& f, const ImageParam&) { f.vectorize("x", 8).parallel("y"); },
      [](Func& f, const ImageParam&) { f.split("x", "xo", "xi", 5).reorder("y", "xi", "xo"); },
      [](Func& f, const ImageParam&) { f.fuse("x", "y", "xy").split("xy", "o", "i", 7); },
      [](Func& f, const ImageParam&) { f.unroll("y", 3).vectorize("x", 4, TailStrategy::ShiftInwards); },
      [](Func& f, const ImageParam&) { f.gpu_tile("x", "y", 8, 4).vectorize("x", 4); },
      [](Func& f, const ImageParam& u) { f.gpu_tile("x", "y", 16, 2).stage(u, MemoryType::Shared); },
      [](Func& f, const ImageParam& u) {
        f.gpu_tile("x", "y", 16, 2).stage(u, MemoryType::Shared, LoadPolicy::Bulk);
      },
  };
  for (const Box& box : std::vector<Box>{{{4, 32}, {-3, 9}}, {{4, 28}, {0, 1}}, {{4, 1}, {1, 30}}}) {
    for (const auto& schedule : schedules) {
      const std::vector<Var> v = grid_vars(2);
      const ImageParam u(Float(32), 2, "u");
      Func next("next");
      next(v[0], v[1]) = u(v[0] - 4, v[1]) + 2.0F * u(v[0] + 4, v[1] + 1);
      TestPipeline p{"known", {next}, {next}, {u}};
      const auto keep = p.bind(box, 7, Contents::Ordinary, Layout::Dense);
      const auto expected = expected_values(p.outputs, box);
      schedule(next, u);
      CompileOptions options;
      bake_box(options.bake, "next", box);
      bake_box(options.bake, "u", {{0, box[0].second + 8}, {box[1].first, box[1].second + 1}});
      options.bake["u.stride.0"] = 1;
      options.bake["u.stride.1"] = box[0].second + 8;
      for (const Target& target : all_targets()) {
        EXPECT_TRUE(run_matches(expected, p.outputs, box, target, Layout::Dense, options));
      }
    }
  }
}

TEST(KnownShapes, OfRowsThatAsyncCopiesFitInHalf) {
  const Var x("x");
  const Var y("y");
  for (const Type type : {UInt(8), UInt(16), Float(32)}) {
    for (const std::int64_t stride : {41, 42, 44, 48}) {
      ImageParam u(type, 2, "u");
      AnyBuffer in(type, std::vector<BufferDim>{{-3, 41, 1}, {0, 1, stride}});
      fill_random(in, 1);
      u.set(in);
      Func f("f");
      f(x, y) = u(x, y) - u(x - 2, y);
      const Box box{{0, 37}, {0, 1}};
      const auto expected = expected_values({f}, box);
      f.gpu_tile(x, 4).march(y, 1).stage(u, MemoryType::Shared, LoadPolicy::AsyncCopy);
      CompileOptions options;
      options.bake = {{"u.stride.1", stride}};
      for (const Target& target : all_targets()) {
        EXPECT_TRUE(run_matches(expected, {f}, box, target, Layout::Dense, options))
            << to_string(type) << " " << stride;
      }
    }
  }
}

TEST(KnownShapes, AsLargeAsTheyMayBeAreCompiled) {
  const std::vector<std::function<void(Func&)>> schedules{
      [](Func&) {},
      [](Func& f) { f.split("x", "o", "i", 7).parallel("y"); },
      [](Func& f) { f.gpu_tile("x", "y", 32, 8).vectorize("x", 4); },
      [](Func& f) { f.gpu_tile("x", 32).march("y", 16); },
      [](Func& f) { f.gpu_tile("x", 32).march("y", 0); },
  };
  for (const std::int64_t min : {-kLargestMin, kLargestMin}) {
    for (const auto& schedule : schedules) {
      const Var x("x"), y("y");
      const ImageParam u(Float(32), 2, "u");
      Func f("f");
      f(x, y) = u(x, y - 1) + u(x + 1, y);
      schedule(f);
      const auto keep = bind_random(u, {{-1, 12}, {-1, 12}}, 1);
      CompileOptions options;
      options.use_cache = false;
      options.bake = {{"u.min.0", min},
                      {"u.extent.0", kLargestExtent},
                      {"u.stride.1", INT32_MIN},
                      {"f.stride.1", INT32_MAX}};
      f.bound(x, min, kLargestExtent).bound(y, min, kLargestExtent);
      for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
        AnyBuffer out(Float(32), {8, 8});
        EXPECT_TRUE(fails_with([&] { compile(f, target, options).run(out); }, {"1073741823"}));
      }
    }
  }
}

TEST(KnownShapes, OfNothing) {
  for (const Target& target : all_targets()) {
    for (const bool march : {false, true}) {
      const Var x("x"), y("y");
      const ImageParam u(Float(32), 2, "u");
      Func f("f");
      f(x, y) = u(x, y) + 1.0F;
      if (target.is_gpu() && march) f.gpu_tile(x, 8).march(y, 4).register_window(u, y);
      if (target.is_gpu() && !march) f.gpu_tile(x, y, 8, 4);
      const auto keep = bind_random(u, {{0, 8}, {0, 8}}, 1);
      CompileOptions options;
      options.bake = {{"f.extent.0", 8}, {"f.extent.1", 0}};
      EXPECT_TRUE(run_matches(expected_values({f}, {{0, 8}, {0, 0}}), {f}, {{0, 8}, {0, 0}}, target,
                              Layout::Dense, options));
      options.bake = {{"f.extent.0", 0}, {"f.extent.1", 0}};
      EXPECT_TRUE(run_matches(expected_values({f}, {{0, 0}, {0, 0}}), {f}, {{0, 0}, {0, 0}}, target,
                              Layout::Dense, options));
    }
  }
}

// A dimension of one point may have any stride; compiled in, it says nothing about where rows stand.
TEST(KnownShapes, OddStridesOfOnePointAreNoRowsOfVectorsAndBulkCopies) {
  const Var x("x");
  const Var y("y");
  const Var z("z");
  for (const std::int64_t stride : {1, 3, 7}) {
    for (const bool bulk : {false, true}) {
      ImageParam u(Float(32), 3, "u");
      Buffer<float> in(std::vector<BufferDim>{{-1, 40, 1}, {-1, 1, 41}, {2, 1, 43}});
      fill_random(in, 3);
      u.set(in);
      Func f("f");
      const int tap = bulk ? 0 : 1;
      f(x, y, z) = u(x + tap, y, z) - 0.5F * u(x, y, z);
      f.gpu_tile(x, y, z, 4, 1, 1);
      if (bulk) {
        f.stage(u, MemoryType::Shared, LoadPolicy::Bulk);
      } else {
        f.vectorize(x, 2);
      }
      Buffer<float> memory(
          std::vector<BufferDim>{{-1, 40, 1}, {-1, 1, stride + 39}, {2, 1, stride + 40}});
      fill_random(memory, 3);
      u.set(memory);
      CompileOptions options;
      options.use_cache = false;
      options.bake = {{"u.stride.1", stride + 39}, {"u.stride.2", stride + 40}};
      Executable executable = compile(f, Target::gpu_emulator(), options);
      Buffer<float> out(std::vector<BufferDim>{{-1, 39, 1}, {-1, 1, 39}, {2, 1, 39}});
      executable.run(out);
      for (std::int64_t i = -1; i < 38; ++i) {
        ASSERT_EQ(out(i, -1, 2), std::fma(-0.5F, memory(i, -1, 2), memory(i + tap, -1, 2)))
            << i << " " << stride << " " << bulk;
      }
    }
  }
}

}  // namespace
}  // namespace mica::test
