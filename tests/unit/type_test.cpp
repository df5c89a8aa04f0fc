#include "dsl/expr/type.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "dsl/expr/diagnostics.h"

namespace mica {
namespace {

float from_half_bits(int bits) {
  float16 h;
  h.bits = static_cast<std::uint16_t>(bits);
  return static_cast<float>(h);
}
float from_bfloat_bits(int bits) {
  bfloat16 b;
  b.bits = static_cast<std::uint16_t>(bits);
  return static_cast<float>(b);
}

// The value of finite f16 bits from the format's definition.
double half_value(int bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Types, EachUserTypeReadsBackFromItsName) {
  for (const Type type : {Bool(), UInt(8), Int(8), UInt(16), Int(16), UInt(32), Int(32), UInt(64),
                          Int(64), Float(16), BFloat(), Float(32), Float(64)}) {
    EXPECT_EQ(type_from_string(to_string(type)), type);
    EXPECT_TRUE(is_user_type(type)) << to_string(type);
  }
}

TEST(Types, NamesShowTheLanesOfAVector) {
  EXPECT_EQ(to_string(Float(32).with_lanes(4)), "f32x4");
  EXPECT_EQ(to_string(BFloat()), "bf16");
  EXPECT_EQ(to_string(Bool()), "bool");
}

TEST(Types, VectorsAndOtherWidthsAreNotForAlgorithms) {
  EXPECT_FALSE(is_user_type(UInt(24)));
  EXPECT_FALSE(is_user_type(Float(32).with_lanes(4)));
  EXPECT_FALSE(is_user_type(Int(24)));
}

TEST(Types, AnUnknownNameIsAnErrorThatListsTheTypes) {
  try {
    type_from_string("f128");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(
        error.what(),
        "'f128' is no type; the types are bool, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, "
        "f32 and f64");
  }
}

TEST(Types, IntegersWrapToTheirWidth) {
  EXPECT_EQ(wrap_to_type(UInt(8), 300), 44);
  EXPECT_EQ(wrap_to_type(UInt(8), -1), 255);
  EXPECT_EQ(wrap_to_type(Int(8), 200), -56);
  EXPECT_EQ(wrap_to_type(Int(32), std::int64_t{1} << 31), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(wrap_to_type(UInt(32), -1), 0xffffffffLL);
  EXPECT_EQ(wrap_to_type(Int(64), -5), -5);
  EXPECT_EQ(wrap_to_type(Bool(), 2), 1);
}

TEST(Types, DoublesRoundToF16ThroughF32) {
  // Just above the tie between two neighbours of 1 in f16, but equal to the tie in f32.
  const double above_tie = 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40);
  EXPECT_EQ(round_to_type(Float(16), above_tie), 1.0);
  EXPECT_EQ(round_to_type(Float(32), 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(round_to_type(Float(64), 0.1), 0.1);
  EXPECT_TRUE(std::isinf(round_to_type(Float(16), 65520.0)));
}

TEST(Float16, EveryFiniteValueConvertsExactlyBothWays) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7c00) == 0x7c00) continue;
    const float value = from_half_bits(bits);
    ASSERT_EQ(static_cast<double>(value), half_value(bits)) << bits;
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(float16(value).bits, bits);
  }
}

TEST(Float16, ValuesBetweenTwoNeighboursRoundToTheNearestAndTiesToEven) {
  for (int bits = 0; bits < 0x7bff; ++bits) {
    const double low = half_value(bits);
    const double high = half_value(bits + 1);
    const auto tie = static_cast<float>((low + high) / 2);
    ASSERT_EQ(float16(tie).bits, bits + (bits & 1)) << bits;
    ASSERT_EQ(float16(std::nextafter(tie, 0.0f)).bits, bits) << bits;
    ASSERT_EQ(float16(std::nextafter(tie, 1e9f)).bits, bits + 1) << bits;
    ASSERT_EQ(float16(-tie).bits, 0x8000 + bits + (bits & 1)) << bits;
  }
}

TEST(Float16, TooLargeAValueBecomesInfinite) {
  EXPECT_EQ(float16(std::nextafter(65520.0f, 0.0f)).bits, 0x7bff);
  EXPECT_EQ(float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(float16(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
  EXPECT_EQ(from_half_bits(0x7c00), std::numeric_limits<float>::infinity());
}

TEST(Float16, TinyValuesBecomeZeroOfTheirSign) {
  EXPECT_EQ(float16(std::ldexp(1.0f, -25)).bits, 0x0000);
  EXPECT_EQ(float16(-std::ldexp(1.0f, -25)).bits, 0x8000);
  EXPECT_EQ(float16(std::nextafter(std::ldexp(1.0f, -25), 1.0f)).bits, 0x0001);
  EXPECT_EQ(float16(std::numeric_limits<float>::denorm_min()).bits, 0x0000);
}

TEST(Float16, ANanStaysAQuietNan) {
  const float nan_with_low_payload = std::bit_cast<float>(0x7f800001u);
  EXPECT_EQ(float16(nan_with_low_payload).bits, 0x7e00);
  EXPECT_EQ(float16(std::bit_cast<float>(0xffc02000u)).bits, 0xfe01);
  EXPECT_TRUE(std::isnan(from_half_bits(0x7c01)));
}

TEST(BFloat16, EveryValueButNanConvertsExactlyBothWays) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const float value = from_bfloat_bits(bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), static_cast<std::uint32_t>(bits) << 16);
    if (!std::isnan(value)) {
      ASSERT_EQ(bfloat16(value).bits, bits);
    }
  }
}

TEST(BFloat16, ValuesRoundToTheNearestAndTiesToEven) {
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x3f808001u)).bits, 0x3f81);
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x3f807fffu)).bits, 0x3f80);
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x00008000u)).bits, 0x0000);
  EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

TEST(BFloat16, ANanStaysAQuietNan) {
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x7f800001u)).bits, 0x7fc0);
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0xffffffffu)).bits, 0xffff);
}

}  // namespace
}  // namespace mica
