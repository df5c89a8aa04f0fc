// Exported pipelines return the bits of Executable::run.
#include <vector>

#include <gtest/gtest.h>

#include "dsl/expr/operators.h"
#include "dsl/expr/traverse.h"
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

// Their boxes are made of values that each variant works out one after the other.
TEST(Export, FuncsReadAtClampedPointsOfOneAnother) {
  const ImageParam u(Float(32), 1, "u");
  const Param<int> width("width", 30);
  Func f("f");
  f(x) = u(x);
  for (int i = 0; i < 60; ++i) {
    f.compute_root();
    Func next("f");
    next(x) = 0.5F * f(clamp(x - 1, 1, width - 1)) - f(clamp(x + 1, 2, Expr(width)));
    f = next;
  }
  const auto memory = bind_random(u, {{0, 40}}, 5);
  EXPECT_TRUE(exported_matches({f}, {{-3, 37}}));
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

/// What a launch works out from Params is machine code here, and steps of HostProgram in Executable:
/// bounds of domains show the values.
TEST(Export, ExpressionsOfThePlan) {
  Param<int> p("p"), q("q");
  Param<std::int8_t> s("s");
  Param<std::uint64_t> w("w");
  Param<std::int64_t> l("l");
  Param<float> t("t");
  Param<double> d("d");
  Param<float16> h("h");
  Param<bool> b("b");
  const auto i32 = [](const Expr& e) { return cast(Int(32), e); };
  const std::vector<Expr> all = {p + q,
                                 p - q,
                                 p * q,
                                 p / q,
                                 p % q,
                                 min(p, q),
                                 max(p, q),
                                 abs(p),
                                 -p,
                                 p << (q & 3),
                                 p >> (q & 3),
                                 p & q,
                                 p | q,
                                 p ^ q,
                                 ~p,
                                 select(p < q, p, q),
                                 select(p <= q && !b, 1, 2),
                                 select(p == q || b, 3, 4),
                                 select(select(p != q, p > q, b), 8, 9),
                                 i32(s) * 3,
                                 i32(s / 3) + i32(s % 7),
                                 i32(s + s),
                                 i32(w / 3),
                                 i32(w % 1000),
                                 i32(w >> 60),
                                 i32(select(w > 7, 5, 6)),
                                 i32(l / 1000003),
                                 i32(l % 1000003),
                                 i32(max(l, cast(Int(64), p))),
                                 i32(t),
                                 i32(t * 3.0F + 0.5F),
                                 i32(floor(t)),
                                 i32(ceil(t)),
                                 i32(round(t)),
                                 i32(sqrt(abs(t))),
                                 i32(d),
                                 i32(d / 3.0),
                                 i32(fma(d, 2.0, 1.0)),
                                 i32(fma(t, 2.0F, 1.0F)),
                                 i32(min(d, 2.5)),
                                 i32(max(t, -2.5F)),
                                 i32(cast(Float(32), h) * 2.0F),
                                 i32(cast(Float(16), t)),
                                 i32(cast(Float(32), w)),
                                 i32(cast(Float(32), l)),
                                 i32(cast(Float(64), p) * 0.1),
                                 i32(t < 1.0F),
                                 i32(t == t),
                                 i32(cast(UInt(8), p)),
                                 i32(cast(Int(16), p * 1000)),
                                 i32(cast(Float(64), w) / 3.0e12)};
  Func f("f");
  f(x) = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const RDom r({{clamp(all[k], -1000000, 1000000), 1}});
    f(static_cast<int>(k)) += r;
  }
  Executable executable = compile({f}, Target::host());
  const LoadedLibrary library({f});
  Random random(1);
  const auto count = static_cast<std::int64_t>(all.size());
  std::vector<int> seen(all.size());
  for (int round = 0; round < 60; ++round) {
    const std::int64_t reach = round % 2 == 0 ? 12 : 2000000000;
    p.set(static_cast<int>(random.between(-reach, reach)));
    q.set(static_cast<int>(random.between(-reach, reach)));
    s.set(static_cast<std::int8_t>(random.between(-128, 127)));
    w.set(random.next());
    l.set(static_cast<std::int64_t>(random.next()));
    t.set(static_cast<float>(random.between(-9000, 9000)) / 64.0F);
    d.set(static_cast<double>(random.between(-90000, 90000)) / 7.0);
    h.set(float16(static_cast<float>(random.between(-500, 500)) / 16.0F));
    b.set(random.coin());
    Buffer<int> expected(count), actual(count);
    executable.run(expected);
    std::vector<std::uint64_t> values;
    for (const Plan::Scalar& scalar : executable.plan().scalars) values.push_back(scalar.param->bits);
    const mica_buffer out = c_buffer(actual);
    const CallResult result = library.call({&out}, nullptr, values);
    ASSERT_EQ(result.code, MICA_OK) << result.error;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const auto at = static_cast<int>(k);
      EXPECT_EQ(actual(at), expected(at)) << to_string(all[k]) << " in round " << round;
      seen[k] += expected(at) != 0 ? 1 : 0;
    }
  }
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT_GT(seen[k], 0) << to_string(all[k]);
}

TEST(Export, LoopsInParallelInsideLoopsInParallel) {
  const ImageParam u(Int(32), 3, "u");
  Func inner("inner"), f("f");
  inner(x, y, z) = u(x, y, z) * 3 + u(x + 1, y, z);
  f(x, y, z) = inner(x, y, z) - inner(x, y + 1, z);
  inner.compute_at(f, z).parallel(y);
  f.parallel(z).parallel(y);
  const auto memory = bind_random(u, {{0, 40}, {0, 40}, {0, 40}}, 8);
  EXPECT_TRUE(exported_matches({f}, {{0, 31}, {0, 17}, {0, 23}}));
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

// The library has the code of the first condition alone, and says so where that is not wanted.
TEST(Export, TheFirstConditionThatHoldsChooses) {
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = u(x) * 3.0F;
  f.specialize(u.dim(0).extent() >= 20).vectorize(x, 8);
  f.specialize(u.dim(0).extent() >= 10).vectorize(x, 4);
  Executable executable = compile({f}, Target::host());
  const LoadedLibrary library({f}, {.variants = {{.chosen = {1}}}});
  for (const auto& [extent, code] :
       {std::pair(25, MICA_OK), std::pair(15, MICA_NOT_SERVED), std::pair(5, MICA_NOT_SERVED)}) {
    Buffer<float> in(extent), out(extent);
    fill_random(in, 1);
    u.set(in);
    const CallResult result = library.run(executable, {&out});
    EXPECT_EQ(result.code, code) << extent << ": " << result.error;
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

  // The same memory under other coordinates.
  e.set(field.translated({1, 0}));
  AnyBuffer part = field.cropped({{1, 18}, {0, 11}});
  const CallResult shifted = library.run(executable, {&part});
  EXPECT_EQ(shifted.code, MICA_WRONG_ARGUMENT);
  EXPECT_NE(shifted.error.find("its elements do not lie where those of the same coordinates do"),
            std::string::npos)
      << shifted.error;

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
