#include "runtime/emulator/shadow_memory.h"

#include <gtest/gtest.h>

namespace mica {
namespace {

/// Shared memory of 64 bytes; read and write give the hazard found.
struct Shared {
  LaunchClock clock;
  BulkPhases phases{clock, 8};
  SharedShadow shadow;
  Finding finding;
  explicit Shared(std::size_t cell_bytes = 4) : shadow(clock, phases, 64, cell_bytes) {
    clock.start_cluster(5);
  }
  Hazard read(std::size_t offset, std::size_t bytes, int thread) {
    return shadow.read(offset, bytes, thread, finding) ? Hazard::None : finding.hazard;
  }
  Hazard write(std::size_t offset, std::size_t bytes, int thread) {
    return shadow.write(offset, bytes, thread, finding) ? Hazard::None : finding.hazard;
  }
};

TEST(SharedShadow, ReadingWhatNobodyWroteIsFound) {
  Shared s;
  EXPECT_EQ(s.read(8, 4, 0), Hazard::UninitializedRead);
  EXPECT_EQ(s.write(8, 4, 0), Hazard::None);
  EXPECT_EQ(s.read(8, 4, 0), Hazard::None);
}

TEST(SharedShadow, WhatTheBlockBeforeWroteDoesNotCount) {
  Shared s;
  s.write(0, 4, 0);
  s.clock.start_cluster(6);
  EXPECT_EQ(s.read(0, 4, 0), Hazard::UninitializedRead);
}

TEST(SharedShadow, ABarrierOrdersWritesAndReads) {
  Shared s;
  s.write(0, 4, 1);
  s.clock.next_epoch();
  EXPECT_EQ(s.read(0, 4, 2), Hazard::None);
  s.clock.next_epoch();
  EXPECT_EQ(s.write(0, 4, 3), Hazard::None);
}

TEST(SharedShadow, ReadingAnotherThreadsWriteOfTheSameEpochIsARace) {
  Shared s;
  s.write(4, 4, 1);
  EXPECT_EQ(s.read(4, 4, 1), Hazard::None);
  EXPECT_EQ(s.read(4, 4, 2), Hazard::ReadOfWritten);
  EXPECT_EQ(s.finding.other_thread, 1);
  EXPECT_EQ(s.finding.other_cluster, 5U);
}

TEST(SharedShadow, WritingWhatAnotherThreadReadsIsARace) {
  Shared s;
  s.write(0, 4, 1);
  s.clock.next_epoch();
  s.read(0, 4, 1);
  EXPECT_EQ(s.write(0, 4, 2), Hazard::WriteOfRead);
  EXPECT_EQ(s.finding.other_thread, 1);
}

TEST(SharedShadow, TheOtherOfSeveralReadersIsFound) {
  Shared s;
  s.write(0, 4, 9);
  s.clock.next_epoch();
  s.read(0, 4, 1);
  s.read(0, 4, 7);
  EXPECT_EQ(s.write(0, 4, 1), Hazard::WriteOfRead);
  EXPECT_EQ(s.finding.other_thread, 7);
}

TEST(SharedShadow, NeighbouringBytesAreIndependentInCellsOfOneByte) {
  Shared s(1);
  EXPECT_EQ(s.write(0, 1, 0), Hazard::None);
  EXPECT_EQ(s.write(1, 1, 1), Hazard::None);
  EXPECT_EQ(s.write(2, 2, 2), Hazard::None);
  EXPECT_EQ(s.write(3, 1, 3), Hazard::WriteOfWritten);
}

TEST(SharedShadow, AVectorAccessReportsTheFirstByteConcerned) {
  Shared s;
  s.write(8, 4, 3);
  EXPECT_EQ(s.write(0, 16, 4), Hazard::WriteOfWritten);
  EXPECT_EQ(s.finding.byte, 8U);
}

constexpr std::uintptr_t kAddress = 0x10000;

TEST(SharedShadow, ACopyKeepsEverybodyOutUntilItLands) {
  Shared s;
  EXPECT_TRUE(s.shadow.begin_copy(0, 8, 1, s.finding));
  s.clock.next_epoch();
  EXPECT_EQ(s.read(4, 4, 1), Hazard::ReadOfCopy);
  EXPECT_EQ(s.write(0, 4, 2), Hazard::WriteOfCopy);
  EXPECT_EQ(s.finding.other_thread, 1);
  s.shadow.land_copy(0, 8, 1);
  EXPECT_EQ(s.read(4, 4, 1), Hazard::None);
  EXPECT_EQ(s.read(4, 4, 2), Hazard::ReadOfWritten);
  s.clock.next_epoch();
  EXPECT_EQ(s.read(4, 4, 2), Hazard::None);
}

TEST(SharedShadow, ACopyStartsLikeAWrite) {
  Shared s;
  s.write(0, 4, 1);
  EXPECT_FALSE(s.shadow.begin_copy(0, 4, 2, s.finding));
  EXPECT_EQ(s.finding.hazard, Hazard::WriteOfWritten);
  s.clock.next_epoch();
  s.read(0, 4, 1);
  EXPECT_FALSE(s.shadow.begin_copy(0, 4, 2, s.finding));
  EXPECT_EQ(s.finding.hazard, Hazard::WriteOfRead);
  s.clock.next_epoch();
  EXPECT_TRUE(s.shadow.begin_copy(0, 4, 2, s.finding));
  EXPECT_FALSE(s.shadow.begin_copy(0, 4, 2, s.finding));
  EXPECT_EQ(s.finding.hazard, Hazard::WriteOfCopy);
}

TEST(SharedShadow, AThreadsOwnWritesNeedAFenceBeforeBulkCopiesGoThere) {
  Shared s;
  EXPECT_TRUE(s.shadow.is_fenced(0, 16, s.finding)) << "nobody has written";
  s.write(4, 4, 3);
  s.shadow.fence(2);
  EXPECT_FALSE(s.shadow.is_fenced(0, 16, s.finding)) << "another thread's fence";
  EXPECT_EQ(s.finding.hazard, Hazard::BulkOfUnfenced);
  EXPECT_EQ(s.finding.other_thread, 3);
  EXPECT_EQ(s.finding.byte, 4U);
  s.clock.next_epoch();
  EXPECT_FALSE(s.shadow.is_fenced(0, 16, s.finding)) << "a barrier is no fence";
  s.shadow.fence(3);
  EXPECT_TRUE(s.shadow.is_fenced(0, 16, s.finding));
  s.clock.next_epoch();
  s.write(4, 4, 3);
  EXPECT_FALSE(s.shadow.is_fenced(0, 16, s.finding)) << "written again";
  s.clock.start_cluster(6);
  EXPECT_TRUE(s.shadow.is_fenced(0, 16, s.finding)) << "the next block's memory";
}

TEST(SharedShadow, BulkCopiedBytesAreForThoseWhoWaitedOrMetABarrierSince) {
  Shared s;
  const std::uint32_t barrier = s.phases.add_barrier();
  EXPECT_TRUE(s.shadow.begin_copy(0, 16, 0, s.finding));
  const std::uint32_t phase = s.phases.complete(barrier);
  s.shadow.land_bulk_copy(0, 16, phase);
  EXPECT_EQ(s.read(0, 4, 0), Hazard::ReadOfBulk) << "who began the copy must wait, too";
  s.phases.pass(phase, 3);
  EXPECT_EQ(s.read(4, 4, 3), Hazard::None);
  EXPECT_EQ(s.read(4, 4, 2), Hazard::ReadOfBulk);
  EXPECT_EQ(s.write(8, 4, 2), Hazard::WriteOfBulk);
  s.clock.next_epoch();
  EXPECT_EQ(s.read(4, 4, 2), Hazard::None);
  EXPECT_EQ(s.write(12, 4, 2), Hazard::None);
}

TEST(BulkPhases, ALaterPhaseOfTheSameBarrierImpliesTheEarlierOnes) {
  LaunchClock clock;
  clock.start_cluster(0);
  BulkPhases phases(clock, 4);
  const std::uint32_t a = phases.add_barrier(), b = phases.add_barrier();
  const std::uint32_t first = phases.complete(a), other = phases.complete(b),
                      second = phases.complete(a);
  phases.pass(second, 1);
  EXPECT_TRUE(phases.known(first, 1));
  EXPECT_TRUE(phases.known(second, 1));
  EXPECT_FALSE(phases.known(other, 1));
  EXPECT_FALSE(phases.known(first, 2));
}

/// A launch of one block after another that accesses a global array.
struct Global {
  LaunchClock clock;
  GlobalShadow shadow;
  Finding finding;
  explicit Global(std::size_t element_bytes = 4) : shadow(clock, element_bytes) {
    clock.start_cluster(0);
  }
  Hazard read(std::uintptr_t address, int count, int thread) {
    return shadow.read(address, count, thread, finding) ? Hazard::None : finding.hazard;
  }
  Hazard write(std::uintptr_t address, int count, int thread) {
    return shadow.write(address, count, thread, finding) ? Hazard::None : finding.hazard;
  }
  Hazard update(std::uintptr_t address, int thread) {
    return shadow.update(address, thread, finding) ? Hazard::None : finding.hazard;
  }
};

TEST(GlobalShadow, AtomicOperationsOfAllThreadsMayMeetInOneElement) {
  Global g;
  for (int block = 0; block < 3; ++block) {
    g.clock.start_cluster(static_cast<std::uint64_t>(block));
    for (int thread = 0; thread < 4; ++thread) EXPECT_EQ(g.update(kAddress, thread), Hazard::None);
  }
}

TEST(GlobalShadow, AtomicOperationsAreNotOrderedWithOtherAccesses) {
  for (int apart = 0; apart < 2; ++apart) {
    Global g;
    const auto next_block = [&] {
      if (apart != 0) g.clock.start_cluster(1);
    };
    EXPECT_EQ(g.update(kAddress, 1), Hazard::None);
    EXPECT_EQ(g.update(kAddress + 4, 1), Hazard::None);
    EXPECT_EQ(g.write(kAddress + 8, 1, 1), Hazard::None);
    EXPECT_EQ(g.read(kAddress + 12, 1, 1), Hazard::None);
    next_block();
    EXPECT_EQ(g.read(kAddress, 1, 2), Hazard::ReadOfWritten);
    EXPECT_EQ(g.write(kAddress + 4, 1, 2), Hazard::WriteOfUpdated);
    EXPECT_EQ(g.finding.other_thread, 1);
    EXPECT_EQ(g.update(kAddress + 8, 2), Hazard::UpdateOfWritten);
    EXPECT_EQ(g.update(kAddress + 12, 2), Hazard::WriteOfRead);
  }
}

TEST(GlobalShadow, AThreadsOwnWriteBeforeItsAtomicOperationIsNotForgotten) {
  Global g;
  EXPECT_EQ(g.write(kAddress, 1, 1), Hazard::None);
  EXPECT_EQ(g.update(kAddress, 1), Hazard::None);
  EXPECT_EQ(g.update(kAddress, 2), Hazard::UpdateOfWritten);
  g.clock.next_epoch();
  EXPECT_EQ(g.write(kAddress, 1, 3), Hazard::None) << "after a barrier";
}

TEST(GlobalShadow, ThreadsOfDifferentBlocksMayNotWriteOneElement) {
  Global g;
  EXPECT_EQ(g.write(kAddress, 4, 5), Hazard::None);
  g.clock.start_cluster(1);
  EXPECT_EQ(g.write(kAddress + 8, 4, 5), Hazard::WriteOfWritten);
  EXPECT_EQ(g.finding.other_cluster, 0U);
  EXPECT_EQ(g.finding.other_thread, 5);
  EXPECT_EQ(g.finding.byte, 0U);
  EXPECT_EQ(g.write(kAddress + 32, 4, 5), Hazard::None);
}

TEST(GlobalShadow, ABarrierOrdersThreadsOfOneBlockOnly) {
  Global g;
  g.write(kAddress, 1, 5);
  g.clock.next_epoch();
  EXPECT_EQ(g.read(kAddress, 1, 6), Hazard::None);
  g.clock.start_cluster(1);
  EXPECT_EQ(g.read(kAddress, 1, 6), Hazard::ReadOfWritten);
}

TEST(GlobalShadow, WritingWhatAnotherBlockHasReadIsARace) {
  Global g(8);
  g.read(kAddress, 1, 0);
  g.clock.start_cluster(1);
  g.read(kAddress, 1, 0);
  EXPECT_EQ(g.write(kAddress, 1, 0), Hazard::WriteOfRead);
  EXPECT_EQ(g.finding.other_cluster, 0U);
}

TEST(GlobalShadow, WritingWhatThisAndAnotherThreadHaveReadIsARace) {
  Global g;
  g.read(kAddress, 1, 0);
  g.read(kAddress, 1, 3);
  EXPECT_EQ(g.write(kAddress, 1, 0), Hazard::WriteOfRead);
  EXPECT_EQ(g.finding.other_thread, 3);
}

TEST(GlobalShadow, AThreadMayUpdateItsOwnElement) {
  Global g;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(g.read(kAddress, 1, 5), Hazard::None);
    EXPECT_EQ(g.write(kAddress, 1, 5), Hazard::None);
  }
}

TEST(GlobalShadow, ElementsFarApartDoNotMix) {
  Global g;
  for (std::uintptr_t i = 0; i < 300; ++i) {
    g.clock.start_cluster(i);
    EXPECT_EQ(g.write(kAddress + i * 4096, 1, 0), Hazard::None);
  }
  g.clock.start_cluster(1000);
  for (std::uintptr_t i = 0; i < 300; ++i) {
    EXPECT_EQ(g.read(kAddress + i * 4096, 1, 0), Hazard::ReadOfWritten);
    EXPECT_EQ(g.finding.other_cluster, i);
  }
}

}  // namespace
}  // namespace mica
