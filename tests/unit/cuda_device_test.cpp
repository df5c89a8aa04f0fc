// Contexts, memory and copies on the stand-in GPU.
#include "runtime/cuda/cuda_device.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_memory_pool.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class CudaContexts : public test::FakeGpuTest {};

TEST_F(CudaContexts, RetainThePrimaryContextOnceAndGiveItBack) {
  {
    const auto context = open();
    EXPECT_EQ(fake_->live().retained_contexts, 1U);
    EXPECT_EQ(fake_->live().streams, 1U);
    EXPECT_EQ(fake_->context_depth(), 0) << "the thread's own context must be current again";
  }
  EXPECT_EQ(fake_->live().retained_contexts, 0U);
}

TEST_F(CudaContexts, AreTheUsersOwnWhereTheThreadHasOneOfThatGpu) {
  void* const own = fake_->make_context(0);
  {
    const auto context = open();
    EXPECT_EQ(fake_->calls("cuDevicePrimaryCtxRetain"), 0);
    const CudaContext::Scope scope(*context);
    EXPECT_EQ(fake_->current_context(), own);
    EXPECT_EQ(fake_->context_depth(), 1) << "what is current is not pushed again";
    // Another thread has no context current and is given this one.
    std::thread([&] {
      EXPECT_EQ(fake_->context_depth(), 0);
      {
        const CudaContext::Scope other(*context);
        EXPECT_EQ(fake_->current_context(), own);
      }
      EXPECT_EQ(fake_->context_depth(), 0);
    }).join();
  }
  EXPECT_EQ(fake_->current_context(), own);
  may_leak_ = true;  // the user's context stays
}

TEST_F(CudaContexts, LeaveAUsersContextOfAnotherGpuAlone) {
  fake_->set_devices(2);
  void* const own = fake_->make_context(1);
  {
    const auto context = open(0);
    EXPECT_EQ(fake_->calls("cuDevicePrimaryCtxRetain"), 1);
    EXPECT_EQ(fake_->current_context(), own);
    const CudaContext::Scope scope(*context);
    EXPECT_NE(fake_->current_context(), own);
  }
  EXPECT_EQ(fake_->current_context(), own);
  EXPECT_EQ(fake_->context_depth(), 1);
  EXPECT_EQ(fake_->live().retained_contexts, 0U);
  may_leak_ = true;
}

TEST_F(CudaContexts, ReadTheFactsOfTheGpu) {
  fake_->set_driver_version(12040);
  const auto context = open();
  const GpuFacts& facts = context->facts();
  EXPECT_EQ(facts.name, "Fake GPU 0");
  EXPECT_EQ(facts.sm, 90);
  EXPECT_EQ(facts.ptx_version, 84);
  EXPECT_EQ(facts.driver_version, 12040);
  EXPECT_EQ(facts.multiprocessors, 4);
  EXPECT_EQ(facts.max_shared_per_block, 49152);
  EXPECT_EQ(facts.max_shared_per_block_optin, 232448);
  EXPECT_EQ(facts.max_shared_per_sm, 233472);
  EXPECT_EQ(facts.max_threads_per_sm, 2048);
  EXPECT_EQ(facts.registers_per_sm, 65536);
  EXPECT_EQ(facts.l2_bytes, 1 << 20);
  EXPECT_EQ(facts.total_memory, std::int64_t{1} << 30);
  EXPECT_EQ(make_cuda_device(context)->name(), "Fake GPU 0, sm_90, 4 SMs");
}

class CudaCopies : public test::FakeGpuTest {};

TEST_F(CudaCopies, BringTheSameBytesBack) {
  const auto device = make_cuda_device(open());
  std::vector<int> from(1000), back(1000);
  std::iota(from.begin(), from.end(), 7);
  const std::size_t bytes = from.size() * sizeof(int);
  const std::uint64_t memory = device->allocate(bytes, {});
  device->copy_to_device(memory, from.data(), bytes, {});
  device->copy_to_host(back.data(), memory, bytes, {});
  device->synchronize({});
  EXPECT_EQ(back, from);
  device->release(memory, bytes, {});
}

TEST_F(CudaCopies, ToTheGpuAreDoneOnReturn) {
  const auto device = make_cuda_device(open());
  const std::uint64_t memory = device->allocate(4, {});
  const int value = 1;
  const int before = fake_->calls("cuStreamSynchronize");
  device->copy_to_device(memory, &value, 4, {});
  EXPECT_EQ(fake_->calls("cuStreamSynchronize"), before + 1);
  device->release(memory, 4, {});
}

TEST_F(CudaCopies, OfNothingAskNothingOfTheDriver) {
  const auto device = make_cuda_device(open());
  device->copy_to_device(0, nullptr, 0, {});
  device->copy_to_host(nullptr, 0, 0, {});
  EXPECT_EQ(fake_->calls("cuMemcpyHtoDAsync_v2"), 0);
  EXPECT_EQ(fake_->calls("cuMemcpyDtoHAsync_v2"), 0);
}

TEST_F(CudaCopies, WorkFromThreadsThatNeverSawTheGpu) {
  const auto device = make_cuda_device(open());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        const std::size_t bytes = static_cast<std::size_t>(1000 * (t + 1) + 64 * round);
        const std::uint64_t memory = device->allocate(bytes, {});
        const int put = 100 * t + round;
        int got = -1;
        device->copy_to_device(memory, &put, sizeof(put), {});
        device->copy_to_host(&got, memory, sizeof(got), {});
        device->synchronize({});
        EXPECT_EQ(got, put);
        device->release(memory, bytes, {});
      }
      EXPECT_EQ(fake_->context_depth(), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class CudaPool : public test::FakeGpuTest {
 protected:
  [[nodiscard]] int allocations() const { return fake_->calls("cuMemAlloc_v2"); }
  [[nodiscard]] static Stream stream_of(void* handle) { return Stream{handle}; }
};

TEST_F(CudaPool, RoundsRequestsUpByAnEighthAtMostAndTwoMiBAtMost) {
  EXPECT_EQ(CudaMemoryPool::block_bytes(0), 512U);
  EXPECT_EQ(CudaMemoryPool::block_bytes(512), 512U);
  EXPECT_EQ(CudaMemoryPool::block_bytes(513), 1024U);
  EXPECT_EQ(CudaMemoryPool::block_bytes(kMiB + 1), kMiB + kMiB / 8);
  EXPECT_EQ(CudaMemoryPool::block_bytes(100 * kMiB + 1), 102 * kMiB);
  for (std::size_t bytes = 4096; bytes < 200 * kMiB; bytes += 1 + bytes / 3) {
    const std::size_t block = CudaMemoryPool::block_bytes(bytes);
    EXPECT_GE(block, bytes);
    EXPECT_LE(block - bytes, std::min(bytes / 8, 2 * kMiB)) << bytes;
    EXPECT_EQ(block % 512, 0U);
    EXPECT_EQ(CudaMemoryPool::block_bytes(block), block) << "a block serves its own size";
  }
  EXPECT_EQ(CudaMemoryPool::block_bytes(SIZE_MAX), SIZE_MAX);
}

TEST_F(CudaPool, GivesAReleasedBlockToTheNextRequestOfAboutItsSize) {
  CudaMemoryPool pool(open());
  const cuda::Address first = pool.allocate(10 * kMiB, {});
  EXPECT_EQ(first % 256, 0U);
  pool.release(first, {});
  EXPECT_EQ(pool.bytes_kept(), 10 * kMiB);
  EXPECT_EQ(pool.allocate(9 * kMiB, {}), first);
  EXPECT_EQ(allocations(), 1);
  EXPECT_EQ(pool.bytes_in_use(), 10 * kMiB);
  pool.release(first, {});
}

TEST_F(CudaPool, DoesNotWasteALargeBlockOnASmallRequest) {
  CudaMemoryPool pool(open());
  const cuda::Address large = pool.allocate(16 * kMiB, {});
  pool.release(large, {});
  const cuda::Address small = pool.allocate(8 * kMiB, {});
  EXPECT_NE(small, large);
  EXPECT_EQ(allocations(), 2);
  pool.release(small, {});
}

TEST_F(CudaPool, PrefersTheSmallestBlockThatServes) {
  CudaMemoryPool pool(open());
  const cuda::Address ten = pool.allocate(10 * kMiB, {});
  const cuda::Address nine = pool.allocate(9 * kMiB, {});
  pool.release(ten, {});
  pool.release(nine, {});
  EXPECT_EQ(pool.allocate(9 * kMiB, {}), nine);
  pool.release(nine, {});
}

TEST_F(CudaPool, NeverHandsOutOneBlockTwice) {
  CudaMemoryPool pool(open());
  const cuda::Address first = pool.allocate(100, {});
  const cuda::Address second = pool.allocate(100, {});
  EXPECT_NE(first, second);
  pool.release(first, {});
  EXPECT_EQ(pool.allocate(100, {}), first);
  const cuda::Address third = pool.allocate(100, {});
  EXPECT_NE(third, first);
  EXPECT_NE(third, second);
  for (const cuda::Address address : {first, second, third}) pool.release(address, {});
}

TEST_F(CudaPool, ReusesABlockInAnotherStreamOnlyWhenItsWorkIsDone) {
  const auto context = open();
  std::unique_ptr<CudaMemoryPool> pool = std::make_unique<CudaMemoryPool>(context);
  const CudaContext::Scope scope(*context);
  const Stream user = stream_of(fake_->make_stream());

  const cuda::Address own = pool->allocate(kMiB, {});
  pool->release(own, {});
  fake_->fail("cuStreamQuery", cuda::kErrorNotReady, 0, 1);
  const cuda::Address fresh = pool->allocate(kMiB, user);
  EXPECT_NE(fresh, own) << "work of Mica's stream may still use the block";
  EXPECT_EQ(pool->allocate(kMiB, user), own) << "by now the stream is idle";

  pool->release(fresh, user);
  fake_->fail("cuEventQuery", cuda::kErrorNotReady, 0, 1);
  const cuda::Address other = pool->allocate(kMiB, {});
  EXPECT_NE(other, fresh) << "work of the user's stream may still use the block";
  EXPECT_EQ(pool->allocate(kMiB, {}), fresh);

  for (const cuda::Address address : {own, fresh, other}) pool->release(address, {});
  pool.reset();
  EXPECT_EQ(fake_->live().events, 0U);
  context->driver().call(context->driver().cuStreamDestroy_v2, context->stream(user));
}

TEST_F(CudaPool, WaitsForTheReleaseEvenUnderTheSameUsersHandle) {
  const auto context = open();
  CudaMemoryPool pool(context);
  const CudaContext::Scope scope(*context);
  const Stream user = stream_of(fake_->make_stream());
  const cuda::Address block = pool.allocate(kMiB, user);
  pool.release(block, user);
  fake_->fail("cuEventQuery", cuda::kErrorNotReady, 0, -1);
  EXPECT_EQ(pool.allocate(kMiB, user), block);
  EXPECT_EQ(fake_->calls("cuStreamWaitEvent"), 1);
  pool.release(block, {});
  context->driver().call(context->driver().cuStreamDestroy_v2, context->stream(user));
}

TEST_F(CudaPool, GivesEverythingBackBeforeItReportsThatMemoryRanOut) {
  fake_->set_total_memory(100 * kMiB);
  CudaMemoryPool pool(open());
  const cuda::Address kept = pool.allocate(20 * kMiB, {});
  const cuda::Address used = pool.allocate(30 * kMiB, {});
  pool.release(kept, {});
  EXPECT_EQ(pool.bytes_kept(), 20 * kMiB);
  const cuda::Address large = pool.allocate(64 * kMiB, {});
  EXPECT_EQ(pool.bytes_kept(), 0U);
  try {
    pool.allocate(std::size_t{4096} * kMiB, {});
    FAIL() << "there is no such memory";
  } catch (const DeviceError& failure) {
    EXPECT_EQ(failure.call(), "cuMemAlloc_v2");
    EXPECT_EQ(failure.code(), cuda::kErrorOutOfMemory);
    EXPECT_STREQ(failure.what(),
                 "cuMemAlloc_v2 failed with code 2: CUDA_ERROR_OUT_OF_MEMORY: out of memory (asked for "
                 "4,096 MiB, 6,144 KiB free of 100 MiB, 94 MiB in use by Mica; give "
                 "device copies back with device_free() or compute a smaller box at a time)");
  }
  EXPECT_EQ(pool.bytes_in_use(), 94 * kMiB) << "a request that failed changes nothing";
  pool.release(used, {});
  pool.release(large, {});
}

TEST_F(CudaPool, KeepsAQuarterOfTheMemoryAtMost) {
  fake_->set_total_memory(100 * kMiB);
  CudaMemoryPool pool(open());
  const cuda::Address a = pool.allocate(20 * kMiB, {});
  const cuda::Address b = pool.allocate(10 * kMiB, {});
  pool.release(a, {});
  pool.release(b, {});
  EXPECT_EQ(pool.bytes_kept(), 20 * kMiB);
  EXPECT_EQ(fake_->live().bytes, 20 * kMiB);
}

TEST_F(CudaPool, TrimReturnsWhatIsNotInUse) {
  CudaMemoryPool pool(open());
  const cuda::Address a = pool.allocate(kMiB, {});
  const cuda::Address b = pool.allocate(2 * kMiB, {});
  pool.release(a, {});
  pool.trim();
  EXPECT_EQ(pool.bytes_kept(), 0U);
  EXPECT_EQ(fake_->live().bytes, 2 * kMiB);
  pool.release(b, {});
}

TEST_F(CudaPool, RefusesAnAddressThatIsNotItsOwn) {
  CudaMemoryPool pool(open());
  const cuda::Address block = pool.allocate(kMiB, {});
  EXPECT_THROW(pool.release(block + 512, {}), InternalError);
  pool.release(block, {});
  EXPECT_THROW(pool.release(block, {}), InternalError) << "released twice";
}

TEST_F(CudaPool, ReleaseThrowsNothingWhenTheDriverFails) {
  const auto context = open();
  CudaMemoryPool pool(context);
  Stream user;
  {
    const CudaContext::Scope scope(*context);
    user = stream_of(fake_->make_stream());
  }
  const cuda::Address a = pool.allocate(kMiB, user);
  fake_->fail("cuEventRecord", cuda::kErrorIllegalAddress, 0, -1);
  EXPECT_NO_THROW(pool.release(a, user));
  EXPECT_EQ(pool.bytes_kept(), 0U) << "without its event the block is not safe to reuse";
  const cuda::Address b = pool.allocate(kMiB, {});
  fake_->fail("cuCtxPushCurrent_v2", cuda::kErrorIllegalAddress, 0, 1);
  EXPECT_NO_THROW(pool.release(b, {}));
  EXPECT_EQ(pool.bytes_in_use(), 0U);
  may_leak_ = true;  // b, in a context that can no longer be used
}

}  // namespace
}  // namespace mica
