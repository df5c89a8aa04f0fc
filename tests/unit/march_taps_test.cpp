#include "dsl/pipeline/march_taps.h"

#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"
#include "dsl/func/func.h"
#include "dsl/pipeline/pipeline.h"

namespace mica {
namespace {

const Var x("x"), y("y"), z("z");
const std::vector<std::string> kVars{"x", "y", "z"};

std::vector<std::string> column(const std::vector<Expr>& args, const std::string& march = "z") {
  return own_column(args, kVars, march);
}

TEST(OffsetFrom, SumsOfTheVariableAndConstants) {
  EXPECT_EQ(offset_from(Expr(z), "z"), 0);
  EXPECT_EQ(offset_from(z + 3, "z"), 3);
  EXPECT_EQ(offset_from(z - 4, "z"), -4);
  EXPECT_EQ(offset_from(2 + z - 5, "z"), -3);
  EXPECT_EQ(offset_from((z + z) - z + 1, "z"), 1);
}

TEST(OffsetFrom, NothingForAnotherForm) {
  EXPECT_EQ(offset_from(Expr(x), "z"), std::nullopt);
  EXPECT_EQ(offset_from(x + z, "z"), std::nullopt);
  EXPECT_EQ(offset_from(2 * z, "z"), std::nullopt);
  EXPECT_EQ(offset_from(z + z, "z"), std::nullopt);
  EXPECT_EQ(offset_from(Expr(7), "z"), std::nullopt);
  EXPECT_EQ(offset_from(7 - z, "z"), std::nullopt);
  EXPECT_EQ(offset_from(clamp(z, 0, 9), "z"), std::nullopt);
}

TEST(OffsetsFrom, EachArgumentOfAsManyDimensions) {
  EXPECT_EQ(offsets_from({x, y - 2, z + 3}, kVars), (std::vector<std::int64_t>{0, -2, 3}));
  EXPECT_EQ(offsets_from({}, {}), std::vector<std::int64_t>());
  EXPECT_EQ(offsets_from({x, y, 2 * z}, kVars), std::nullopt);
  EXPECT_EQ(offsets_from({x, z, y}, kVars), std::nullopt);
  EXPECT_EQ(offsets_from({x, y}, kVars), std::nullopt);
  EXPECT_EQ(offsets_from({x, y, z, Expr(0)}, kVars), std::nullopt);
}

TEST(OwnColumn, TapsOffsetAlongTheMarchAlone) {
  EXPECT_EQ(column({x, y, z}), kVars);
  EXPECT_EQ(column({x, y, z + 4}), kVars);
  EXPECT_EQ(column({x + 1, y, z}, "x"), kVars);
  EXPECT_EQ(column({z - 1}), std::vector<std::string>{"z"});
  EXPECT_EQ(column({z - 1, x}), (std::vector<std::string>{"z", "x"})) << "a transposed source";
}

TEST(OwnColumn, NothingForATapThatLeavesTheColumn) {
  EXPECT_TRUE(column({x + 1, y, z}).empty());
  EXPECT_TRUE(column({x, y - 1, z + 1}).empty());
  EXPECT_TRUE(column({x, y, 2 * z}).empty());
  EXPECT_TRUE(column({x, y, 3}).empty());
  EXPECT_TRUE(column({x, z, z}).empty()) << "a diagonal is no column";
  EXPECT_TRUE(column({y, x, x}).empty());
}

TEST(OwnColumn, NothingForASourceThatIsTheSameInEveryPlane) {
  EXPECT_TRUE(column({x, y}).empty());
  EXPECT_TRUE(column({}).empty());
}

class ScatterSum : public ::testing::Test {
 protected:
  /// Cuts `value` as the sum of f(x, y, z), whose rounding is fixed first.
  ScatteredSum scatter(const Expr& value, Partials partials = Partials::EveryPlane) {
    Func f("f");
    f(x, y, z) = value;
    return cut(f, partials);
  }
  ScatteredSum cut(Func& f, Partials partials = Partials::EveryPlane, const std::string& march = "z") {
    const Pipeline pipeline = make_pipeline({f.function()});
    func_ = *pipeline.find("f");
    return scatter_sum(func_, march, partials);
  }
  std::string value() const { return to_string(func_.definitions.front().values.front()); }
  static std::string value(const PartialSum& part) {
    return to_string(part.func->definitions.front().values.front());
  }
  Expr tap(int dz) const { return u(x, y, z + dz); }

  ImageParam u{Float(32), 3, "u"}, um{Float(32), 3, "um"}, c{Float(32), 3, "c"};
  FunctionData func_;
};

TEST_F(ScatterSum, APartAfterEachPlane) {
  const ScatteredSum sum = scatter(0.5F * tap(-1) + 0.25F * tap(0) + 0.125F * tap(1));
  ASSERT_EQ(sum.refused, "");
  ASSERT_EQ(sum.parts.size(), 2U);
  EXPECT_EQ(sum.parts[0].func->name, "f.sum0");
  EXPECT_EQ(value(sum.parts[0]), "0.5*u(x, y, z - 1)");
  EXPECT_EQ(sum.parts[0].ahead, 2);
  EXPECT_EQ(value(sum.parts[1]), "fma(0.25, u(x, y, z), f.sum0(x, y, z))");
  EXPECT_EQ(sum.parts[1].ahead, 1);
  EXPECT_EQ(value(), "fma(0.125, u(x, y, z + 1), f.sum1(x, y, z))");
}

TEST_F(ScatterSum, OneCutAfterTheCentre) {
  const ScatteredSum sum =
      scatter(tap(-2) + tap(-1) + tap(0) + u(x + 1, y, z) + tap(1) + tap(2), Partials::Centre);
  ASSERT_EQ(sum.refused, "");
  ASSERT_EQ(sum.parts.size(), 1U);
  EXPECT_EQ(value(sum.parts[0]), "u(x, y, z - 2) + u(x, y, z - 1) + u(x, y, z) + u(x + 1, y, z)");
  EXPECT_EQ(sum.parts[0].ahead, 2);
  EXPECT_EQ(value(), "f.sum0(x, y, z) + u(x, y, z + 1) + u(x, y, z + 2)");
}

TEST_F(ScatterSum, TapsOfOnePlaneStayTogetherAndInOrder) {
  const ScatteredSum sum = scatter(u(x + 1, y, z) + tap(1) + u(x - 1, y, z) + tap(-1));
  ASSERT_EQ(sum.refused, "");
  ASSERT_EQ(sum.parts.size(), 2U);
  EXPECT_EQ(value(sum.parts[0]), "u(x, y, z - 1)");
  EXPECT_EQ(value(sum.parts[1]), "f.sum0(x, y, z) + u(x + 1, y, z) + u(x - 1, y, z)");
  EXPECT_EQ(value(), "f.sum1(x, y, z) + u(x, y, z + 1)");
}

TEST_F(ScatterSum, PlanesThatAreNotReadTakeNoPart) {
  const ScatteredSum sum = scatter(tap(-3) + tap(2));
  ASSERT_EQ(sum.parts.size(), 1U);
  EXPECT_EQ(sum.parts[0].ahead, 5);
}

TEST_F(ScatterSum, AFactorAroundTheSumStaysOutside) {
  const ScatteredSum sum = scatter(c(x, y, z) * (tap(-1) + tap(1)));
  ASSERT_EQ(sum.refused, "");
  ASSERT_EQ(sum.parts.size(), 1U);
  EXPECT_EQ(value(sum.parts[0]), "u(x, y, z - 1)");
  EXPECT_EQ(value(), "c(x, y, z)*(f.sum0(x, y, z) + u(x, y, z + 1))");
}

TEST_F(ScatterSum, TheSumInsideAnUpdateOfAWave) {
  const Expr lap = tap(-1) + u(x - 1, y, z) + u(x + 1, y, z) + tap(1) - 4.0F * tap(0);
  const ScatteredSum sum = scatter(2.0F * tap(0) - um(x, y, z) + c(x, y, z) * lap);
  ASSERT_EQ(sum.refused, "");
  ASSERT_EQ(sum.parts.size(), 2U);
  EXPECT_EQ(value(sum.parts[0]), "u(x, y, z - 1)");
  EXPECT_EQ(sum.parts[0].ahead, 2);
  EXPECT_EQ(value(sum.parts[1]),
            "fma(-4.0, u(x, y, z), f.sum0(x, y, z) + u(x - 1, y, z) + u(x + 1, y, z))");
  EXPECT_EQ(sum.parts[1].ahead, 1);
  EXPECT_EQ(value(), "fma(c(x, y, z), f.sum1(x, y, z) + u(x, y, z + 1), 2.0*u(x, y, z) - um(x, y, z))");
}

TEST_F(ScatterSum, AMarchAlongAnotherDimensionThanTheSlowestFindsItsPlanesOutOfOrder) {
  Func f("f");
  f(x, y, z) = u(x, y + 1, z - 1) + u(x, y - 1, z + 1);
  const ScatteredSum sum = cut(f, Partials::EveryPlane, "y");
  EXPECT_TRUE(sum.parts.empty());
  EXPECT_NE(sum.refused.find("not in the order of their planes: y - 1 comes after y + 1"),
            std::string::npos)
      << sum.refused;
}

TEST_F(ScatterSum, RefusesWhatIsNoSumOfPlanes) {
  const auto refused = [&](const Expr& value) {
    const ScatteredSum sum = scatter(value);
    EXPECT_TRUE(sum.parts.empty()) << to_string(value);
    return sum.refused;
  };
  EXPECT_NE(refused(tap(0) + u(x + 1, y, z)).find("one plane only"), std::string::npos);
  EXPECT_NE(refused(tap(-1) * tap(1) + tap(0) * tap(2)).find("several planes"), std::string::npos);
  EXPECT_NE(refused(max(tap(-1), tap(1)) + tap(0)).find("several planes"), std::string::npos);
  EXPECT_NE(refused(strict(tap(-1) + tap(1))).find("strict"), std::string::npos);
  EXPECT_NE(refused(u(x, y, 2 * z) + tap(1)).find("z + constant"), std::string::npos);
}

TEST_F(ScatterSum, ARefusedFuncKeepsItsValue) {
  Func f("f");
  f(x, y, z) = tap(-1) * tap(1) + tap(0) * tap(2);
  const std::string before =
      to_string(make_pipeline({f.function()}).find("f")->definitions[0].values[0]);
  EXPECT_NE(cut(f).refused, "");
  EXPECT_EQ(value(), before);
}

TEST_F(ScatterSum, RefusesTuplesAndUpdates) {
  Func f("f");
  f(x, y, z) = Tuple(tap(-1) + tap(1), tap(0));
  EXPECT_NE(cut(f).refused.find("several values"), std::string::npos);
  Func g("f");
  g(x, y, z) = tap(-1) + tap(1);
  g(x, y, z) += tap(0);
  EXPECT_NE(cut(g).refused.find("updates"), std::string::npos);
}

}  // namespace
}  // namespace mica
