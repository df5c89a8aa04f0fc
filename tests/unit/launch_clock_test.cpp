// What threads know of each other after barriers of some of them.
#include "runtime/run/launch_clock.h"

#include <gtest/gtest.h>

#include "runtime/emulator/bulk_phases.h"
#include "runtime/emulator/shadow_memory.h"

namespace mica {
namespace {

TEST(LaunchClock, ThreadsKnowWhatTheyMet) {
  LaunchClock clock(4);
  clock.start_cluster(0);
  const std::uint32_t start = clock.epoch();
  EXPECT_TRUE(clock.is_before(start, 2, 2));
  EXPECT_FALSE(clock.is_before(start, 0, 1));
  clock.meet(0, 2);
  EXPECT_TRUE(clock.is_before(start, 0, 1));
  EXPECT_TRUE(clock.is_before(start, 1, 0));
  EXPECT_FALSE(clock.is_before(start, 0, 2)) << "2 was not there";
  EXPECT_FALSE(clock.is_before(clock.epoch(), 0, 1)) << "what comes after the barrier";
  clock.meet(1, 3);
  EXPECT_TRUE(clock.is_before(start, 0, 2)) << "through 1";
  EXPECT_FALSE(clock.is_before(start, 3, 2));
  clock.next_epoch();
  EXPECT_TRUE(clock.is_before(start, 3, 2));
}

TEST(LaunchClock, ThoseWhoArriveTellAndDoNotLearn) {
  LaunchClock clock(2);
  clock.start_cluster(0);
  const std::uint32_t start = clock.epoch();
  LaunchClock::Past past;
  clock.add_past(0, past);
  const std::uint32_t later = clock.epoch();
  clock.add_past(1, past);
  clock.learn(1, past);
  EXPECT_TRUE(clock.is_before(start, 0, 1));
  EXPECT_FALSE(clock.is_before(later, 0, 1)) << "done after the arrival";
  EXPECT_FALSE(clock.is_before(start, 1, 0));
}

TEST(LaunchClock, ThreadsAreCountedBlockByBlockInWarps) {
  const ClusterThreads threads{48, 2};
  EXPECT_EQ(threads.count(), 96U);
  EXPECT_EQ(threads.block_of(47), 0U);
  EXPECT_EQ(threads.block_of(48), 1U);
  EXPECT_EQ(threads.warp_of(40).begin, 32U);
  EXPECT_EQ(threads.warp_of(40).end, 48U);
  EXPECT_EQ(threads.warp_of(50).begin, 48U);
  EXPECT_EQ(threads.warp_of(50).end, 80U);
}

TEST(LaunchClock, PhasesAreKnownThroughThoseWhoWaited) {
  LaunchClock clock(4);
  clock.start_cluster(0);
  BulkPhases phases(clock, 4);
  const std::uint32_t barrier = phases.add_barrier();
  const std::uint32_t first = phases.complete(barrier);
  phases.pass(first, 0);
  EXPECT_TRUE(phases.known(first, 0));
  EXPECT_FALSE(phases.known(first, 1));
  clock.meet(0, 2);
  EXPECT_TRUE(phases.known(first, 1));
  EXPECT_FALSE(phases.known(first, 2)) << "2 did not meet 0";
  const std::uint32_t second = phases.complete(barrier);
  phases.pass(second, 3);
  EXPECT_TRUE(phases.known(first, 3)) << "the phase before";
  clock.meet(2, 4);
  EXPECT_TRUE(phases.known(first, 2));
  EXPECT_TRUE(phases.known(second, 2));
  EXPECT_FALSE(phases.known(second, 1));
}

TEST(LaunchClock, EveryReaderThatAWriterDoesNotComeAfterIsFound) {
  LaunchClock clock(4);
  clock.start_cluster(0);
  const BulkPhases phases(clock, 4);
  SharedShadow shadow(clock, phases, 16, 4);
  Finding finding;
  ASSERT_TRUE(shadow.write(0, 4, 0, finding));
  clock.next_epoch();
  for (const int reader : {0, 1, 2, 3}) ASSERT_TRUE(shadow.read(0, 4, reader, finding));
  clock.meet(0, 3);
  ASSERT_FALSE(shadow.write(0, 4, 0, finding)) << "3 may still read";
  EXPECT_EQ(finding.hazard, Hazard::WriteOfRead);
  EXPECT_EQ(finding.other_thread, 3);
  clock.next_epoch();
  EXPECT_TRUE(shadow.write(0, 4, 1, finding));
}

}  // namespace
}  // namespace mica
