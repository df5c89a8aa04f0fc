#include <memory>

#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"

namespace mica {
namespace {

const Var x("x"), y("y");

TEST(RDom, DimensionsAreNamedAfterTheDomain) {
  RDom r({{0, 3}, {-2, 5}}, "box");
  EXPECT_EQ(r.dimensions(), 2);
  EXPECT_EQ(r.x.name(), "box.x");
  EXPECT_EQ(r[1].name(), "box.y");
  EXPECT_EQ(r.z.name(), "box.y") << "a dimension that the domain lacks is its last";
  EXPECT_EQ(to_string(r.data()->dims[1].min), "-2");
  EXPECT_EQ(r.data()->dims[1].constant_extent(), 5);
}

TEST(RDom, SumWritesItsTermsOutFirstDimensionFastest) {
  ImageParam u(Int(32), 2, "u");
  RDom r({{0, 2}, {5, 2}});
  EXPECT_EQ(to_string(sum(r, u(r.x, r.y))), "u(0, 5) + u(1, 5) + u(0, 6) + u(1, 6)");
}

TEST(RDom, MinimumAndMaximumWriteTheirTermsOut) {
  ImageParam u(Int(32), 1, "u");
  RDom r({{0, 3}});
  EXPECT_EQ(to_string(minimum(r, u(r))), "min(min(u(0), u(1)), u(2))");
  EXPECT_EQ(to_string(maximum(r, u(r))), "max(max(u(0), u(1)), u(2))");
}

TEST(RDom, ASumOverOneDomainLeavesAnotherAlone) {
  ImageParam u(Int(32), 2, "u");
  RDom r({{0, 2}}), s({{0, 4}}, "s");
  const Expr inner = sum(r, u(r, s));
  int rvars = 0;
  walk(inner, [&](const Expr& e) { rvars += e.as<RVarRef>() != nullptr ? 1 : 0; });
  EXPECT_EQ(rvars, 1);  // of s, in both terms
  EXPECT_EQ(to_string(sum(s, inner)),
            "u(0, 0) + u(1, 0) + (u(0, 1) + u(1, 1)) + (u(0, 2) + u(1, 2)) + (u(0, 3) + u(1, 3))");
}

TEST(RDom, OfAFuncIsWhatItIsBoundTo) {
  Func g("g");
  g(x, y) = x + y;
  g.bound(y, -2, 5).bound(x, 3, 7);
  const RDom r(g, "points");
  EXPECT_EQ(r.dimensions(), 2);
  EXPECT_EQ(r.x.name(), "points.x");
  EXPECT_EQ(to_string(r.data()->dims[0].min), "3");
  EXPECT_EQ(r.data()->dims[0].constant_extent(), 7);
  EXPECT_EQ(to_string(r.data()->dims[1].min), "-2");
  EXPECT_EQ(r.data()->dims[1].constant_extent(), 5);
}

TEST(RDom, ASumOf256TermsIsTheLargestThatIsWrittenOut) {
  ImageParam u(Int(32), 1, "u");
  RDom r({{0, 8}, {0, 32}});
  EXPECT_EQ(sum(r, u(r.x + 8 * r.y) + x).as<Access>(), nullptr);
  RDom s({{0, 1}, {0, 257}});
  const Expr call = sum(s, u(s.x + 7 * s.y) + x);
  ASSERT_NE(call.as<Access>(), nullptr);
  EXPECT_EQ(to_string(call), "sum(x)");
}

TEST(RDom, ASumOver32RowsIsTheHighestThatIsWrittenOut) {
  const ImageParam u(Int(32), 2, "u"), v(Int(32), 3, "v");
  const RDom high({{0, 32}}), higher({{0, 33}}), planes({{0, 3}, {0, 4}, {0, 9}});
  EXPECT_EQ(sum(high, u(x, y + high)).as<Access>(), nullptr);
  EXPECT_EQ(to_string(sum(higher, u(x, y + higher))), "sum(x, y)");
  EXPECT_EQ(sum(higher, u(x + higher, y)).as<Access>(), nullptr) << "in one row";
  EXPECT_EQ(sum(higher, u(higher, y) * u(x, higher)).as<Access>(), nullptr);
  EXPECT_NE(sum(planes, v(x + planes.x, y + planes.y, planes.z)).as<Access>(), nullptr) << "36 rows";
  EXPECT_EQ(sum(higher, Expr(higher) * x).as<Access>(), nullptr) << "nothing is read";
}

// Else the rows of a product of matrices would lie across those of its factor.
TEST(RDom, TheFuncOfASumHasTheOrderOfTheDimensionsThatItReads) {
  const ImageParam u(Int(32), 2, "u"), v(Int(32), 2, "v"), w(Int(32), 1, "w");
  const RDom r({{0, 1000}});
  const auto sum_of = [&](const Expr& value) { return to_string(sum(r, value)); };
  EXPECT_EQ(sum_of(u(r, y) * v(x, r)), "sum(x, y)");
  EXPECT_EQ(sum_of(v(x, r) * u(r, y)), "sum(x, y)");
  EXPECT_EQ(sum_of(v(y, r) * u(r, x)), "sum(y, x)");
  EXPECT_EQ(sum_of(u(r, y) * w(r + 2 * x)), "sum(x, y)");
  EXPECT_EQ(sum_of(u(r, y) * v(r, x)), "sum(y, x)") << "of the same place as met";
  EXPECT_EQ(sum_of(x + u(r, y)), "sum(y, x)");
  const RDom s({{0, 3}}, "s");
  EXPECT_EQ(to_string(sum(s, u(y, s) * sum(r, u(r, y) * v(s, r)))).substr(0, 12), "u(y, 0)*sum(");
}

// A condition reads the domain's own dimensions: it must not keep the domain for good.
TEST(RDom, WithAConditionGoesWithTheLastThatUsesIt) {
  std::weak_ptr<const RDomData> alone, used;
  ImageParam u(Float(32), 2, "u");
  {
    RDom r({{0, 3}, {0, 3}});
    r.where(r.x < r.y).where(r.y < 2);
    alone = r.data();
  }
  EXPECT_TRUE(alone.expired());
  {
    Func sums("sums");
    {
      RDom r({{0, 3}, {0, 300}});
      r.where(r.x < r.y);
      used = r.data();
      sums(x) = 0.0F;
      sums(x) += u(x, r.x) * u(x, r.y);
    }
    EXPECT_FALSE(used.expired());
    EXPECT_EQ(to_string(sums.function()->definitions[1].values[0]),
              "select(r.x < r.y, sums(x) + u(x, r.x)*u(x, r.y), sums(x))");
  }
  EXPECT_TRUE(used.expired());
}

}  // namespace
}  // namespace mica
