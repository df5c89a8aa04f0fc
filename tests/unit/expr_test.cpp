#include "dsl/expr/expr.h"

#include <limits>
#include <type_traits>

#include <gtest/gtest.h>

#include "dsl/expr/traverse.h"

namespace mica {
namespace {

TEST(ExprNodes, NumbersConvertToConstantsOfTheirOwnType) {
  EXPECT_EQ(Expr(true).type(), Bool());
  EXPECT_EQ(Expr(3).type(), Int(32));
  EXPECT_EQ(Expr(std::int64_t{3}).type(), Int(64));
  EXPECT_EQ(Expr(std::uint8_t{3}).type(), UInt(8));
  EXPECT_EQ(Expr(0.5f).type(), Float(32));
  EXPECT_EQ(Expr(0.5).type(), Float(64));
  EXPECT_EQ(Expr(float16(0.5f)).as<FloatImm>()->value, 0.5);
  EXPECT_EQ(Expr(bfloat16(0.5f)).type(), BFloat());
}

TEST(ExprNodes, APointerIsNoCondition) {
  EXPECT_FALSE((std::is_convertible_v<const char*, Expr>));
  EXPECT_FALSE((std::is_convertible_v<void*, Expr>));
  EXPECT_TRUE((std::is_convertible_v<bool, Expr>));
}

TEST(ExprNodes, UsingAnUndefinedExprIsAUserError) {
  EXPECT_FALSE(Expr().defined());
  EXPECT_EQ(Expr().as<IntImm>(), nullptr);
  EXPECT_THROW((void)Expr().type(), UserError);
}

TEST(MakeConst, IntegersWrapAndFloatsRound) {
  EXPECT_EQ(*as_int(make_const(UInt(8), 300)), 44);
  EXPECT_EQ(make_const(Float(32), 0.1).as<FloatImm>()->value, static_cast<double>(0.1f));
  EXPECT_EQ(make_const(Float(16), 2049).as<FloatImm>()->value, 2048.0);
}

TEST(MakeConst, ALargeIntegerRoundsToF32Once) {
  // 2^54 + 2^30 + 1 lies just above a tie of f32; rounding to f64 first would land on the tie.
  const std::int64_t value = (std::int64_t{1} << 54) + (std::int64_t{1} << 30) + 1;
  EXPECT_EQ(make_const(Float(32), value).as<FloatImm>()->value, 0x1.000002p54);
}

TEST(MakeConst, ADoubleForAnIntegerTruncatesAndSaturates) {
  EXPECT_EQ(*as_int(make_const(Int(32), -2.9)), -2);
  EXPECT_EQ(*as_int(make_const(UInt(8), 1e9)), 255);
  EXPECT_EQ(*as_int(make_const(UInt(8), -1.0)), 0);
  EXPECT_EQ(*as_int(make_const(Int(64), 1e30)), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(*as_int(make_const(Int(64), -1e30)), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(*as_int(make_const(Int(16), std::numeric_limits<double>::quiet_NaN())), 0);
}

TEST(MakeConst, LanesBroadcastTheConstantAndAsIntSeesIt) {
  const Expr four = make_const(Int(32).with_lanes(4), 7);
  ASSERT_NE(four.as<Broadcast>(), nullptr);
  EXPECT_EQ(four.type().lanes, 4);
  EXPECT_TRUE(is_const(four, 7));
  EXPECT_FALSE(is_const(four, 8));
  EXPECT_EQ(as_int(make_var("x")), nullptr);
  EXPECT_EQ(as_int(Expr(1.0f)), nullptr);
}

TEST(Vars, AreTheirNames) {
  EXPECT_TRUE(Var("x").same_as(Var("x")));
  EXPECT_FALSE(Var("x").same_as(Var("y")));
  EXPECT_TRUE(equal(Var("x"), make_var("x")));
  EXPECT_THROW(Var(""), UserError);
}

}  // namespace
}  // namespace mica
