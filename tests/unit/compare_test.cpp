// The comparisons that other tests rely on must see what they are there to see.
#include "tests/support/compare.h"

#include <algorithm>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "fuzz/oracle.h"
#include "fuzz/random_data.h"

namespace mica::test {
namespace {

Buffer<float> sample() {
  Buffer<float> b(std::vector<BufferDim>{{-2, 5, 1}, {3, 4, 7}});
  fill_random(b, 1);
  return b;
}

TEST(SameBits, HoldsForACopyWithOtherStrides) {
  const Buffer<float> a = sample();
  const Buffer<float> dense(buffer_over(Float(32), {{-2, 5}, {3, 4}}));
  Buffer<float> copy = dense;
  for_each_point({{-2, 5}, {3, 4}},
                 [&](const std::vector<std::int64_t>& at) { copy(at[0], at[1]) = a(at[0], at[1]); });
  EXPECT_TRUE(same_bits(a, copy));
}

TEST(SameBits, NamesTheFirstDifferingElement) {
  const Buffer<float> a = sample();
  Buffer<float> b = a.copy();
  b(1, 4) = 0.5F;
  b(2, 6) = 0.5F;
  const ::testing::AssertionResult result = same_bits(a, b);
  EXPECT_FALSE(result);
  const std::string message = result.message();
  EXPECT_NE(message.find("2 of 20 elements"), std::string::npos) << message;
  EXPECT_NE(message.find("at (1, 4)"), std::string::npos) << message;
  EXPECT_NE(message.find("0.5 (0x3f000000)"), std::string::npos) << message;
}

TEST(SameBits, TellsZerosOfDifferentSignApart) {
  Buffer<double> a(1);
  Buffer<double> b(1);
  a(0) = 0.0;
  b(0) = -0.0;
  EXPECT_FALSE(same_bits(a, b));
}

TEST(SameBits, TakesEveryNanForTheSame) {
  Buffer<float> a(2);
  Buffer<float> b(2);
  a(0) = std::numeric_limits<float>::quiet_NaN();
  b(0) = -std::numeric_limits<float>::signaling_NaN();
  a(1) = b(1) = 1.0F;
  EXPECT_TRUE(same_bits(a, b));
  b(1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(same_bits(a, b));
}

TEST(SameBits, WantsEqualTypesAndBoxes) {
  EXPECT_FALSE(same_bits(Buffer<float>(3), Buffer<std::int32_t>(3)));
  EXPECT_FALSE(same_bits(Buffer<float>(3), Buffer<float>(4)));
  EXPECT_FALSE(same_bits(Buffer<float>(3), Buffer<float>(3).translated({1})));
}

TEST(PoisonedOutput, AllowsWritesInsideItsCrop) {
  PoisonedOutput out(Float(32), {{-1, 4}, {2, 3}});
  EXPECT_TRUE(outside_untouched(out));
  Buffer<float> crop(out.crop());
  crop.fill(1.0F);
  EXPECT_TRUE(outside_untouched(out));
}

TEST(PoisonedOutput, SeesAWriteNextToItsCrop) {
  for (const std::int64_t offset : {-1, 4}) {
    PoisonedOutput out(Int(16), {{0, 4}, {0, 3}});
    static_cast<std::int16_t*>(out.crop().host_data_for_write())[offset] = 7;
    const ::testing::AssertionResult result = outside_untouched(out);
    EXPECT_FALSE(result);
    EXPECT_NE(std::string(result.message()).find("(" + std::to_string(offset) + ", 0)"),
              std::string::npos)
        << result.message();
  }
}

TEST(PoisonedOutput, SeesAWriteInRowPadding) {
  PoisonedOutput out(UInt(8), {{0, 4}, {0, 3}}, 3, 2);
  static_cast<std::uint8_t*>(out.crop().host_data_for_write())[4 + 3] = 1;
  EXPECT_FALSE(outside_untouched(out));
}

TEST(RandomData, RepeatsForEqualSeedsOnly) {
  for (const Type type : {Bool(), UInt(8), Int(64), Float(16), BFloat(), Float(32), Float(64)}) {
    AnyBuffer a(type, std::vector<std::int64_t>{40});
    AnyBuffer b(type, std::vector<std::int64_t>{40});
    AnyBuffer c(type, std::vector<std::int64_t>{40});
    fill_random(a, 5);
    fill_random(b, 5);
    fill_random(c, 6);
    EXPECT_TRUE(same_bits(a, b));
    EXPECT_FALSE(same_bits(a, c));
  }
}

TEST(RandomData, OrdinaryFloatsLieBetweenMinusOneAndOne) {
  Buffer<double> a(1000);
  fill_random(a, 7);
  double low = 1;
  double high = -1;
  for (int i = 0; i < 1000; ++i) {
    low = std::min(low, a(i));
    high = std::max(high, a(i));
  }
  EXPECT_GE(low, -1.0);
  EXPECT_LT(low, -0.9);
  EXPECT_LT(high, 1.0);
  EXPECT_GT(high, 0.9);
}

}  // namespace
}  // namespace mica::test
