#include "dsl/operators.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "dsl/constant_math.h"
#include "dsl/traverse.h"

namespace mica {
namespace {

const Expr kU8 = make_var("u8", UInt(8));
const Expr kI8 = make_var("i8", Int(8));
const Expr kU16 = make_var("u16", UInt(16));
const Expr kI16 = make_var("i16", Int(16));
const Expr kI32 = make_var("i32", Int(32));
const Expr kI64 = make_var("i64", Int(64));
const Expr kF16 = make_var("f16", Float(16));
const Expr kBF16 = make_var("bf16", BFloat());
const Expr kF32 = make_var("f32", Float(32));
const Expr kF64 = make_var("f64", Float(64));
const Expr kBool = make_var("b", Bool());

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Promotion, AFloatWinsOverAnyInteger) {
  EXPECT_EQ((kI64 * kF16).type(), Float(16));
  EXPECT_EQ((kU8 + kF64).type(), Float(64));
  EXPECT_EQ(to_string(kI32 + kF32), "cast<f32>(i32) + f32");
}

TEST(Promotion, TheWiderFloatWinsAndTheTwoHalvesMeetInF32) {
  EXPECT_EQ((kF32 + kF64).type(), Float(64));
  EXPECT_EQ((kBF16 + kF32).type(), Float(32));
  EXPECT_EQ((kF16 * kBF16).type(), Float(32));
}

TEST(Promotion, IntegersTakeTheWiderWidthSignedIfEitherIs) {
  EXPECT_EQ((kU8 + kU16).type(), UInt(16));
  EXPECT_EQ((kU8 + kI8).type(), Int(8));
  EXPECT_EQ((kU16 + kI8).type(), Int(16));
  EXPECT_EQ((kU8 + kI32).type(), Int(32));
  EXPECT_EQ((kI32 + kI64).type(), Int(64));
}

TEST(Literals, TakeTheOtherOperandsTypeOnEitherSide) {
  EXPECT_EQ((kU8 + 1).type(), UInt(8));
  EXPECT_EQ((255 - kU8).type(), UInt(8));
  EXPECT_EQ((kI64 + 1).type(), Int(64));
  EXPECT_EQ((2 * kF32).type(), Float(32));
  EXPECT_EQ((kF16 * 0.5).type(), Float(16));
  EXPECT_EQ((kF64 * 0.5f).type(), Float(64));
  EXPECT_EQ(min(kU8, 200).type(), UInt(8));
}

TEST(Literals, ADoubleBesideF32IsRoundedToF32) {
  const Expr product = kF32 * 0.1;
  EXPECT_EQ(product.type(), Float(32));
  const auto* literal = product.as<Binary>()->b.as<FloatImm>();
  ASSERT_NE(literal, nullptr);
  EXPECT_EQ(literal->value, static_cast<double>(0.1f));
}

TEST(Literals, AnIntegerThatDoesNotFitWidensBothToTheSmallestSignedTypeThatHoldsThem) {
  EXPECT_EQ((kU8 + 300).type(), Int(16));
  EXPECT_EQ((kU8 + -1).type(), Int(16));
  EXPECT_EQ((kI8 + 128).type(), Int(16));
  EXPECT_EQ((kU8 + 40000).type(), Int(32));
  EXPECT_EQ((kU16 + 70000).type(), Int(32));
  EXPECT_EQ((kU16 - -1).type(), Int(32));
  EXPECT_EQ((kI32 + (std::int64_t{1} << 40)).type(), Int(64));
  EXPECT_EQ(to_string(kU8 + 300), "cast<i16>(u8) + 300");
}

TEST(Literals, AFloatBesideAnIntegerKeepsItsType) {
  EXPECT_EQ((kU8 * 0.5f).type(), Float(32));
  EXPECT_EQ((kI32 * 0.5).type(), Float(64));
}

TEST(Literals, ACastLiteralKeepsTheTypeItWasCastTo) {
  EXPECT_EQ((cast(Int(32), 1) + kU8).type(), Int(32));
  EXPECT_EQ((cast<double>(0.5) * kF32).type(), Float(64));
}

TEST(Literals, TooLargeAFloatForTheOtherOperandIsAnError) {
  EXPECT_EQ(error_of([] { kF32 * 1e300; }),
            "the literal 1e+300 does not fit f32, the type of the other operand of '*'; cast that "
            "operand to a wider float, e.g. cast(Float(64), ...)");
  EXPECT_NE(error_of([] { kF16 + 70000; }), "no error");
  EXPECT_EQ((kF32 + std::numeric_limits<double>::infinity()).type(), Float(32));
}

TEST(Literals, EveryOperandOfFmaAndSelectIsMatched) {
  EXPECT_EQ(fma(2.0, 3.0, kF32).type(), Float(32));
  EXPECT_EQ(fma(2.0, kF32, 1).type(), Float(32));
  EXPECT_EQ(fma(kF32, 2.0, kF64).type(), Float(64));
  EXPECT_EQ(to_string(fma(kF32, kF32, kF64)), "fma(cast<f64>(f32), cast<f64>(f32), f64)");
  EXPECT_EQ(select(kBool, kF32, 0).type(), Float(32));
  EXPECT_EQ(select(kBool, 1.0, kI32 > 0, 2, kF32).type(), Float(32));
  EXPECT_EQ(clamp(kU8, 1, 254).type(), UInt(8));
}

TEST(Folding, IntegerConstantsAreComputedAndWrap) {
  EXPECT_TRUE(is_const(Expr(7) / -2, -4));
  EXPECT_TRUE(is_const(Expr(7) % -2, -1));
  EXPECT_TRUE(is_const(Expr(-7) / 2, -4));
  EXPECT_TRUE(is_const(Expr(-7) % 2, 1));
  EXPECT_TRUE(is_const(Expr(5) / 0, 0));
  EXPECT_TRUE(is_const(Expr(5) % 0, 0));
  EXPECT_TRUE(is_const(Expr(std::uint8_t{200}) + Expr(std::uint8_t{100}), 44));
  EXPECT_TRUE(is_const(Expr(2147483647) + 1, -2147483648LL));
  EXPECT_TRUE(is_const(Expr(-8) >> 1, -4));
  EXPECT_TRUE(is_const(Expr(3) << 4, 48));
  EXPECT_TRUE(is_const(~Expr(5), -6));
  EXPECT_TRUE(is_const(-Expr(5), -5));
  EXPECT_TRUE(is_const(min(3, 4), 3));
  EXPECT_TRUE(is_const(Expr(3) < Expr(4), 1));
  EXPECT_TRUE(is_const(Expr(true) && Expr(false), 0));
  EXPECT_TRUE(is_const(!Expr(false), 1));
}

TEST(Folding, TheLowestIntegersDivideByMinusOneWithoutATrap) {
  EXPECT_EQ(floor_div(std::numeric_limits<std::int64_t>::min(), -1),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(floor_mod(std::numeric_limits<std::int64_t>::min(), -1), 0);
  EXPECT_TRUE(is_const(Expr(std::numeric_limits<std::int32_t>::min()) / -1, -2147483648LL));
}

TEST(Folding, QuotientAndRemainderMakeUpTheDividend) {
  for (std::int64_t a = -9; a <= 9; ++a) {
    for (std::int64_t b = -4; b <= 4; ++b) {
      if (b == 0) continue;
      EXPECT_EQ(floor_div(a, b) * b + floor_mod(a, b), a);
      EXPECT_TRUE(floor_mod(a, b) == 0 || (floor_mod(a, b) < 0) == (b < 0)) << a << " % " << b;
    }
  }
}

TEST(Folding, AddingZeroAndMultiplyingByOneKeepAnInteger) {
  EXPECT_TRUE((kI32 + 0).same_as(kI32));
  EXPECT_TRUE((0 + kI32).same_as(kI32));
  EXPECT_TRUE((kI32 - 0).same_as(kI32));
  EXPECT_TRUE((1 * kI32).same_as(kI32));
  EXPECT_TRUE((kI32 / 1).same_as(kI32));
  EXPECT_EQ(to_string(0 - kI32), "0 - i32");
}

TEST(Folding, FloatsAreNotComputedExceptForTheSignOfAConstant) {
  EXPECT_EQ(to_string(Expr(1.0f) + 2.0f), "1.0 + 2.0");
  EXPECT_EQ(to_string(kF32 + 0), "f32 + 0.0");
  EXPECT_EQ(to_string(kF32 * 1), "f32*1.0");
  EXPECT_EQ((-Expr(2.0f)).as<FloatImm>()->value, -2.0);
}

TEST(Folding, SelectOnAConstantIsTheChosenValue) {
  EXPECT_TRUE(select(Expr(true), kF32, kF32 + 1).same_as(kF32));
  EXPECT_EQ(to_string(select(Expr(false), kF32, 2)), "2.0");
}

TEST(Operators, ComparisonsGiveBool) {
  EXPECT_EQ((kF32 < 1).type(), Bool());
  EXPECT_EQ((kU8 == 300).type(), Bool());
  EXPECT_EQ(to_string(kU8 < 300), "cast<i16>(u8) < 300");
  EXPECT_EQ((kBool != (kI32 > 0)).type(), Bool());
  EXPECT_EQ(to_string(Var("x") == Var("y")), "x == y");
}

TEST(Operators, BitwiseOnBoolsIsLogical) {
  EXPECT_EQ(to_string(kBool & (kI32 > 0)), "b && i32 > 0");
  EXPECT_EQ(to_string(kBool | kBool), "b || b");
  EXPECT_EQ(to_string(kBool ^ kBool), "b != b");
  EXPECT_EQ(to_string(~kBool), "!b");
  EXPECT_EQ(to_string(kU8 & 15), "u8 & 15");
}

TEST(Operators, AShiftHasTheTypeOfWhatIsShifted) {
  EXPECT_EQ((kU8 << 3).type(), UInt(8));
  EXPECT_EQ((kI32 >> kU8).type(), Int(32));
  EXPECT_EQ((1 << kU8).type(), Int(32));
  EXPECT_EQ(error_of([] { kU8 << 8; }), "'<<' of u8 by 8; the amount must be from 0 to 7");
  EXPECT_EQ(error_of([] { kI32 >> -1; }), "'>>' of i32 by -1; the amount must be from 0 to 31");
}

TEST(Operators, CompoundAssignmentsKeepTheWrittenOrder) {
  Expr e = kF32;
  e += kF32 * 2;
  e -= 1;
  e *= kF32;
  e /= 3;
  EXPECT_EQ(to_string(e), "(f32 + f32*2.0 - 1.0)*f32/3.0");
}

TEST(Operators, AScalarMeetsAVectorInItsLanes) {
  const Expr vector = make_var("v", Float(32).with_lanes(4));
  EXPECT_EQ(to_string(vector * kF32), "v*x4(f32)");
  EXPECT_EQ((vector < 1).type(), Bool().with_lanes(4));
  EXPECT_EQ(select(kBool, vector, 0).type(), Float(32).with_lanes(4));
  EXPECT_EQ(cast(Float(64), vector).type(), Float(64).with_lanes(4));
}

TEST(Casts, ToTheSameTypeIsTheValueAndToBoolAComparison) {
  EXPECT_TRUE(cast(Float(32), kF32).same_as(kF32));
  EXPECT_EQ(to_string(cast<bool>(kI32)), "i32 != 0");
  EXPECT_EQ(to_string(cast<float>(kBool)), "cast<f32>(b)");
  EXPECT_NE(error_of([] { cast(Int(24), kI32); }).find("cast to i24, which is no type"),
            std::string::npos);
}

TEST(OperatorErrors, AnUndefinedOperandNamesTheOperation) {
  const std::string message =
      "an operand of '+' is an undefined Expr; assign a value to it before it is used";
  EXPECT_EQ(error_of([] { Expr() + kF32; }), message);
  EXPECT_EQ(error_of([] { kF32 + Expr(); }), message);
  for (const auto& action : std::vector<std::function<void()>>{
           [] { -Expr(); }, [] { !Expr(); }, [] { ~Expr(); }, [] { Expr() & kBool; },
           [] { Expr() << 1; }, [] { Expr() && kBool; }, [] { abs(Expr()); }, [] { sqrt(Expr()); },
           [] { select(Expr(), 1, 2); }, [] { fma(kF32, kF32, Expr()); }, [] { strict(Expr()); },
           [] { cast(Int(32), Expr()); }, [] { min(kF32, Expr()); }, [] { Expr() == 1; }}) {
    EXPECT_NE(error_of(action).find("undefined Expr"), std::string::npos);
  }
}

TEST(OperatorErrors, ArithmeticOnBoolsSaysToMakeANumber) {
  EXPECT_EQ(error_of([] { kBool + kBool; }),
            "'+' does not take bool operands (b); make a number of the bool first: "
            "select(condition, 1, 0)");
  EXPECT_EQ(error_of([] { kBool* kF32; }),
            "'*' of bool and f32; make the bool a number first: select(condition, 1, 0)");
  for (const auto& action : std::vector<std::function<void()>>{
           [] { -kBool; }, [] { kBool < kBool; }, [] { kBool % 2; }, [] { abs(kBool); },
           [] { max(kBool, kBool); }, [] { kBool << 1; }, [] { kBool == 1; },
           [] { select(kBool, kBool, 1); }}) {
    EXPECT_NE(error_of(action).find("select(condition, 1, 0)"), std::string::npos);
  }
}

TEST(OperatorErrors, FloatFunctionsOfIntegersSayToCast) {
  EXPECT_EQ(error_of([] { sqrt(kI32); }),
            "'sqrt' does not take i32 operands (i32); cast it to Float(32): cast(Float(32), ...)");
  for (const auto& action : std::vector<std::function<void()>>{
           [] { floor(kI32); }, [] { ceil(kI32); }, [] { round(kI32); }, [] { exp(kI32); },
           [] { log(kI32); }, [] { sin(kI32); }, [] { cos(kI32); }, [] { tanh(kI32); },
           [] { pow(kI32, 2); }, [] { fma(kI32, kI32, kI32); }}) {
    EXPECT_NE(error_of(action).find("cast it to Float(32)"), std::string::npos);
  }
  EXPECT_EQ(pow(kF32, 2).type(), Float(32));
}

TEST(OperatorErrors, IntegerOperationsRefuseFloats) {
  EXPECT_EQ(error_of([] { kF32 % 2; }), "'%' does not take f32 operands (f32); write a - b*floor(a/b)");
  EXPECT_NE(error_of([] { kF32 & 1; }), "no error");
  EXPECT_NE(error_of([] { kF32 << 1; }), "no error");
  EXPECT_NE(error_of([] { ~kF32; }), "no error");
}

TEST(OperatorErrors, ConditionsMustBeBool) {
  const std::string message = "'&&' does not take i32 operands (i32); compare it, e.g. with != 0";
  EXPECT_EQ(error_of([] { kI32&& kBool; }), message);
  EXPECT_EQ(error_of([] { kBool&& kI32; }), message);
  EXPECT_NE(error_of([] { select(kI32, 1, 2); }), "no error");
  EXPECT_NE(error_of([] { !kI32; }), "no error");
}

}  // namespace
}  // namespace mica
