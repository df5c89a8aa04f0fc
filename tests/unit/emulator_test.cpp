// The emulator's run-time part with threads written by hand.
#include "runtime/emulator/emulator.h"

#include <array>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

namespace mica {
namespace {

/// What a test's thread knows, and its program: called with step 0, 1, ... until it returns false,
/// with a barrier in between.
struct TestThread {
  EmulatedCluster* cluster = nullptr;
  std::array<std::int32_t, 3> block_at{}, at{};
  std::int32_t thread = 0;
  void* const* arguments = nullptr;
  int step = 0;
};
using Program = bool (*)(TestThread&);

template <Program program>
void entry(EmulatedCluster* cluster, void* const* arguments, std::int32_t bx, std::int32_t by,
           std::int32_t bz, std::int32_t tx, std::int32_t ty, std::int32_t tz, std::int32_t thread) {
  TestThread t{cluster, {bx, by, bz}, {tx, ty, tz}, thread, arguments, 0};
  while (program(t)) emulator_barrier(cluster, thread, ++t.step);
}

constexpr int kSharedWrite = 0, kSharedRead = 1, kGlobalWrite = 2, kGlobalRead = 3;

EmulatedKernel kernel_of(EmulatedKernel::Entry entry_point) {
  using Memory = EmulatedAccess::Memory;
  EmulatedKernel k;
  k.name = "test";
  k.entry = entry_point;
  k.parameters = {{"out", true, true, 4, 0},
                  {"out.min.0", false, false, 4, 4},
                  {"out.extent.0", false, false, 4, 4}};
  k.accesses = {{"tile", Memory::Shared, true, 4, 1, -1, {8}},
                {"tile", Memory::Shared, false, 4, 1, -1, {8}},
                {"out", Memory::Global, true, 4, 1, 0, {}},
                {"out", Memory::Global, false, 4, 1, 0, {}}};
  k.shared_bytes = 64;
  k.waits = true;
  k.frame_bytes = 4096;
  return k;
}

struct Launch {
  std::vector<std::int32_t> out = std::vector<std::int32_t>(64, -1);
  std::int32_t min = 0, extent = 64;
  LaunchShape shape;

  Launch(std::uint32_t blocks, std::uint32_t threads) {
    shape.grid[0] = blocks;
    shape.block[0] = threads;
  }
  void run(EmulatedKernel::Entry entry_point, std::uint64_t seed = 1) {
    void* data = out.data();
    void* arguments[] = {&data, &min, &extent};
    run_emulated(kernel_of(entry_point), shape, arguments, seed);
  }
  std::string fault(EmulatedKernel::Entry entry_point, std::uint64_t seed = 1) {
    try {
      run(entry_point, seed);
    } catch (const EmulatorError& e) {
      return e.what();
    }
    return "";
  }
};

/// Element i of the block's shared memory, after the check for `access`.
std::int32_t* shared(TestThread& t, int access, std::int32_t i) {
  auto* at = static_cast<std::int32_t*>(emulator_shared_memory(t.cluster, t.thread)) + i;
  if (!emulator_check_shared(t.cluster, at, access, t.thread)) {
    emulator_conflict(t.cluster, access, t.thread, i, 0, 0, 0);
  }
  return at;
}
std::int32_t* global(TestThread& t, int access, std::int32_t i) {
  std::int32_t* at = *static_cast<std::int32_t**>(t.arguments[0]) + i;
  if (!emulator_check_global(t.cluster, at, access, t.thread)) {
    emulator_conflict(t.cluster, access, t.thread, i, 0, 0, 0);
  }
  return at;
}

bool writes_then_reads_its_neighbour(TestThread& t) {
  if (t.step == 0) {
    *shared(t, kSharedWrite, t.thread) = t.thread;
    return true;
  }
  const std::int32_t left = *shared(t, kSharedRead, (t.thread + 7) % 8);
  *global(t, kGlobalWrite, t.block_at[0] * 8 + t.thread) = left;
  return false;
}

bool forgets_the_barrier(TestThread& t) {
  *shared(t, kSharedWrite, t.thread) = t.thread;
  *global(t, kGlobalWrite, t.block_at[0] * 8 + t.thread) = *shared(t, kSharedRead, (t.thread + 7) % 8);
  return false;
}

bool reads_uninitialised_memory(TestThread& t) {
  *global(t, kGlobalWrite, t.thread) = *shared(t, kSharedRead, t.thread);
  return false;
}

bool leaves_a_barrier_out_in_thread_three(TestThread& t) { return t.step == 0 && t.thread != 3; }

bool waits_elsewhere_in_thread_two(TestThread& t) {
  if (t.step == 0 && t.thread == 2) t.step = 40;
  return t.step == 0 || t.step == 40;
}

bool blocks_write_one_element(TestThread& t) {
  *global(t, kGlobalWrite, t.thread) = t.block_at[0];
  return false;
}

bool blocks_write_the_same_bits(TestThread& t) {
  *global(t, kGlobalWrite, t.thread) = t.thread;
  return false;
}

bool reads_what_another_cluster_writes(TestThread& t) {
  const std::int32_t left = *global(t, kGlobalRead, (t.block_at[0] + 3) % 4);
  *global(t, kGlobalWrite, t.block_at[0]) = left;
  return false;
}

bool writes_outside(TestThread& t) {
  emulator_out_of_range(t.cluster, kGlobalWrite, t.thread, 64, 0, 0, 0);
  return false;
}

TEST(Emulator, ThreadsSeeWhatOthersWroteBeforeTheBarrier) {
  Launch launch(4, 8);
  launch.run(entry<writes_then_reads_its_neighbour>);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(launch.out[static_cast<std::size_t>(i)], (i + 7) % 8);
}

TEST(Emulator, TheSeedDoesNotChangeResults) {
  Launch one(4, 8), other(4, 8);
  one.run(entry<writes_then_reads_its_neighbour>, 1);
  other.run(entry<writes_then_reads_its_neighbour>, 99);
  EXPECT_EQ(one.out, other.out);
}

TEST(Emulator, AMissingBarrierIsFoundInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string fault = Launch(1, 8).fault(entry<forgets_the_barrier>, seed);
    const bool race = fault.find("race in kernel test") != std::string::npos;
    const bool uninitialised = fault.find("uninitialised") != std::string::npos;
    EXPECT_TRUE(race || uninitialised) << fault;
  }
}

TEST(Emulator, AnUninitialisedReadNamesTheElementAndTheThread) {
  const std::string fault = Launch(1, 1).fault(entry<reads_uninitialised_memory>);
  EXPECT_EQ(
      fault,
      "uninitialised shared memory in kernel test: thread (0, 0, 0) of block (0, 0, 0) reads tile(0), "
      "which no thread of the block has written");
}

TEST(Emulator, AThreadThatEndsWhileOthersWaitIsAnError) {
  const std::string fault = Launch(1, 8).fault(entry<leaves_a_barrier_out_in_thread_three>);
  EXPECT_EQ(
      fault,
      "divergent barrier in kernel test: thread (0, 0, 0) waits at barrier 1 while thread (3, 0, 0) has "
      "ended, in block (0, 0, 0)");
}

TEST(Emulator, ThreadsAtDifferentBarriersAreAnError) {
  const std::string fault = Launch(1, 8).fault(entry<waits_elsewhere_in_thread_two>);
  EXPECT_NE(fault.find("waits at barrier 41"), std::string::npos) << fault;
}

TEST(Emulator, TwoBlocksThatWriteOneElementAreAnErrorIfTheBitsDiffer) {
  const std::string fault = Launch(2, 1).fault(entry<blocks_write_one_element>);
  EXPECT_NE(fault.find("writes out(0), which thread (0, 0, 0) of block"), std::string::npos) << fault;
  Launch same(2, 4);
  EXPECT_EQ(same.fault(entry<blocks_write_the_same_bits>), "");
  EXPECT_EQ(same.out[3], 3);
}

TEST(Emulator, NoMemoryForStacksIsAnErrorOfTheDevice) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer ends a program that asks for so much";
#endif
  Launch launch(1, 8);
  EmulatedKernel kernel = kernel_of(entry<writes_then_reads_its_neighbour>);
  kernel.frame_bytes = std::size_t{1} << 50;
  void* data = launch.out.data();
  void* arguments[] = {&data, &launch.min, &launch.extent};
  try {
    run_emulated(kernel, launch.shape, arguments, 1);
    FAIL() << "8 stacks of 2^50 bytes";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find(
                  "no memory for the stacks of the 8 threads of a block of kernel test"),
              std::string::npos)
        << e.what();
  }
}

TEST(Emulator, ReadingWhatAnotherBlockWritesIsAnErrorInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string fault = Launch(4, 1).fault(entry<reads_what_another_cluster_writes>, seed);
    EXPECT_NE(fault.find("the blocks of a launch run in any order"), std::string::npos) << fault;
  }
}

TEST(Emulator, AnIndexOutOfRangeIsReportedWithTheArraysBox) {
  Launch launch(1, 2);
  launch.min = -1;
  launch.extent = 10;
  const std::string fault = launch.fault(entry<writes_outside>);
  EXPECT_NE(fault.find("writes out(64), and out holds [-1..8]"), std::string::npos) << fault;
}

}  // namespace
}  // namespace mica
