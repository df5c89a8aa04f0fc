#include "runtime/shadow_memory.h"

#include <gtest/gtest.h>

namespace mica {
namespace {

TEST(SharedShadow, ReadingWhatNobodyWroteIsFound) {
  SharedShadow shadow(64, 4);
  shadow.start_block(0);
  EXPECT_EQ(shadow.read(8, 4, 0).hazard, Hazard::UninitializedRead);
  EXPECT_FALSE(shadow.write(8, 4, 0).found());
  EXPECT_FALSE(shadow.read(8, 4, 0).found());
}

TEST(SharedShadow, WhatTheBlockBeforeWroteDoesNotCount) {
  SharedShadow shadow(64, 4);
  shadow.start_block(0);
  shadow.write(0, 4, 0);
  shadow.start_block(1);
  EXPECT_EQ(shadow.read(0, 4, 0).hazard, Hazard::UninitializedRead);
}

TEST(SharedShadow, ABarrierOrdersWritesAndReads) {
  SharedShadow shadow(64, 4);
  shadow.start_block(0);
  shadow.write(0, 4, 1);
  shadow.next_epoch();
  EXPECT_FALSE(shadow.read(0, 4, 2).found());
  shadow.next_epoch();
  EXPECT_FALSE(shadow.write(0, 4, 3).found());
}

TEST(SharedShadow, ReadingAnotherThreadsWriteOfTheSameEpochIsARace) {
  SharedShadow shadow(64, 4);
  shadow.start_block(5);
  shadow.write(4, 4, 1);
  const Finding finding = shadow.read(0, 8, 2);
  EXPECT_EQ(finding.hazard, Hazard::UninitializedRead);  // of bytes 0 to 3
  EXPECT_EQ(finding.byte, 0U);
  const Finding race = shadow.read(4, 4, 2);
  EXPECT_EQ(race.hazard, Hazard::ReadOfWritten);
  EXPECT_EQ(race.other.thread, 1);
  EXPECT_EQ(race.other.block, 5U);
}

TEST(SharedShadow, WritingWhatAnotherThreadReadsIsARace) {
  SharedShadow shadow(64, 4);
  shadow.start_block(0);
  shadow.write(0, 4, 1);
  shadow.next_epoch();
  shadow.read(0, 4, 1);
  EXPECT_FALSE(shadow.write(0, 4, 1).found());
  EXPECT_EQ(shadow.write(0, 4, 2).hazard, Hazard::WriteOfWritten);
}

TEST(SharedShadow, TheOtherOfSeveralReadersIsFound) {
  SharedShadow shadow(64, 4);
  shadow.start_block(0);
  shadow.write(0, 4, 9);
  shadow.next_epoch();
  shadow.read(0, 4, 1);
  shadow.read(0, 4, 7);
  const Finding finding = shadow.write(0, 4, 1);
  EXPECT_EQ(finding.hazard, Hazard::WriteOfRead);
  EXPECT_EQ(finding.other.thread, 7);
}

TEST(SharedShadow, NeighbouringBytesAreIndependentInCellsOfOneByte) {
  SharedShadow shadow(8, 1);
  shadow.start_block(0);
  EXPECT_FALSE(shadow.write(0, 1, 0).found());
  EXPECT_FALSE(shadow.write(1, 1, 1).found());
  EXPECT_FALSE(shadow.write(2, 2, 2).found());
  EXPECT_EQ(shadow.write(3, 1, 3).hazard, Hazard::WriteOfWritten);
}

TEST(SharedShadow, AVectorAccessReportsTheFirstByteConcerned) {
  SharedShadow shadow(64, 4);
  shadow.start_block(0);
  shadow.write(8, 4, 3);
  const Finding finding = shadow.write(0, 16, 4);
  EXPECT_EQ(finding.hazard, Hazard::WriteOfWritten);
  EXPECT_EQ(finding.byte, 8U);
}

constexpr std::uintptr_t kAddress = 0x10000;

TEST(GlobalShadow, ThreadsOfDifferentBlocksMayNotWriteOneElement) {
  GlobalShadow shadow(4);
  EXPECT_FALSE(shadow.write(kAddress, 4, {0, 1, 5}).found());
  const Finding finding = shadow.write(kAddress + 12, 4, {1, 2, 5});
  EXPECT_EQ(finding.hazard, Hazard::WriteOfWritten);
  EXPECT_EQ(finding.other, (ThreadMoment{0, 1, 5}));
  EXPECT_FALSE(shadow.write(kAddress + 32, 4, {1, 2, 5}).found());
}

TEST(GlobalShadow, ABarrierOrdersThreadsOfOneBlockOnly) {
  GlobalShadow shadow(4);
  shadow.write(kAddress, 1, {0, 1, 5});
  EXPECT_FALSE(shadow.read(kAddress, 1, {0, 2, 6}).found());
  EXPECT_EQ(shadow.read(kAddress, 1, {1, 3, 6}).hazard, Hazard::ReadOfWritten);
}

TEST(GlobalShadow, WritingWhatAnotherBlockHasReadIsARace) {
  GlobalShadow shadow(8);
  shadow.read(kAddress, 1, {0, 1, 0});
  shadow.read(kAddress, 1, {1, 2, 0});
  const Finding finding = shadow.write(kAddress, 1, {0, 1, 0});
  EXPECT_EQ(finding.hazard, Hazard::WriteOfRead);
  EXPECT_EQ(finding.other.block, 1U);
}

TEST(GlobalShadow, AThreadMayUpdateItsOwnElement) {
  GlobalShadow shadow(4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(shadow.read(kAddress, 1, {0, 1, 5}).found());
    EXPECT_FALSE(shadow.write(kAddress, 1, {0, 1, 5}).found());
  }
}

TEST(GlobalShadow, ElementsFarApartDoNotMix) {
  GlobalShadow shadow(4);
  for (std::uintptr_t i = 0; i < 300; ++i) {
    EXPECT_FALSE(
        shadow.write(kAddress + i * 4096, 1, {i, static_cast<std::uint32_t>(i + 1), 0}).found());
  }
  for (std::uintptr_t i = 0; i < 300; ++i) {
    const Finding finding = shadow.read(kAddress + i * 4096, 1, {1000, 1000, 0});
    EXPECT_EQ(finding.other.block, i);
  }
}

}  // namespace
}  // namespace mica
