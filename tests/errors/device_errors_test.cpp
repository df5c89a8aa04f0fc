// What a user is told when the GPU, its driver or the machine code is at fault.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/cuda/gpu_facts.h"
#include "runtime/run/gpu_timer.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

using test::fake_ptx;

class DeviceErrors : public test::FakeGpuTest {
 protected:
  /// The text of the DeviceError that `body` throws.
  static std::string error_of(const std::function<void()>& body) {
    try {
      body();
    } catch (const DeviceError& failure) {
      return failure.what();
    }
    return "no error";
  }
  static LoadedKernels load(const std::string& ptx, const KernelRequest& request) {
    return load_kernels(open(), KernelCache({}), ptx, {request}, CacheKey());
  }
};

TEST_F(DeviceErrors, NameTheGpuAskedForAndHowManyThereAre) {
  EXPECT_EQ(error_of([] { (void)open(3); }),
            "cuDeviceGet failed with code 101: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal (asked "
            "for GPU number 3, counted from 0; there is 1)");
}

TEST_F(DeviceErrors, NameTheGpuWhoseContextCannotBeMade) {
  fake_->fail("cuDevicePrimaryCtxRetain", cuda::kErrorOutOfMemory, 0, 1);
  EXPECT_EQ(
      error_of([] { (void)open(); }),
      "cuDevicePrimaryCtxRetain failed with code 2: CUDA_ERROR_OUT_OF_MEMORY: out of memory (opening "
      "Fake GPU 0, GPU number 0)");
}

TEST_F(DeviceErrors, CarryTheAssemblersMessages) {
  EXPECT_EQ(
      error_of([] {
        load(".version 8.0\n.target sm_80\nsyntax error", {"next", 0});
      }),
      "cuLinkAddData_v2 failed with code 218: CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed "
      "(PTX 8.0 for sm_80 on sm_90 with a driver for CUDA 13.0\n"
      "ptxas mica.ptx, line 3; fatal   : Parsing error near 'syntax')");
}

TEST_F(DeviceErrors, ExplainADriverTooOldForThePtx) {
  fake_->set_driver_version(12020);
  EXPECT_EQ(
      error_of([] {
        load(fake_ptx({"next"}), {"next", 0});
      }),
      "cuLinkAddData_v2 failed with code 222: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX "
      "was compiled with an unsupported toolchain. (PTX 9.0 for sm_90 on sm_90 with a driver for "
      "CUDA 12.2: this driver is too old for the PTX, it takes PTX 8.2 and older; install a newer "
      "driver\n"
      "ptxas fatal   : Unsupported .version 9.0)");
}

TEST_F(DeviceErrors, NameTheLibraryThatIsMissingWhereThePtxCompilerIs) {
  fake_->fail("cuLinkComplete", cuda::kErrorJitCompilerNotFound, 0, 1);
  const std::string text = error_of([] { load(fake_ptx({"next"}), {"next", 0}); });
  EXPECT_NE(text.find("libnvidia-ptxjitcompiler.so.1 belongs to the NVIDIA driver"), std::string::npos)
      << text;
}

TEST_F(DeviceErrors, NameAKernelThatIsMissing) {
  EXPECT_EQ(
      error_of([] {
        load(fake_ptx({"next"}), {"blur", 0});
      }),
      "cuModuleGetFunction failed with code 500: CUDA_ERROR_NOT_FOUND: named symbol not found (kernel "
      "blur)");
}

TEST_F(DeviceErrors, SayHowMuchSharedMemoryTheGpuHas) {
  const std::string ptx = fake_ptx({"next"}, 2, "// fake: next shared=448");
  EXPECT_EQ(
      error_of([&] {
        load(ptx, {"next", 232'001});
      }),
      "cuFuncSetAttribute failed with code 1: CUDA_ERROR_INVALID_VALUE: invalid argument (kernel next "
      "needs 232001 bytes of dynamic and 448 of static shared memory a block; Fake GPU 0 allows "
      "232448 together)");
  EXPECT_EQ(error_of([&] { load(ptx, {"next", 232'000}); }), "no error");
}

TEST_F(DeviceErrors, NameTheKernelGridAndBlockOfALaunch) {
  const LoadedKernels kernels =
      load(fake_ptx({"next"}, 2, "// fake: next registers=128 threads=256"), {"next", 0});
  std::uint64_t value = 0;
  void* const arguments[] = {&value, &value};
  const auto launch = [&](const LaunchShape& shape) {
    return error_of([&] { kernels[0].second->launch(shape, arguments, 2, {}); });
  };
  EXPECT_EQ(
      launch({{10, 70'000, 1}, {32, 8, 1}, 0}),
      "cuLaunchKernel failed with code 1: CUDA_ERROR_INVALID_VALUE: invalid argument (kernel next, grid "
      "10x70000x1, block 32x8x1, 0 bytes of shared memory; the kernel takes up to 256 threads a block "
      "and has 128 registers a thread)");
  EXPECT_EQ(
      launch({{1, 1, 1}, {32, 16, 1}, 0}),
      "cuLaunchKernel failed with code 701: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources "
      "requested for launch (kernel next, grid 1x1x1, block 32x16x1, 0 bytes of shared memory; the "
      "kernel takes up to 256 threads a block and has 128 registers a thread)");
  EXPECT_EQ(launch({{1, 1, 1}, {32, 8, 1}, 0}), "no error");
}

TEST_F(DeviceErrors, OfAKernelThatFailedAppearInTheNextWait) {
  const auto device = make_cuda_device(open());
  fake_->fail("cuStreamSynchronize", cuda::kErrorIllegalAddress, 0, 1);
  const std::string text = error_of([&] { device->synchronize({}); });
  EXPECT_NE(text.find("cuStreamSynchronize failed with code 700"), std::string::npos) << text;
  EXPECT_NE(text.find("a kernel launched before this call failed"), std::string::npos) << text;
}

// Every driver call on the way from nothing to a result, made to fail in turn: the error names the
// call, no other exception escapes, and whatever was made before it is given back.
TEST_F(DeviceErrors, OfAnyCallNameItAndLeakNothing) {
  const auto whole_way = [this] {
    const auto context = open();
    const auto device = make_cuda_device(context);
    const LoadedKernels kernels =
        load_kernels(context, KernelCache({}), fake_ptx({"next"}), {{"next", 100'000}}, CacheKey());
    std::uint64_t value = 5;
    struct Memory {
      explicit Memory(Device& on) : device(on), address(on.allocate(100, {})) {}
      ~Memory() { device.release(address, 100, {}); }
      Memory(const Memory&) = delete;
      Memory& operator=(const Memory&) = delete;
      Device& device;
      const std::uint64_t address;
    };
    const Memory memory(*device);
    device->copy_to_device(memory.address, &value, sizeof(value), {});
    void* const arguments[] = {&value, &value};
    kernels[0].second->launch({}, arguments, 2, {});
    device->copy_to_host(&value, memory.address, sizeof(value), {});
    device->synchronize({});
  };
  ASSERT_EQ(error_of(whole_way), "no error");
  const std::vector<std::string> calls = {"cuInit",
                                          "cuDeviceGet",
                                          "cuDeviceGetName",
                                          "cuDeviceTotalMem_v2",
                                          "cuCtxGetCurrent",
                                          "cuDeviceGetAttribute",
                                          "cuDevicePrimaryCtxRetain",
                                          "cuCtxPushCurrent_v2",
                                          "cuStreamCreate",
                                          "cuLinkCreate_v2",
                                          "cuLinkAddData_v2",
                                          "cuLinkComplete",
                                          "cuModuleLoadData",
                                          "cuModuleGetFunction",
                                          "cuFuncGetAttribute",
                                          "cuFuncSetAttribute",
                                          "cuMemAlloc_v2",
                                          "cuMemcpyHtoDAsync_v2",
                                          "cuStreamSynchronize",
                                          "cuLaunchKernel",
                                          "cuMemcpyDtoHAsync_v2"};
  for (const std::string& call : calls) {
    fake_->reset();
    whole_way();
    const int times = fake_->calls(call.c_str());
    ASSERT_GT(times, 0) << call;
    for (int skip = 0; skip < times; ++skip) {
      fake_->reset();
      fake_->fail(call.c_str(), cuda::kErrorInvalidValue, skip, 1);
      const std::string text = error_of(whole_way);
      if (text == "no error") continue;  // it failed while things were given back
      EXPECT_TRUE(text.starts_with(call + " failed with code 1: CUDA_ERROR_INVALID_VALUE")) << text;
      const FakeCudaLive live = fake_->live();
      EXPECT_EQ(live.links + live.retained_contexts, 0U) << call << " number " << skip;
      EXPECT_EQ(fake_->context_depth(), 0) << call << " number " << skip;
      if (call != "cuCtxGetCurrent" && call != "cuCtxPushCurrent_v2") {
        EXPECT_EQ(live.modules + live.streams + live.allocations, 0U) << call << " number " << skip;
      }
    }
    fake_->reset();
    fake_->fail(call.c_str(), cuda::kErrorInvalidValue, 0, 1);
    EXPECT_NE(error_of(whole_way), "no error") << call;
  }
  fake_->reset();
}

// Functions of a Target use the process's driver, so the following runs in a process of its own.
TEST_F(DeviceErrors, OfTargetsWithoutAGpuSayWhatIsMissing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [] {
    setenv("MICA_LIBCUDA", "libnothing-here.so.1", 1);
    const Target gpu{Backend::Cuda, 0};
    const std::vector<std::function<void()>> uses = {
        [&] { (void)open_cuda_device(0); },
        [&] { (void)gpu_facts(gpu); },
        [&] { (void)GpuTimer(gpu); },
        [&] { (void)device_copy_bandwidth(gpu, 1); },
        [&] { (void)load_cubin(gpu, "code", "kernel", 0); },
        [&] { (void)load_cuda_kernels(gpu, fake_ptx({"a"}), {"a"}, {0}, CacheKey(), false); },
    };
    int wrong = 0;
    for (const auto& use : uses) wrong += !error_of(use).starts_with("dlopen failed with code 303");
    std::_Exit(wrong);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST(GpuFactsErrors, HostHasNoGpuToDescribe) {
  try {
    (void)gpu_facts(Target::host());
    FAIL() << "the host has no such facts";
  } catch (const UserError& failure) {
    EXPECT_STREQ(failure.what(),
                 "the target \"host\" has no GPU to describe: legal targets are \"cuda\", "
                 "\"cuda:<ordinal>\" and \"emulator\"");
  }
}

}  // namespace
}  // namespace mica
