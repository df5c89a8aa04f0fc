// Exported pipelines return the bits of Executable::run.
#include <vector>

#include <gtest/gtest.h>

#include "dsl/func/boundary.h"
#include "fuzz/random_data.h"
#include "schedules/mica.h"
#include "tests/export/loaded_library.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");
const Var z("z");

TEST(Export, AStencilOverOddRowsAndSinglePoints) {
  const ImageParam u(Float(32), 3, "u");
  const Param<float> c0("c0", 0.4F), c1("c1", 0.1F);
  Func next("next");
  next(x, y, z) = c0 * u(x, y, z) + c1 * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) +
                                          u(x, y + 1, z) + u(x, y, z - 1) + u(x, y, z + 1));
  next.parallel(z).vectorize(x, 8);
  const auto memory = bind_random(u, {{-3, 60}, {-3, 60}, {-3, 60}}, 1);
  for (const Box& box :
       {Box{{0, 37}, {1, 5}, {-2, 7}}, Box{{2, 1}, {0, 1}, {0, 1}}, Box{{5, 3}, {0, 2}, {0, 9}}}) {
    EXPECT_TRUE(exported_matches({next}, box));
  }
}

TEST(Export, FuncsOfTheirOwnAndScratchInsideLoops) {
  const ImageParam u(Float(64), 2, "u");
  Func rows("rows"), columns("columns"), sum("sum");
  rows(x, y) = u(x - 1, y) + 2.0 * u(x, y) + u(x + 1, y);
  columns(x, y) = rows(x, y - 1) + 2.0 * rows(x, y) + rows(x, y + 1);
  sum(x, y) = columns(x, y) + columns(x + 1, y + 3);
  rows.compute_root().parallel(y).vectorize(x, 4).align_storage(x, 16);
  columns.compute_at(sum, y).vectorize(x, 4);
  sum.parallel(y);
  const auto memory = bind_random(u, {{-9, 90}, {-9, 90}}, 2);
  EXPECT_TRUE(exported_matches({sum}, {{0, 33}, {0, 17}}));
  EXPECT_TRUE(exported_matches({sum}, {{-3, 1}, {4, 1}}));
}

TEST(Export, UpdatesAndSeveralOutputsOfSeveralTypes) {
  const ImageParam u(UInt(8), 2, "u");
  const Param<int> shift("shift", 3);
  const Param<bool> twice("twice", true);
  const RDom r({{0, 31}, {0, 17}});
  Func histogram("histogram"), total("total");
  histogram(x) = 0;
  histogram(cast(Int(32), u(r.x, r.y)) >> shift) += select(twice, 2, 1);
  total(x) = Tuple(cast(Float(64), 0), cast(Int(64), 0));
  total(x) = Tuple(total(x)[0] + cast(Float(64), u(r.x, r.y)) / 3.0,
                   total(x)[1] + cast(Int(64), u(r.x, r.y)) * x);
  const auto memory = bind_random(u, {{0, 31}, {0, 17}}, 3);
  EXPECT_TRUE(exported_matches({histogram, total}, {{0, 32}}));
}

TEST(Export, BoundariesHalvesAndMath) {
  const ImageParam u(Float(16), 2, "u");
  Func clamped = BoundaryConditions::repeat_edge(u), f("f");
  f(x, y) = exp(cast(Float(32), clamped(x - 2, y))) + sin(cast(Float(32), clamped(x, y + 2)));
  f.parallel(y).vectorize(x, 8);
  const auto memory = bind_random(u, {{0, 21}, {0, 11}}, 4);
  EXPECT_TRUE(exported_matches({f}, {{0, 21}, {0, 11}}));
  EXPECT_TRUE(exported_matches({f}, {{0, 21}, {0, 11}}, {.baseline_cpu = true}));
}

TEST(Export, ScalarsOfEveryType) {
  const ImageParam u(Float(32), 1, "u");
  const Param<std::uint64_t> a("a", 0xfedcba9876543210U);
  const Param<std::int64_t> b("b", -7000000000);
  const Param<std::int16_t> c("c", -300);
  const Param<std::uint8_t> d("d", 200);
  const Param<double> e("e", -0.1);
  const Param<float16> f("f", float16(0.3F));
  const Param<bfloat16> g("g", bfloat16(3.1F));
  const Param<bool> h("h", true);
  Func out("out");
  out(x) =
      Tuple(cast(Float(64), a) + cast(Float(64), b) * e, cast(Int(32), c) + cast(Int(32), d),
            cast(Float(32), f) * cast(Float(32), g), select(h, u(x + cast(Int(32), d) - 200), 0.0F));
  const auto memory = bind_random(u, {{-200, 413}}, 5);
  EXPECT_TRUE(exported_matches({out}, {{0, 13}}));
}

TEST(Export, GpuBlocksRunOnTheHost) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x - 1, y) + u(x + 1, y);
  f.gpu_tile(x, y, 16, 4);
  const auto memory = bind_random(u, {{-5, 70}, {-5, 70}}, 6);
  EXPECT_TRUE(exported_matches({f}, {{0, 41}, {0, 13}}));
}

TEST(Export, SpecializationsAreChosenByShape) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y) * 3.0F + u(x + 1, y);
  f.specialize(u.dim(0).extent() >= 60).parallel(y).vectorize(x, 8);
  for (const std::int64_t extent : {70, 45}) {
    const auto memory = bind_random(u, {{-2, extent}, {-5, 70}}, 6);
    EXPECT_TRUE(exported_matches({f}, {{0, 41}, {0, 13}}));
  }
}

/// An output that is an input's memory, views of other strides, rows that lie apart.
TEST(Export, InPlaceAndStridedViews) {
  ImageParam e(Float(32), 2, "e"), h(Float(32), 2, "h");
  Func next("next");
  next(x, y) = e(x, y) + 0.5F * (h(x, y) - h(x, y - 1));
  next.parallel(y).vectorize(x, 8);
  Buffer<float> field(19, 11), other(19, 12);
  AnyBuffer moved = other.translated({0, -1});
  fill_random(other, 1);
  h.set(moved);
  Executable executable = compile({next}, Target::host());
  const LoadedLibrary library({next});
  Buffer<float> expected(19, 11);
  fill_random(field, 2);
  e.set(field);
  executable.run(expected);
  const CallResult result = library.run(executable, {&field});
  EXPECT_EQ(result.code, MICA_OK) << result.error;
  EXPECT_TRUE(same_bits(expected, field));

  // Channels beside each other: one is written, another is read.
  Buffer<float> pixels(2, 19, 11);
  fill_random(pixels, 3);
  AnyBuffer first = pixels.sliced(0, 0), second = pixels.sliced(0, 1);
  e.set(first);
  executable.run(expected);
  const CallResult apart = library.run(executable, {&second});
  EXPECT_EQ(apart.code, MICA_OK) << apart.error;
  EXPECT_TRUE(same_bits(expected, second));
}

}  // namespace
}  // namespace mica::test
