// Timers and device copies: on the stand-in GPU, and on the host.
#include "runtime/run/gpu_timer.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cuda/gpu_facts.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

TEST(HostTimer, MeasuresTheTimeBetweenStartAndStop) {
  GpuTimer timer(Target::host());
  timer.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  timer.stop();
  EXPECT_GE(timer.milliseconds(), 20.0);
  EXPECT_LT(timer.milliseconds(), 10'000.0);
}

TEST(HostTimer, HasNoTimeBeforeItWasStartedAndStopped) {
  GpuTimer timer(Target::host());
  EXPECT_THROW((void)timer.milliseconds(), UserError);
  timer.start();
  EXPECT_THROW((void)timer.milliseconds(), UserError);
  timer.stop();
  EXPECT_NO_THROW((void)timer.milliseconds());
  timer.start();
  EXPECT_THROW((void)timer.milliseconds(), UserError) << "the old time is not the new one";
}

TEST(HostCopy, CopiesAndHasABandwidth) {
  const std::vector<int> from = {1, 2, 3};
  std::vector<int> to(3);
  device_copy(Target::host(), reinterpret_cast<std::uint64_t>(to.data()),
              reinterpret_cast<std::uint64_t>(from.data()), 12);
  EXPECT_EQ(to, from);
  EXPECT_GT(device_copy_bandwidth(Target::host(), 1 << 20, 2), 0.0);
  EXPECT_THROW((void)device_copy_bandwidth(Target::host(), 0), UserError);
  EXPECT_THROW((void)device_copy_bandwidth(Target::host(), 1, 0), UserError);
}

TEST(EmulatorFacts, AreThoseOfAnH200) {
  const GpuFacts facts = gpu_facts(Target::gpu_emulator());
  EXPECT_EQ(facts.sm, 90);
  EXPECT_EQ(facts.multiprocessors, 132);
  EXPECT_EQ(facts.max_shared_per_block_optin, 232448);
  EXPECT_EQ(facts.registers_per_sm, 65536);
}

// The functions of a Target use the process's driver, so each test runs in a process of its own.
class FakeTimer : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  static Target fake_gpu() {
    setenv("MICA_LIBCUDA", test::fake_cuda_path().c_str(), 1);
    return Target::cuda(0);
  }
};

TEST_F(FakeTimer, ReadsTheEventsAroundTheWork) {
  const auto body = [] {
    const Target gpu = fake_gpu();
    GpuTimer outer(gpu);
    GpuTimer inner(gpu);
    outer.start();
    inner.start();
    inner.stop();
    outer.stop();
    // The stand-in lets half a millisecond pass from one event to the next.
    const bool right = inner.milliseconds() == 0.5 && outer.milliseconds() == 1.5;
    GpuTimer moved = std::move(outer);
    std::_Exit(right && moved.milliseconds() == 1.5 ? 0 : 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(FakeTimer, GivesItsEventsBack) {
  const auto body = [] {
    const Target gpu = fake_gpu();
    { GpuTimer timer(gpu); }
    std::_Exit(static_cast<int>(test::FakeCuda().live().events));
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(FakeTimer, CountsBothDirectionsOfACopy) {
  const auto body = [] {
    const Target gpu = fake_gpu();
    // 64 times 1e6 bytes read and as many written in half a millisecond are 256e9 bytes a second.
    const bool right = device_copy_bandwidth(gpu, 1'000'000, 3) == 256.0;
    std::_Exit(right && test::FakeCuda().calls("cuMemcpyDtoDAsync_v2") == 4 * 64 ? 0 : 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(FakeTimer, DeviceCopyMovesTheBytes) {
  const auto body = [] {
    const Target gpu = fake_gpu();
    const auto device = device_for(gpu);
    const std::uint64_t a = device->allocate(8, {}), b = device->allocate(8, {});
    const std::int64_t put = 42;
    std::int64_t got = 0;
    device->copy_to_device(a, &put, 8, {});
    device_copy(gpu, b, a, 8);
    device->copy_to_host(&got, b, 8, {});
    device->synchronize({});
    std::_Exit(got == put ? 0 : 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mica
