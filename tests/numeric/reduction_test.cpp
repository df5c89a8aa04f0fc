// Reductions over domains that a run knows: bounds from Params and inputs, conditions, single values,
// where something is least.
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_pipelines.h"

namespace mica::test {
namespace {

const Var x("x");
const Var y("y");

TEST(Reduction, HasBoundsOfParams) {
  const ImageParam u(Float(32), 2, "u");
  const Param<std::int32_t> first("first", -2), count("count", 5);
  const RDom r({{first, count}, {0, count - 1}});
  Func f("f");
  f(x, y) = 1.0F;
  f(x, y) += u(x + r.x, y - r.y) * cast<float>(r.x);
  const auto memory = bind_random(u, {{-40, 120}, {-40, 100}}, 1);
  const Box box{{-4, 37}, {3, 9}};
  for (const int n : {5, 1, 2, 9}) {
    count.set(n);
    EXPECT_TRUE(check_all_targets(f, box)) << n;
  }
}

TEST(Reduction, OverNoPointsDoesNothing) {
  const ImageParam u(Float(32), 1, "u");
  const Param<std::int32_t> count("count");
  const RDom r({{100, count}});  // beyond u
  Func f("f");
  f(x) = 3.0F;
  f(x) += u(x + r);
  const auto memory = bind_random(u, {{0, 20}}, 2);
  for (const int n : {0, -1, -1000, std::numeric_limits<int>::min()}) {
    count.set(n);
    EXPECT_TRUE(check_all_targets(f, {{0, 20}})) << n;
  }
}

TEST(Reduction, HasBoundsOfAnInput) {
  const ImageParam u(Int(32), 2, "u");
  const RDom r(u), edge({{1, u.width() - 2}});
  Func column("column"), total("total");
  column(x) += u(x, r.y);
  total(y) += u(edge, y);
  for (const Box& box : {Box{{0, 31}, {0, 12}}, Box{{1, 3}, {-2, 1}}}) {
    const auto memory = bind_random(u, box, 3);
    EXPECT_TRUE(check_all_targets(column, {box[0]}));
  }
  const auto memory = bind_random(u, {{0, 31}, {0, 12}}, 3);
  EXPECT_TRUE(check_all_targets(total, {{0, 12}}));
}

// What only an empty domain asks for is neither computed nor looked at.
// Under every schedule of the Func that is summed the same points.
TEST(Reduction, HasBoundsOfAFunc) {
  const ImageParam u(Int(32), 2, "u");
  const auto memory = bind_random(u, {{0, 40}, {0, 9}}, 3);
  for (const bool root : {false, true}) {
    Func g("g"), f("f");
    g(x, y) = u(x, y) % 16 + x;
    g.bound(x, 2, 30).bound(y, 1, 7);
    const RDom r(g);
    f(x) = 0;
    f(x) += g(r.x, r.y) * (x + r.y);
    if (root) g.compute_root();
    EXPECT_TRUE(check_all_targets(f, {{0, 5}})) << root;
  }
}

TEST(Reduction, OverNoPointsNeedsNothing) {
  const ImageParam u(Float(32), 1, "u");
  const Param<std::int32_t> first("first"), count("count");
  const RDom r({{first, count}, {0, 3}});
  Func source("source"), f("f");
  source(x) = u(x) * 2.0F;
  source.compute_root();
  f(x) = 3.0F;
  f(x) += source(x + r.x) * u(r.x + 50) + source(100 * r.y);
  const auto memory = bind_random(u, {{0, 20}}, 2);
  for (const int n : {0, -7}) {
    count.set(n);
    for (const int from :
         {0, 1000, -1000, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
      first.set(from);
      EXPECT_TRUE(check_all_targets(f, {{0, 20}})) << from;
    }
  }
  Func total("total");
  const RDom s({{first, count}});
  total() = sum(s, u(s)) + maximum(r, source(r.x) * cast<float>(r.y));
  const Buffer<float> value = total.realize(Target::host());
  EXPECT_EQ(value(0), -std::numeric_limits<float>::infinity());
}

TEST(Reduction, BeyondItsSourceIsNamed) {
  const ImageParam u(Float(32), 1, "u");
  const Param<std::int32_t> count("count", 21);
  const RDom r({{0, count}});
  Func f("f");
  f(x) += u(r) * cast<float>(x);
  const auto memory = bind_random(u, {{0, 20}}, 4);
  EXPECT_TRUE(fails_with([&] { f.realize({7}, Target::host()); }, {"u", "20"}));
}

TEST(Reduction, TooLongForCoordinatesIsRefused) {
  const ImageParam u(Float(32), 1, "u");
  const Param<std::int32_t> first("first", std::numeric_limits<int>::max() - 3), count("count", 9);
  const RDom r({{first, count}});
  Func f("f");
  f(x) += u(clamp(r, 0, 3)) + cast<float>(x);
  const auto memory = bind_random(u, {{0, 20}}, 4);
  EXPECT_TRUE(fails_with([&] { f.realize({7}, Target::host()); },
                         {"RDom r", "2147483644, 9", "cut it into several"}));
}

TEST(Reduction, WhereLeavesOutPoints) {
  const ImageParam u(Float(32), 2, "u");
  RDom r({{-3, 7}, {-3, 7}});
  r.where(r.x * r.x + r.y * r.y <= 9).where(r.x != 0 || r.y != 0);
  Func f("f");
  f(x, y) += u(x + r.x, y + r.y) / 7.0F;
  const Box box{{0, 37}, {0, 9}};
  const auto memory = bind_demanded({f}, box, {u}, 5);
  EXPECT_TRUE(check_all_targets(f, box));
}

TEST(Reduction, WhereMayAskDataAndTheFuncItself) {
  const ImageParam u(Int(32), 1, "u");
  const Param<std::int32_t> least("least", -5);
  RDom r({{0, 50}});
  r.where(u(r) > least);
  Func count("count"), index("index");
  count() = 0;
  count() += 1;
  count() += select(u(r) < 0, 1, 2);
  index(x) = -1;
  index(x) = select(u(r) % 7 == x, r, index(x));
  const auto memory = bind_random(u, {{0, 50}}, 6);
  EXPECT_TRUE(check_all_targets(count, {{0, 1}}));
  EXPECT_TRUE(check_all_targets(index, {{0, 7}}));
}

TEST(Reduction, WhereHoldsForLaterDefinitionsOnly) {
  RDom r({{0, 10}});
  Func f("f");
  f(x) += select(r >= 0, 1, 0);
  r.where(r < 3);
  f(x) += select(r >= 0, 100, 0);
  EXPECT_TRUE(check_all_targets(f, {{0, 3}}));
  const Buffer<std::int32_t> out = f.realize({3}, Target::host());
  EXPECT_EQ(out(1), 310);
}

TEST(Reduction, OfManyTermsIsAFunc) {
  const ImageParam u(Float(32), 2, "u");
  const RDom all(u), row({{0, u.width()}}, "row");
  Func f("f");
  f(x, y) = u(x, y) / sum(all, u(all.x, all.y)) + maximum(row, u(row, y)) - minimum(row, u(row, x)) +
            product(RDom({{0, 5}}, "five"), cast<float>(y));
  const auto memory = bind_random(u, {{0, 33}, {0, 33}}, 7, Contents::Ordinary);
  EXPECT_TRUE(check_all_targets(f, {{0, 33}, {0, 33}}));
}

TEST(Reduction, OfConstantsWithAConditionIsWrittenOut) {
  const ImageParam u(Float(32), 1, "u");
  RDom r({{-2, 5}});
  r.where(r != 0);
  Func f("f"), g("g"), nothing("nothing");
  f(x) = sum(r, u(x + r) * cast<float>(r));
  g(x) = (((u(x - 2) * -2.0F + u(x - 1) * -1.0F) + u(x + 1) * 1.0F) + u(x + 2) * 2.0F);
  const auto memory = bind_demanded({f}, {{0, 30}}, {u}, 8);
  EXPECT_TRUE(check_all_targets(f, {{0, 30}}));
  const Buffer<float> a = f.realize({30}, Target::host()), b = g.realize({30}, Target::host());
  for (int i = 0; i < 30; ++i) EXPECT_EQ(a(i), b(i)) << i;
  RDom none({{0, 3}});
  none.where(none > 3);
  nothing(x) = sum(none, u(x)) + minimum(none, u(x));
  const Buffer<float> c = nothing.realize({30}, Target::host());
  EXPECT_EQ(c(3), std::numeric_limits<float>::infinity());
}

TEST(Reduction, InsideAnother) {
  const ImageParam u(Int(32), 1, "u");
  const Param<std::int32_t> n("n", 4);
  const RDom outer({{0, n}}, "outer"), inner({{0, outer.dimensions() + n}}, "inner");
  Func f("f");
  f(x) += sum(inner, u(inner + outer) * x);
  const auto memory = bind_random(u, {{0, 20}}, 9);
  EXPECT_TRUE(check_all_targets(f, {{0, 13}}));
}

TEST(Reduction, FindsWhereSomethingIsLeast) {
  const ImageParam u(Int(16), 2, "u");
  const RDom r(u), row({{0, u.width()}}, "row");
  const Tuple least = argmin(r, u(r.x, r.y));
  Func f("f"), g("g");
  f() = least;
  g(y) = argmax(row, cast<std::int32_t>(u(row, y)) % 5);
  const auto memory = bind_random(u, {{0, 21}, {0, 17}}, 10);
  EXPECT_TRUE(check_all_targets(f, {{0, 1}}));
  EXPECT_TRUE(check_all_targets(g, {{0, 17}}));

  const Realization found = f.realize(Target::host());
  EXPECT_EQ(found.size(), 3U);
}

TEST(Reduction, OfAllNaNsIsNowhere) {
  ImageParam u(Float(32), 1, "u");
  Buffer<float> a(4);
  a.fill(std::numeric_limits<float>::quiet_NaN());
  u.set(a);
  const RDom r(u);
  Func f("f");
  f() = argmin(r, u(r));
  Realization found = f.realize(Target::host());
  EXPECT_EQ((Buffer<std::int32_t>(found[0])(0)), 0);
  EXPECT_EQ((Buffer<float>(found[1])(0)), std::numeric_limits<float>::infinity());
}

// Of a whole field: cut into parts, the first of several that are as good wherever those are.
TEST(Reduction, FindsTheFirstPlaceOfAWholeField) {
  ImageParam u(Float(32), 3, "u");
  const RDom r(u);
  Func least("least"), greatest("greatest");
  least() = argmin(r, u(r.x, r.y, r.z));
  greatest() = argmax(r, u(r.x, r.y, r.z));
  for (const Box& box : {Box{{-3, 300}, {2, 70}, {0, 3}}, Box{{0, 1}, {5, 1}, {-1, 1}}}) {
    const auto memory = bind_random(u, box, 5);
    EXPECT_TRUE(check_all_targets(least, {{0, 1}}));
    EXPECT_TRUE(check_all_targets(greatest, {{0, 1}}));
  }
  Buffer<float> field(300, 70, 3);
  field.fill(2.0F);
  u.set(field);
  const auto place = [](Func& f) {
    Realization found = f.realize(Target::host());
    std::vector<int> at;
    for (int d = 0; d < 3; ++d) at.push_back(Buffer<std::int32_t>(found[d])(0));
    return at;
  };
  EXPECT_EQ(place(least), (std::vector{0, 0, 0}));
  // As good, from the last in the order of the domain to the first: each is found once it is there.
  for (const std::vector<int>& at :
       {std::vector{1, 1, 2}, std::vector{299, 69, 1}, std::vector{257, 69, 1}, std::vector{1, 69, 1},
        std::vector{299, 64, 1}, std::vector{0, 0, 1}, std::vector{299, 69, 0},
        std::vector{298, 3, 0}}) {
    field(at[0], at[1], at[2]) = 1.0F;
    EXPECT_EQ(place(least), at);
  }
  field.fill(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(place(greatest), (std::vector{0, 0, 0}));
  field(7, 6, 2) = -1.0F;
  EXPECT_EQ(place(greatest), (std::vector{7, 6, 2}));
}

TEST(Reduction, OfAWholeFieldsPlaceIsManyThreads) {
  const ImageParam u(Float(32), 2, "u");
  const RDom r(u);
  Func least("least");
  least() = argmin(r, u(r.x, r.y));
  const std::string loops = least.print_loop_nest(gpu_targets().front());
  EXPECT_NE(loops.find("argmin.parts"), std::string::npos) << loops;
  EXPECT_EQ(loops.find("one thread"), std::string::npos) << loops;
}

TEST(SingleValue, IsAFuncWithoutArguments) {
  const ImageParam u(Float(64), 2, "u");
  const RDom r(u);
  Func total("total"), scaled("scaled");
  total() += u(r.x, r.y);
  total() /= 2.0;
  scaled(x, y) = u(x, y) / total();
  const Box box{{0, 37}, {0, 9}};
  const auto memory = bind_random(u, box, 11, Contents::Ordinary);
  EXPECT_TRUE(check_all_targets(total, {{0, 1}}));
  EXPECT_TRUE(check_all_targets(scaled, box));
  const Buffer<double> value = total.realize(Target::host());
  EXPECT_EQ(value.elements(), 1);
}

TEST(SingleValue, MayBeATupleAndReadItself) {
  const ImageParam u(Float(32), 1, "u");
  const RDom r(u);
  Func mean("mean");  // Welford's running mean and sum of squares
  mean() = Tuple(0.0F, 0.0F);
  const Expr delta = u(r) - mean()[0], next = mean()[0] + delta / cast<float>(r + 1);
  mean() = Tuple(next, mean()[1] + delta * (u(r) - next));
  const auto memory = bind_random(u, {{0, 37}}, 12, Contents::Ordinary);
  EXPECT_TRUE(check_all_targets(mean, {{0, 1}}));
}

TEST(UnnamedVars, AreDistinct) {
  const ImageParam u(Int(32), 2, "u");
  std::vector<Var> v(2);
  const Var a, b;
  Func f, g;
  f(v[0], v[1]) = u(v[0], v[1]) + v[0];
  g(a, b) = f(b, a) * 10 + b;
  g.vectorize(a, 8).parallel(b);
  const auto memory = bind_random(u, {{0, 40}, {0, 40}}, 13);
  EXPECT_TRUE(check_all_targets(g, {{0, 37}, {0, 9}}));
  EXPECT_NE(g.print_loop_nest(Target::host()).find("v"), std::string::npos);
  EXPECT_EQ(g.print_loop_nest(Target::host()).find('#'), std::string::npos);
}

}  // namespace
}  // namespace mica::test
