#include "dsl/expr/operators.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "dsl/expr/constant_math.h"
#include "dsl/expr/traverse.h"

namespace mica {
namespace {

Expr u8() { return make_var("u8", UInt(8)); }
Expr i8() { return make_var("i8", Int(8)); }
Expr u16() { return make_var("u16", UInt(16)); }
Expr i16() { return make_var("i16", Int(16)); }
Expr u32() { return make_var("u32", UInt(32)); }
Expr u64() { return make_var("u64", UInt(64)); }
Expr i32() { return make_var("i32", Int(32)); }
Expr i64() { return make_var("i64", Int(64)); }
Expr f16() { return make_var("f16", Float(16)); }
Expr bf16() { return make_var("bf16", BFloat()); }
Expr f32() { return make_var("f32", Float(32)); }
Expr f64() { return make_var("f64", Float(64)); }
Expr flag() { return make_var("b", Bool()); }

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error.message();
  }
  return "no error";
}

TEST(Promotion, AFloatWinsOverAnyInteger) {
  EXPECT_EQ((i64() * f16()).type(), Float(16));
  EXPECT_EQ((u8() + f64()).type(), Float(64));
  EXPECT_EQ(to_string(i32() + f32()), "cast<f32>(i32) + f32");
}

TEST(Promotion, TheWiderFloatWinsAndTheTwoHalvesMeetInF32) {
  EXPECT_EQ((f32() + f64()).type(), Float(64));
  EXPECT_EQ((bf16() + f32()).type(), Float(32));
  EXPECT_EQ((f16() * bf16()).type(), Float(32));
}

TEST(Promotion, IntegersTakeTheWiderWidthSignedIfEitherIs) {
  EXPECT_EQ((u8() + u16()).type(), UInt(16));
  EXPECT_EQ((u8() + i8()).type(), Int(8));
  EXPECT_EQ((u16() + i8()).type(), Int(16));
  EXPECT_EQ((u16() + i16()).type(), Int(16));
  EXPECT_EQ((u8() + i32()).type(), Int(32));
  EXPECT_EQ((i32() + i64()).type(), Int(64));
  EXPECT_EQ((u32() + i32()).type(), Int(32));
  EXPECT_EQ((u32() + u8()).type(), UInt(32));
  EXPECT_EQ((u32() + i16()).type(), Int(32));
  EXPECT_EQ((u32() + i64()).type(), Int(64));
  EXPECT_EQ((u64() + u32()).type(), UInt(64));
  EXPECT_EQ((u64() + i32()).type(), Int(64));
  EXPECT_EQ((u64() + f32()).type(), Float(32));
}

TEST(Literals, UnsignedNumbersOfCppAreExact) {
  EXPECT_EQ(Expr(7u).type(), UInt(32));
  EXPECT_EQ(Expr(7ull).type(), UInt(64));
  EXPECT_EQ(Expr(7ul).type(), UInt(64));
  EXPECT_EQ(Expr(7ll).type(), Int(64));
  EXPECT_EQ(to_string(Expr(0xffffffffu)), "4294967295");
  EXPECT_EQ(to_string(Expr(0xffffffffffffffffull)), "18446744073709551615");
  EXPECT_EQ(to_string(u64() + 0xffffffffffffffffull), "u64 + 18446744073709551615");
  EXPECT_EQ(to_string(make_const(UInt(64), ~0ull)), "18446744073709551615");
  EXPECT_EQ((f64() * 0xffffffffffffffffull).as<Binary>()->b.as<FloatImm>()->value, 0x1p64);
  EXPECT_EQ((f32() * 0xffffff0000000000ull).as<Binary>()->b.as<FloatImm>()->value, 0xffffff0000000000p0);
}

TEST(Literals, BesideAnUnsignedNumberTheyTakeItsTypeWhereItHoldsThem) {
  EXPECT_EQ((u32() + 5).type(), UInt(32));
  EXPECT_EQ((u32() * 0xffffffffu).type(), UInt(32));
  EXPECT_EQ((u64() >> 63).type(), UInt(64));
  EXPECT_EQ((u64() & 255).type(), UInt(64));
  EXPECT_EQ((i32() + 5u).type(), Int(32));
  EXPECT_EQ((u8() + 5ull).type(), UInt(8));
  EXPECT_EQ((u32() - -1).type(), Int(64));
  EXPECT_EQ((u32() + (std::int64_t{1} << 40)).type(), Int(64));
  EXPECT_EQ((i32() + 0xffffffffu).type(), Int(64));
  EXPECT_NE(error_of([] { u64() + -1; }).find("no integer type holds both -1 and all of u64"),
            std::string::npos);
  EXPECT_NE(error_of([] { Expr(-1) + ~0ull; }).find("18446744073709551615 and all of i32"),
            std::string::npos);
  EXPECT_NE(error_of([] { i32() + ~0ull; }).find("18446744073709551615 and all of i32"),
            std::string::npos);
  EXPECT_NE(
      error_of([] { u32() >> ~0ull; }).find("by 18446744073709551615; the amount must be from 0 to 31"),
      std::string::npos);
}

TEST(Literals, TakeTheOtherOperandsTypeOnEitherSide) {
  EXPECT_EQ((u8() + 1).type(), UInt(8));
  EXPECT_EQ((255 - u8()).type(), UInt(8));
  EXPECT_EQ((i64() + 1).type(), Int(64));
  EXPECT_EQ((2 * f32()).type(), Float(32));
  EXPECT_EQ((f16() * 0.5).type(), Float(16));
  EXPECT_EQ((f64() * 0.5f).type(), Float(64));
  EXPECT_EQ(min(u8(), 200).type(), UInt(8));
}

TEST(Literals, ADoubleBesideF32IsRoundedToF32) {
  const Expr product = f32() * 0.1;
  EXPECT_EQ(product.type(), Float(32));
  const auto* literal = product.as<Binary>()->b.as<FloatImm>();
  ASSERT_NE(literal, nullptr);
  EXPECT_EQ(literal->value, static_cast<double>(0.1f));
}

TEST(Literals, AnIntegerThatDoesNotFitWidensBothToTheSmallestSignedTypeThatHoldsThem) {
  EXPECT_EQ((u8() + 300).type(), Int(16));
  EXPECT_EQ((u8() + -1).type(), Int(16));
  EXPECT_EQ((i8() + 128).type(), Int(16));
  EXPECT_EQ((u8() + 40000).type(), Int(32));
  EXPECT_EQ((u16() + 70000).type(), Int(32));
  EXPECT_EQ((u16() - -1).type(), Int(32));
  EXPECT_EQ((i32() + (std::int64_t{1} << 40)).type(), Int(64));
  EXPECT_EQ(to_string(u8() + 300), "cast<i16>(u8) + 300");
}

TEST(Literals, AFloatBesideAnIntegerKeepsItsType) {
  EXPECT_EQ((u8() * 0.5f).type(), Float(32));
  EXPECT_EQ((i32() * 0.5).type(), Float(64));
}

TEST(Literals, ACastLiteralKeepsTheTypeItWasCastTo) {
  EXPECT_EQ((cast(Int(32), 1) + u8()).type(), Int(32));
  EXPECT_EQ((cast<double>(0.5) * f32()).type(), Float(64));
}

TEST(Literals, TooLargeAFloatForTheOtherOperandIsAnError) {
  EXPECT_EQ(error_of([] { f32() * 1e300; }),
            "the literal 1e+300 does not fit f32, the type of the other operand of '*'; cast that "
            "operand to a wider float, e.g. cast(Float(64), ...)");
  EXPECT_NE(error_of([] { f16() + 70000; }), "no error");
  EXPECT_EQ((f32() + std::numeric_limits<double>::infinity()).type(), Float(32));
}

TEST(Literals, EveryOperandOfFmaAndSelectIsMatched) {
  EXPECT_EQ(fma(2.0, 3.0, f32()).type(), Float(32));
  EXPECT_EQ(fma(2.0, f32(), 1).type(), Float(32));
  EXPECT_EQ(fma(f32(), 2.0, f64()).type(), Float(64));
  EXPECT_EQ(to_string(fma(f32(), f32(), f64())), "fma(cast<f64>(f32), cast<f64>(f32), f64)");
  EXPECT_EQ(select(flag(), f32(), 0).type(), Float(32));
  EXPECT_EQ(select(flag(), 1.0, i32() > 0, 2, f32()).type(), Float(32));
  EXPECT_EQ(clamp(u8(), 1, 254).type(), UInt(8));
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
  EXPECT_TRUE(is_const(Expr(5u) - 7u, 0xfffffffeLL));
  EXPECT_TRUE(is_const(Expr(5u) - 7, -2));
  EXPECT_TRUE(is_const(Expr(0xffffffffu) / 2, 0x7fffffff));
  EXPECT_EQ((Expr(0xffffffffu) / 2).type(), UInt(32));
  EXPECT_TRUE(is_const(Expr(0xffffffffu) + -1, 0xfffffffeLL));
  EXPECT_EQ((Expr(0xffffffffu) + -1).type(), Int(64));
  EXPECT_TRUE(is_const(Expr(2) < Expr(~0ull), 1));
  EXPECT_EQ((Expr(200) + Expr(std::uint8_t{200})).type(), Int(32));
  EXPECT_TRUE(is_const(Expr(0x80000000u) >> 31, 1));
  EXPECT_TRUE(is_const(Expr(~0ull) / 2ull, std::numeric_limits<std::int64_t>::max()));
  EXPECT_TRUE(is_const(Expr(~0ull) % 10ull, 5));
  EXPECT_TRUE(is_const(Expr(1ull) < Expr(~0ull), 1));
  EXPECT_TRUE(is_const(max(Expr(1ull), Expr(~0ull)), -1));
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
  const Expr i = i32();
  EXPECT_TRUE((i + 0).same_as(i));
  EXPECT_TRUE((0 + i).same_as(i));
  EXPECT_TRUE((i - 0).same_as(i));
  EXPECT_TRUE((1 * i).same_as(i));
  EXPECT_TRUE((i / 1).same_as(i));
  EXPECT_EQ(to_string(0 - i32()), "0 - i32");
}

TEST(Folding, FloatsAreNotComputedExceptForTheSignOfAConstant) {
  EXPECT_EQ(to_string(Expr(1.0f) + 2.0f), "1.0 + 2.0");
  EXPECT_EQ(to_string(f32() + 0), "f32 + 0.0");
  EXPECT_EQ(to_string(f32() * 1), "f32*1.0");
  EXPECT_EQ((-Expr(2.0f)).as<FloatImm>()->value, -2.0);
}

TEST(Folding, SelectOnAConstantIsTheChosenValue) {
  const Expr value = f32();
  EXPECT_TRUE(select(Expr(true), value, value + 1).same_as(value));
  EXPECT_EQ(to_string(select(Expr(false), f32(), 2)), "2.0");
}

TEST(Operators, ComparisonsGiveBool) {
  EXPECT_EQ((f32() < 1).type(), Bool());
  EXPECT_EQ((u8() == 300).type(), Bool());
  EXPECT_EQ(to_string(u8() < 300), "cast<i16>(u8) < 300");
  EXPECT_EQ((flag() != (i32() > 0)).type(), Bool());
  EXPECT_EQ(to_string(Var("x") == Var("y")), "x == y");
}

TEST(Operators, BitwiseOnBoolsIsLogical) {
  EXPECT_EQ(to_string(flag() & (i32() > 0)), "b && i32 > 0");
  EXPECT_EQ(to_string(flag() | flag()), "b || b");
  EXPECT_EQ(to_string(flag() ^ flag()), "b != b");
  EXPECT_EQ(to_string(~flag()), "!b");
  EXPECT_EQ(to_string(u8() & 15), "u8 & 15");
}

TEST(Operators, AShiftHasTheTypeOfWhatIsShifted) {
  EXPECT_EQ((u8() << 3).type(), UInt(8));
  EXPECT_EQ((i32() >> u8()).type(), Int(32));
  EXPECT_EQ((1 << u8()).type(), Int(32));
  EXPECT_EQ(error_of([] { u8() << 8; }), "'<<' of u8 by 8; the amount must be from 0 to 7");
  EXPECT_EQ(error_of([] { i32() >> -1; }), "'>>' of i32 by -1; the amount must be from 0 to 31");
}

TEST(Operators, CompoundAssignmentsKeepTheWrittenOrder) {
  Expr e = f32();
  e += f32() * 2;
  e -= 1;
  e *= f32();
  e /= 3;
  EXPECT_EQ(to_string(e), "(f32 + f32*2.0 - 1.0)*f32/3.0");
}

TEST(Operators, AScalarMeetsAVectorInItsLanes) {
  const Expr vector = make_var("v", Float(32).with_lanes(4));
  EXPECT_EQ(to_string(vector * f32()), "v*x4(f32)");
  EXPECT_EQ((vector < 1).type(), Bool().with_lanes(4));
  EXPECT_EQ(select(flag(), vector, 0).type(), Float(32).with_lanes(4));
  EXPECT_EQ(cast(Float(64), vector).type(), Float(64).with_lanes(4));
}

TEST(Casts, ToTheSameTypeIsTheValueAndToBoolAComparison) {
  const Expr value = f32();
  EXPECT_TRUE(cast(Float(32), value).same_as(value));
  EXPECT_EQ(to_string(cast<bool>(i32())), "i32 != 0");
  EXPECT_EQ(to_string(cast<float>(flag())), "cast<f32>(b)");
  EXPECT_NE(error_of([] { cast(Int(24), i32()); }).find("cast to i24, which is no type"),
            std::string::npos);
}

TEST(OperatorErrors, AnUndefinedOperandNamesTheOperation) {
  const std::string message =
      "an operand of '+' is an undefined Expr; assign a value to it before it is used";
  EXPECT_EQ(error_of([] { Expr() + f32(); }), message);
  EXPECT_EQ(error_of([] { f32() + Expr(); }), message);
  for (const auto& action : std::vector<std::function<void()>>{
           [] { -Expr(); }, [] { !Expr(); }, [] { ~Expr(); }, [] { Expr() & flag(); },
           [] { Expr() << 1; }, [] { Expr() && flag(); }, [] { abs(Expr()); }, [] { sqrt(Expr()); },
           [] { select(Expr(), 1, 2); }, [] { fma(f32(), f32(), Expr()); }, [] { strict(Expr()); },
           [] { cast(Int(32), Expr()); }, [] { min(f32(), Expr()); }, [] { Expr() == 1; }}) {
    EXPECT_NE(error_of(action).find("undefined Expr"), std::string::npos);
  }
}

TEST(OperatorErrors, ArithmeticOnBoolsSaysToMakeANumber) {
  EXPECT_EQ(error_of([] { flag() + flag(); }),
            "'+' does not take bool operands (b); make a number of the bool first: "
            "select(condition, 1, 0)");
  EXPECT_EQ(error_of([] { flag() * f32(); }),
            "'*' of bool and f32; make the bool a number first: select(condition, 1, 0)");
  for (const auto& action : std::vector<std::function<void()>>{
           [] { -flag(); }, [] { flag() < flag(); }, [] { flag() % 2; }, [] { abs(flag()); },
           [] { max(flag(), flag()); }, [] { flag() << 1; }, [] { flag() == 1; },
           [] { select(flag(), flag(), 1); }}) {
    EXPECT_NE(error_of(action).find("select(condition, 1, 0)"), std::string::npos);
  }
}

TEST(Operators, FloatFunctionsOfIntegersConvert) {
  for (const Expr& e : {sqrt(i32()), floor(i32()), ceil(i32()), round(i32()), exp(i32()), log(i32()),
                        sin(i32()), cos(i32()), tanh(i32()), pow(i32(), 2), pow(f32(), i32())}) {
    EXPECT_EQ(e.type(), Float(32)) << to_string(e);
  }
  EXPECT_EQ(sqrt(cast<std::int64_t>(i32())).type(), Float(64));
  EXPECT_EQ(pow(f32(), 2).type(), Float(32));
  EXPECT_NE(error_of([] { fma(i32(), i32(), i32()); }).find("cast it to Float(32)"), std::string::npos);
  EXPECT_NE(error_of([] { sqrt(flag()); }), "");
}

TEST(Operators, LerpAndMuxAreMadeOfTheOthers) {
  EXPECT_EQ(lerp(f32(), f32(), 0.25F).type(), Float(32));
  EXPECT_EQ(lerp(cast<std::uint8_t>(i32()), cast<std::uint8_t>(i32()), f32()).type(), UInt(8));
  EXPECT_NE(error_of([] { lerp(f32(), f32(), i32()); }).find("from 0 to 1"), std::string::npos);
  EXPECT_EQ(to_string(mux(i32(), {1, 2, 3})),
            to_string(select(i32() <= 0, 1, select(i32() <= 1, 2, 3))));
  EXPECT_NE(error_of([] { mux(i32(), {}); }).find("at least one"), std::string::npos);
  EXPECT_NE(error_of([] { mux(f32(), {1}); }), "");
}

TEST(Operators, MinMaxAndSelectTakeAnyNumberOfOperands) {
  const Expr a = i32(), one = a + 1, two = a + 2;
  EXPECT_EQ(to_string(min(a, one, 5, two)), to_string(min(min(min(a, one), 5), two)));
  EXPECT_EQ(to_string(max(a, 5, one, two, 7)), to_string(max(max(max(max(a, 5), one), two), 7)));
  EXPECT_EQ(to_string(select(a < 1, one, a < 2, two, a < 3, 0, a)),
            to_string(select(a < 1, one, select(a < 2, two, select(a < 3, 0, a)))));
  EXPECT_NE(error_of([&] { select(a < 1, one, a < 2, two, a, 0, a); }), "no error");
}

TEST(OperatorErrors, IntegerOperationsRefuseFloats) {
  EXPECT_EQ(error_of([] { f32() % 2; }),
            "'%' does not take f32 operands (f32); write fmod(a, b), or a - b*floor(a/b)");
  EXPECT_NE(error_of([] { f32() & 1; }), "no error");
  EXPECT_NE(error_of([] { f32() << 1; }), "no error");
  EXPECT_NE(error_of([] { ~f32(); }), "no error");
}

TEST(OperatorErrors, ConditionsMustBeBool) {
  const std::string message = "'&&' does not take i32 operands (i32); compare it, e.g. with != 0";
  EXPECT_EQ(error_of([] { i32() && flag(); }), message);
  EXPECT_EQ(error_of([] { flag() && i32(); }), message);
  EXPECT_NE(error_of([] { select(i32(), 1, 2); }), "no error");
  EXPECT_NE(error_of([] { !i32(); }), "no error");
}

}  // namespace
}  // namespace mica
