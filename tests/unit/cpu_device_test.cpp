#include "runtime/cpu/cpu_device.h"

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mica {
namespace {

struct Counts {
  std::int64_t min = 0;
  std::vector<std::atomic<int>> calls;
  explicit Counts(std::size_t n) : calls(n) {}
};

void count(std::int64_t i, void* closure) {
  auto* counts = static_cast<Counts*>(closure);
  counts->calls[static_cast<std::size_t>(i - counts->min)].fetch_add(1);
}

TEST(ParallelFor, EveryIterationRunsOnce) {
  Counts counts(1000);
  counts.min = -17;
  mica_parallel_for(count, -17, 1000, &counts);
  for (const auto& calls : counts.calls) EXPECT_EQ(calls.load(), 1);
}

// Points of the same coordinates in many arrays would else have the same few places in the caches.
TEST(HostMemory, LargeBlocksOfOneSizeBeginAtDifferentPlacesOfAPage) {
  constexpr std::size_t kBytes = std::size_t{96} * 96 * 96 * 4, kPage = 4096;
  std::vector<void*> blocks;
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 16; ++i) {
    blocks.push_back(allocate_host_memory(kBytes));
    std::memset(blocks.back(), i, kBytes);
    const auto address = reinterpret_cast<std::uintptr_t>(blocks.back());
    EXPECT_EQ(address % kHostAlignment, 0U);
    places.insert(address % kPage);
  }
  EXPECT_GE(places.size(), 6U);
  for (int i = 0; i < 16; ++i) {
    const auto* block = static_cast<const unsigned char*>(blocks[static_cast<std::size_t>(i)]);
    EXPECT_EQ(block[0], i);
    EXPECT_EQ(block[kBytes - 1], i);
    free_host_memory(blocks[static_cast<std::size_t>(i)]);
  }
  free_host_memory(nullptr);
}

TEST(ParallelFor, NoExtentMeansNoCall) {
  Counts counts(1);
  mica_parallel_for(count, 0, 0, &counts);
  mica_parallel_for(count, 0, -5, &counts);
  EXPECT_EQ(counts.calls[0].load(), 0);
  mica_parallel_for(count, 0, 1, &counts);
  EXPECT_EQ(counts.calls[0].load(), 1);
}

TEST(ParallelFor, CallsNest) {
  Counts counts(64);
  const auto row = [](std::int64_t, void* closure) { mica_parallel_for(count, 0, 64, closure); };
  mica_parallel_for(row, 0, 10, &counts);
  for (const auto& calls : counts.calls) EXPECT_EQ(calls.load(), 10);
}

/// Divides 1 by 3 in many iterations that take a while; how many quotients are not `expected`.
int other_quotients(float expected) {
  struct Quotients {
    volatile float third = 3;
    float expected = 0;
    std::atomic<int> others{0};
  } quotients;
  quotients.expected = expected;
  const auto divide = [](std::int64_t, void* closure) {
    auto* q = static_cast<Quotients*>(closure);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (1 / q->third != q->expected) ++q->others;
  };
  mica_parallel_for(divide, 0, 200, &quotients);
  return quotients.others;
}

TEST(ParallelFor, TheThreadsTakeOverTheCallersFloatingPointMode) {
  volatile float third = 3;
  const float nearest = 1 / third;
  EXPECT_EQ(other_quotients(nearest), 0);
  std::fesetround(FE_DOWNWARD);
  const float below = 1 / third;
  const int others = other_quotients(below);
  std::fesetround(FE_TONEAREST);
  EXPECT_NE(below, nearest);
  EXPECT_EQ(others, 0);
  EXPECT_EQ(other_quotients(nearest), 0);
}

TEST(ParallelFor, TheThreadsAreCounted) { EXPECT_GE(host_threads(), 1); }

TEST(Scratch, BlocksAreAlignedAndApart) {
  std::vector<void*> blocks;
  for (const std::size_t bytes : {0U, 1U, 63U, 64U, 65U, 5000U, 1U << 20, 20U << 20}) {
    void* block = mica_allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U) << bytes;
    std::memset(block, static_cast<int>(blocks.size() + 1), bytes);
    blocks.push_back(block);
  }
  EXPECT_EQ(static_cast<unsigned char*>(blocks[5])[4999], 6);
  EXPECT_EQ(static_cast<unsigned char*>(blocks[1])[0], 2);
  for (void* block : blocks) mica_free(block);
  mica_free(nullptr);
}

TEST(Scratch, AFreedBlockServesTheNextOfItsSize) {
  void* first = mica_allocate(10000);
  mica_free(first);
  void* second = mica_allocate(9000);
  EXPECT_EQ(second, first);
  mica_free(second);
}

TEST(Scratch, AnotherThreadMayFree) {
  void* block = mica_allocate(4000);
  std::thread([block] {
    mica_free(block);
    EXPECT_EQ(mica_allocate(4000), block) << "it went to the freeing thread's cache";
    mica_free(block);
  }).join();
}

TEST(CpuDevice, MemoryIsAlignedAndKeepsWhatIsCopied) {
  const std::shared_ptr<Device> device = cpu_device();
  const std::vector<int> values(1000, 7);
  const std::size_t bytes = values.size() * sizeof(int);
  const std::uint64_t address = device->allocate(bytes, {});
  EXPECT_EQ(address % 256, 0U);
  device->copy_to_device(address, values.data(), bytes, {});
  std::vector<int> back(values.size());
  device->copy_to_host(back.data(), address, bytes, {});
  device->synchronize({});
  EXPECT_EQ(back, values);
  device->release(address, bytes, {});
  EXPECT_FALSE(device->name().empty());
}

TEST(CpuDevice, ZeroBytesAreLegal) {
  const std::uint64_t address = cpu_device()->allocate(0, {});
  EXPECT_NE(address, 0U);
  cpu_device()->copy_to_device(address, nullptr, 0, {});
  cpu_device()->release(address, 0, {});
}

TEST(CpuDevice, AReleasedBlockServesTheNextOfItsSize) {
  const std::size_t bytes = std::size_t{3} << 20;
  const std::uint64_t first = cpu_device()->allocate(bytes, {});
  cpu_device()->release(first, bytes, {});
  const std::uint64_t second = cpu_device()->allocate(bytes - 100000, {});
  EXPECT_EQ(second, first);
  const std::uint64_t third = cpu_device()->allocate(bytes, {});
  EXPECT_NE(third, second);
  cpu_device()->release(second, bytes - 100000, {});
  cpu_device()->release(third, bytes, {});
}

TEST(CpuDevice, ThreadsShareThePool) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < 200; ++i) {
        const std::size_t bytes = 70000 + static_cast<std::size_t>(1000 * (i % 7));
        const std::uint64_t address = cpu_device()->allocate(bytes, {});
        auto* memory = reinterpret_cast<unsigned char*>(address);
        std::memset(memory, t, 64);
        if (memory[63] != t) ++wrong;
        cpu_device()->release(address, bytes, {});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace mica
