// The oracle's scalar operations, against numbers computed by hand.
#include "fuzz/oracle_ops.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace mica::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::int64_t ints(BinaryOp op, Type type, std::int64_t a, std::int64_t b) {
  return apply_binary(op, type, integer_value(type, a), integer_value(type, b)).i;
}
float floats(BinaryOp op, Type type, float a, float b) {
  return apply_binary(op, type, float_value(type, static_cast<double>(a)),
                      float_value(type, static_cast<double>(b)))
      .f;
}
std::int64_t cast_float(Type to, float value) {
  return apply_cast(Float(32), to, float_value(Float(32), static_cast<double>(value))).i;
}

TEST(OracleOps, IntegersWrapToTheirWidth) {
  EXPECT_EQ(ints(BinaryOp::Add, UInt(8), 250, 10), 4);
  EXPECT_EQ(ints(BinaryOp::Sub, UInt(16), 0, 1), 65535);
  EXPECT_EQ(ints(BinaryOp::Mul, Int(16), 300, 300), 90000 - 65536);
  EXPECT_EQ(ints(BinaryOp::Add, Int(32), 2147483647, 1), -2147483648LL);
  EXPECT_EQ(ints(BinaryOp::Add, Int(64), std::numeric_limits<std::int64_t>::max(), 1),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(apply_unary(UnaryOp::Neg, Int(8), integer_value(Int(8), -128)).i, -128);
  EXPECT_EQ(apply_unary(UnaryOp::Abs, Int(8), integer_value(Int(8), -128)).i, -128);
  EXPECT_EQ(apply_unary(UnaryOp::BitNot, UInt(8), integer_value(UInt(8), 5)).i, 250);
  EXPECT_EQ(apply_unary(UnaryOp::BitNot, Int(8), integer_value(Int(8), 5)).i, -6);
}

TEST(OracleOps, DivisionRoundsDownAndByZeroGivesZero) {
  EXPECT_EQ(ints(BinaryOp::Div, Int(32), -7, 2), -4);
  EXPECT_EQ(ints(BinaryOp::Div, Int(32), 7, -2), -4);
  EXPECT_EQ(ints(BinaryOp::Div, Int(32), -7, -2), 3);
  EXPECT_EQ(ints(BinaryOp::Mod, Int(32), -7, 2), 1);
  EXPECT_EQ(ints(BinaryOp::Mod, Int(32), 7, -2), -1);
  EXPECT_EQ(ints(BinaryOp::Mod, Int(32), -6, 2), 0);
  EXPECT_EQ(ints(BinaryOp::Div, UInt(8), 200, 7), 28);
  EXPECT_EQ(ints(BinaryOp::Div, Int(32), 5, 0), 0);
  EXPECT_EQ(ints(BinaryOp::Mod, Int(32), 5, 0), 0);
  EXPECT_EQ(ints(BinaryOp::Div, Int(32), -2147483648LL, -1), -2147483648LL);
  EXPECT_EQ(ints(BinaryOp::Mod, Int(64), std::numeric_limits<std::int64_t>::min(), -1), 0);
}

TEST(OracleOps, ShiftsTakeTheirAmountModuloTheWidth) {
  EXPECT_EQ(ints(BinaryOp::Shl, UInt(8), 0x81, 1), 2);
  EXPECT_EQ(ints(BinaryOp::Shl, UInt(8), 1, 9), 2);
  EXPECT_EQ(ints(BinaryOp::Shr, Int(8), -128, 2), -32);
  EXPECT_EQ(ints(BinaryOp::Shr, UInt(8), 128, 2), 32);
  EXPECT_EQ(ints(BinaryOp::Shr, Int(32), -1, 35), -1);
}

TEST(OracleOps, MinimumAndMaximumPropagateNanAndOrderZeros) {
  for (const Type type : {Float(32), Float(16), BFloat()}) {
    EXPECT_TRUE(std::isnan(floats(BinaryOp::Min, type, kNan, 1)));
    EXPECT_TRUE(std::isnan(floats(BinaryOp::Max, type, 1, kNan)));
    EXPECT_TRUE(std::signbit(floats(BinaryOp::Min, type, 0.0F, -0.0F)));
    EXPECT_FALSE(std::signbit(floats(BinaryOp::Max, type, -0.0F, 0.0F)));
    EXPECT_EQ(floats(BinaryOp::Min, type, -kInf, 3), -kInf);
  }
}

TEST(OracleOps, FloatsBecomeIntegersByTruncationAndSaturation) {
  EXPECT_EQ(cast_float(Int(32), -1.9F), -1);
  EXPECT_EQ(cast_float(UInt(8), 255.9F), 255);
  EXPECT_EQ(cast_float(UInt(8), 256.0F), 255);
  EXPECT_EQ(cast_float(UInt(8), -0.5F), 0);
  EXPECT_EQ(cast_float(Int(8), -1000.0F), -128);
  EXPECT_EQ(cast_float(Int(32), 3e9F), 2147483647);
  EXPECT_EQ(cast_float(Int(64), kInf), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(cast_float(Int(64), -kInf), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(cast_float(Int(16), kNan), 0);
}

TEST(OracleOps, NarrowIntegersKeepTheLowBits) {
  EXPECT_EQ(apply_cast(Int(32), UInt(8), integer_value(Int(32), 0x1ff)).i, 255);
  EXPECT_EQ(apply_cast(Int(32), Int(8), integer_value(Int(32), 0x1ff)).i, -1);
  EXPECT_EQ(apply_cast(UInt(16), Int(16), integer_value(UInt(16), 40000)).i, 40000 - 65536);
  EXPECT_EQ(apply_cast(Int(8), Int(64), integer_value(Int(8), -3)).i, -3);
}

TEST(OracleOps, HalvesRoundToNearestWithTiesToEven) {
  EXPECT_EQ(round_to(Float(16), 2049.0F), 2048.0F);
  EXPECT_EQ(round_to(Float(16), 2051.0F), 2052.0F);
  EXPECT_EQ(round_to(Float(16), 65519.0F), 65504.0F);
  EXPECT_EQ(round_to(Float(16), 65520.0F), kInf);
  EXPECT_EQ(round_to(Float(16), 0x1p-25F), 0.0F);
  EXPECT_EQ(round_to(Float(16), 0x1.8p-25F), 0x1p-24F);
  EXPECT_EQ(round_to(BFloat(), 257.0F), 256.0F);
  EXPECT_EQ(round_to(BFloat(), 259.0F), 260.0F);
  EXPECT_EQ(round_to(BFloat(), std::numeric_limits<float>::max()), kInf);
  EXPECT_TRUE(std::signbit(round_to(Float(16), -0.0F)));
}

TEST(OracleOps, HalfArithmeticRoundsEveryResult) {
  // 2048 + 1 is halfway to 2050 and falls back; adding 1 again does not accumulate.
  EXPECT_EQ(floats(BinaryOp::Add, Float(16), 2048, 1), 2048.0F);
  EXPECT_EQ(floats(BinaryOp::Mul, Float(16), 300, 300), kInf);
  EXPECT_EQ(floats(BinaryOp::Mul, BFloat(), 1.0078125F, 1.0078125F), 1.015625F);
}

TEST(OracleOps, WideUnsignedIntegersAreNotSigned) {
  const auto of = [](Type type, BinaryOp op, std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(apply_binary(op, type,
                                                   integer_value(type, static_cast<std::int64_t>(a)),
                                                   integer_value(type, static_cast<std::int64_t>(b)))
                                          .i);
  };
  constexpr std::uint64_t most = ~std::uint64_t{0};
  EXPECT_EQ(of(UInt(64), BinaryOp::Div, most, 10), most / 10);
  EXPECT_EQ(of(UInt(64), BinaryOp::Mod, most, 10), 5U);
  EXPECT_EQ(of(UInt(64), BinaryOp::Div, most, 0), 0U);
  EXPECT_EQ(of(UInt(64), BinaryOp::Max, most, 1), most);
  EXPECT_EQ(of(UInt(64), BinaryOp::Min, most, 1), 1U);
  EXPECT_EQ(of(UInt(64), BinaryOp::Shr, most, 63), 1U);
  EXPECT_EQ(of(UInt(32), BinaryOp::Add, 0xffffffffU, 2), 1U);
  EXPECT_EQ(of(UInt(32), BinaryOp::Shr, 0x80000000U, 31), 1U);
  const Value all = integer_value(UInt(64), -1);
  EXPECT_EQ(apply_cast(UInt(64), Float(64), all).d, 0x1p64);
  EXPECT_EQ(apply_cast(UInt(64), Float(32), all).f, 0x1p64F);
  EXPECT_EQ(apply_cast(Float(64), UInt(64), float_value(Float(64), 0x1p64)).i, -1);
  EXPECT_EQ(apply_cast(Float(64), UInt(64), float_value(Float(64), 0x1p63)).i,
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(apply_cast(Float(64), UInt(32), float_value(Float(64), -1)).i, 0);
  EXPECT_EQ(apply_compare(CompareOp::Gt, UInt(64), all, integer_value(UInt(64), 1)).i, 1);
}

TEST(OracleOps, FmaRoundsOnce) {
  const float e = 0x1p-12F;
  const Value a = float_value(Float(32), 1.0 + static_cast<double>(e));
  const Value c = float_value(Float(32), -(1.0 + 2 * static_cast<double>(e)));
  EXPECT_EQ(apply_fma(Float(32), a, a, c).f, 0x1p-24F);
  EXPECT_EQ(apply_binary(BinaryOp::Add, Float(32), apply_binary(BinaryOp::Mul, Float(32), a, a), c).f,
            0.0F);
}

TEST(OracleOps, EveryHalfSurvivesMemoryAndBack) {
  for (const Type type : {Float(16), BFloat()}) {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const auto in = static_cast<std::uint16_t>(bits);
      std::uint16_t out = 0;
      const Value v = load_value(type, &in);
      store_value(type, &out, v);
      if (std::isnan(v.f)) {
        EXPECT_TRUE(std::isnan(load_value(type, &out).f)) << bits;
      } else {
        ASSERT_EQ(out, in) << to_string(type);
        ASSERT_EQ(round_to(type, v.f), v.f);
      }
    }
  }
}

TEST(OracleOps, HalfValuesMatchTheirDefinition) {
  const auto half = [](std::uint16_t bits) { return load_value(Float(16), &bits).f; };
  EXPECT_EQ(half(0x3c00), 1.0F);
  EXPECT_EQ(half(0xc000), -2.0F);
  EXPECT_EQ(half(0x7bff), 65504.0F);
  EXPECT_EQ(half(0x0001), 0x1p-24F);
  EXPECT_EQ(half(0x0400), 0x1p-14F);
  EXPECT_EQ(half(0x7c00), kInf);
  const auto brain = [](std::uint16_t bits) { return load_value(BFloat(), &bits).f; };
  EXPECT_EQ(brain(0x3f80), 1.0F);
  EXPECT_EQ(brain(0x4049), 3.140625F);
}

TEST(OracleOps, RoundTiesToEven) {
  const auto round = [](double v) {
    return apply_unary(UnaryOp::Round, Float(64), float_value(Float(64), v)).d;
  };
  EXPECT_EQ(round(0.5), 0.0);
  EXPECT_EQ(round(1.5), 2.0);
  EXPECT_EQ(round(2.5), 2.0);
  EXPECT_EQ(round(-2.5), -2.0);
}

TEST(OracleOps, ComparisonsWithNanAreFalseButForNotEqual) {
  const Value nan = float_value(Float(32), std::numeric_limits<double>::quiet_NaN());
  for (const CompareOp op :
       {CompareOp::Eq, CompareOp::Lt, CompareOp::Le, CompareOp::Gt, CompareOp::Ge}) {
    EXPECT_EQ(apply_compare(op, Float(32), nan, nan).i, 0);
  }
  EXPECT_EQ(apply_compare(CompareOp::Ne, Float(32), nan, nan).i, 1);
}

}  // namespace
}  // namespace mica::test
