#include "dsl/expr/constant_math.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace mica {
namespace {

constexpr std::int64_t kLeast64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();

const std::vector<Type>& integer_types() {
  static const std::vector<Type> types{UInt(8),  Int(8),  UInt(16), Int(16),
                                       UInt(32), Int(32), UInt(64), Int(64)};
  return types;
}

__extension__ using Wide = __int128;

// The number that a held value stands for.
Wide number(Type type, std::int64_t value) {
  return type == UInt(64) ? static_cast<Wide>(static_cast<std::uint64_t>(value)) : value;
}

std::vector<std::int64_t> values_of(Type type) {
  std::vector<std::int64_t> values;
  for (const std::int64_t v : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{7},
                               kMost64, kLeast64, std::int64_t{-1}, std::int64_t{-5},
                               std::int64_t{0x80000000}, std::int64_t{0x7fffffff}, std::int64_t{200}}) {
    values.push_back(wrap_to_type(type, v));
  }
  return values;
}

TEST(ConstantMath, EveryIntegerTypeIsComparedDividedAndShiftedAsWhatItIs) {
  for (const Type type : integer_types()) {
    for (const std::int64_t a : values_of(type)) {
      for (const std::int64_t b : values_of(type)) {
        const Wide p = number(type, a), q = number(type, b);
        const auto of = [&](BinaryOp op) { return number(type, *fold(op, type, a, b)); };
        EXPECT_EQ(fold(CompareOp::Lt, type, a, b), p < q);
        EXPECT_EQ(fold(CompareOp::Le, type, a, b), p <= q);
        EXPECT_EQ(fold(CompareOp::Gt, type, a, b), p > q);
        EXPECT_EQ(fold(CompareOp::Ge, type, a, b), p >= q);
        EXPECT_EQ(fold(CompareOp::Eq, type, a, b), p == q);
        EXPECT_TRUE(of(BinaryOp::Min) == (p < q ? p : q)) << to_string(type);
        EXPECT_TRUE(of(BinaryOp::Max) == (p < q ? q : p)) << to_string(type);
        if (q == 0) {
          EXPECT_TRUE(of(BinaryOp::Div) == 0 && of(BinaryOp::Mod) == 0);
          continue;
        }
        const bool down = p % q != 0 && (p < 0) != (q < 0);
        const Wide quotient = p / q - (down ? 1 : 0);
        const auto wrapped = wrap_to_type(type, static_cast<std::int64_t>(quotient));
        EXPECT_TRUE(of(BinaryOp::Div) == number(type, wrapped)) << to_string(type);
        EXPECT_TRUE(of(BinaryOp::Mod) == p - q * quotient) << to_string(type);
        const int amount = type.bits - 1;
        EXPECT_TRUE(number(type, *fold(BinaryOp::Shr, type, a, amount)) == p >> amount);
      }
    }
  }
}

TEST(ConstantMath, TheEndsOfATypeAreItsOwn) {
  EXPECT_EQ(highest_of(UInt(8)), 255);
  EXPECT_EQ(highest_of(Int(32)), 2147483647);
  EXPECT_EQ(highest_of(UInt(32)), 4294967295LL);
  EXPECT_EQ(static_cast<std::uint64_t>(highest_of(UInt(64))), ~std::uint64_t{0});
  EXPECT_EQ(highest_of(Int(64)), kMost64);
  EXPECT_EQ(lowest_of(UInt(64)), 0);
  EXPECT_EQ(lowest_of(Int(64)), kLeast64);
  EXPECT_EQ(lowest_of(Int(16)), -32768);
}

TEST(ConstantMath, ATypeHasANumberOrNot) {
  EXPECT_TRUE(has_value(UInt(64), UInt(64), -1));
  EXPECT_FALSE(has_value(Int(64), UInt(64), -1));
  EXPECT_FALSE(has_value(Int(32), UInt(64), -1));
  EXPECT_FALSE(has_value(UInt(64), Int(32), -1));
  EXPECT_TRUE(has_value(Int(8), Int(64), -1));
  EXPECT_TRUE(has_value(UInt(32), Int(64), 0xffffffffLL));
  EXPECT_FALSE(has_value(Int(32), UInt(32), 0xffffffffLL));
  EXPECT_TRUE(has_value(Bool(), Int(32), 1));
  EXPECT_FALSE(has_value(Bool(), Int(32), 2));
}

TEST(ConstantMath, FloatsBecomeTheNearestIntegerOfTheType) {
  EXPECT_EQ(to_integer(UInt(64), 0x1p64), highest_of(UInt(64)));
  EXPECT_EQ(to_integer(UInt(64), 0x1p63), kLeast64);
  EXPECT_EQ(to_integer(UInt(64), -0.5), 0);
  EXPECT_EQ(to_integer(UInt(32), 4294967295.9), 4294967295LL);
  EXPECT_EQ(to_integer(UInt(32), 4294967296.0), 4294967295LL);
  EXPECT_EQ(to_integer(Int(64), 0x1p63), kMost64);
  EXPECT_EQ(to_integer(Int(64), -0x1p63), kLeast64);
  EXPECT_EQ(to_integer(UInt(64), std::numeric_limits<double>::infinity()), highest_of(UInt(64)));
  EXPECT_EQ(to_integer(UInt(64), std::nan("")), 0);
}

TEST(ConstantMath, NumbersArePrintedAsTheirTypeHasThem) {
  EXPECT_EQ(integer_text(UInt(64), -1), "18446744073709551615");
  EXPECT_EQ(integer_text(Int(64), -1), "-1");
  EXPECT_EQ(integer_text(UInt(32), 0xffffffffLL), "4294967295");
  EXPECT_EQ(integer_text(Bool(), 1), "true");
}

}  // namespace
}  // namespace mica
