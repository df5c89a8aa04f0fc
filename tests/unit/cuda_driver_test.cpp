// Loading the driver and turning its results into errors, against the stand-in driver.
#include "runtime/cuda/cuda_driver.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/gpu_facts.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

using test::fake_cuda_path;

class CudaDriver : public test::FakeGpuTest {
 protected:
  /// The error of loading `path` as the driver.
  static DeviceError load_error(const std::string& path) {
    try {
      const cuda::Driver driver(path);
    } catch (const DeviceError& failure) {
      return failure;
    }
    throw std::runtime_error(path + " was loaded");
  }
};

TEST_F(CudaDriver, FindsItsFunctionsAndTheVersion) {
  const cuda::Driver driver(fake_cuda_path());
  EXPECT_EQ(driver.version(), 13000);
  EXPECT_TRUE(driver.cuLaunchKernel.available());
  EXPECT_TRUE(driver.cuFuncGetParamInfo.available());
  EXPECT_STREQ(driver.cuMemAlloc_v2.name, "cuMemAlloc_v2");
  EXPECT_EQ(fake_->calls("cuInit"), 1);
}

TEST_F(CudaDriver, OfAnOldReleaseLacksOnlyOptionalFunctions) {
  const cuda::Driver driver(fake_cuda_path("libfakecuda_old.so"));
  EXPECT_FALSE(driver.cuFuncGetParamInfo.available());
  EXPECT_TRUE(driver.cuLaunchKernel.available());
}

TEST_F(CudaDriver, WithoutARequiredFunctionIsRefusedByName) {
  const std::string path = fake_cuda_path("libfakecuda_incomplete.so");
  const DeviceError error = load_error(path);
  EXPECT_EQ(error.call(), "dlsym");
  EXPECT_EQ(std::string(error.what()),
            "dlsym failed with code 500: " + path +
                " has no function cuLaunchKernel: the driver serves CUDA 13.0, and Mica needs a driver "
                "for CUDA 11.0 or newer");
}

TEST_F(CudaDriver, ThatIsNotInstalledIsAnErrorThatSaysWhatToDo) {
  const DeviceError error = load_error("libnothing-here.so.1");
  EXPECT_EQ(error.call(), "dlopen");
  const std::string text = error.what();
  EXPECT_NE(text.find("libnothing-here.so.1: cannot open shared object file"), std::string::npos)
      << text;
  EXPECT_NE(text.find("install the NVIDIA driver, or name its library in MICA_LIBCUDA"),
            std::string::npos)
      << text;
}

TEST_F(CudaDriver, ThatDoesNotStartIsAnErrorOfCuInit) {
  fake_->set_devices(0);
  const DeviceError error = load_error(fake_cuda_path());
  EXPECT_EQ(error.call(), "cuInit");
  EXPECT_EQ(error.code(), cuda::kErrorNoDevice);
  EXPECT_STREQ(
      error.what(),
      "cuInit failed with code 100: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected; the "
      "driver sees no NVIDIA GPU (CUDA_VISIBLE_DEVICES may hide it)");
}

TEST_F(CudaDriver, ErrorsCarryTheDriversNameAndTextAndTheDetail) {
  const cuda::Driver driver(fake_cuda_path());
  EXPECT_STREQ(driver.error("cuX", cuda::kErrorInvalidValue, "7 of 6").what(),
               "cuX failed with code 1: CUDA_ERROR_INVALID_VALUE: invalid argument (7 of 6)");
  EXPECT_STREQ(driver.error("cuX", 4242).what(),
               "cuX failed with code 4242: an error that this driver does not name");
}

TEST_F(CudaDriver, ErrorsOfAnEarlierKernelSaySo) {
  const cuda::Driver driver(fake_cuda_path());
  EXPECT_STREQ(
      driver.error("cuStreamSynchronize", cuda::kErrorIllegalAddress).what(),
      "cuStreamSynchronize failed with code 700: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory "
      "access was encountered; a kernel launched before this call failed, and the process can no "
      "longer use this GPU. Run the pipeline on Target::gpu_emulator() to find the access at "
      "fault");
}

TEST_F(CudaDriver, CallThrowsOnFailureOnly) {
  const cuda::Driver driver(fake_cuda_path());
  int count = 0;
  driver.call(driver.cuDeviceGetCount, &count);
  EXPECT_EQ(count, 1);
  fake_->fail("cuDeviceGetCount", cuda::kErrorInvalidValue, 1, 1);
  EXPECT_NO_THROW(driver.call(driver.cuDeviceGetCount, &count));
  EXPECT_THROW(driver.call(driver.cuDeviceGetCount, &count), DeviceError);
  EXPECT_NO_THROW(driver.call(driver.cuDeviceGetCount, &count));
}

// The process's driver is loaded once, so each of the following runs in a process of its own.
class ProcessDriver : public CudaDriver {
 protected:
  void SetUp() override {
    CudaDriver::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  /// Ends the process with 0 if `holds`.
  [[noreturn]] static void finish(bool holds) { std::_Exit(holds ? 0 : 1); }
};

TEST_F(ProcessDriver, IsTheLibraryThatMicaLibcudaNames) {
  const auto body = [] {
    setenv("MICA_LIBCUDA", fake_cuda_path().c_str(), 1);
    std::string why = "none";
    finish(cuda::process_driver() == cuda::process_driver() && cuda_device_count(&why) == 1 &&
           why == "none" && cuda_device_count(nullptr) == 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(ProcessDriver, ThatIsMissingLeavesNoDevicesAndAReason) {
  const auto body = [] {
    setenv("MICA_LIBCUDA", "libnothing-here.so.1", 1);
    std::string why;
    finish(cuda_device_count(&why) == 0 && cuda_device_count(nullptr) == 0 &&
           why.find("install the NVIDIA driver") != std::string::npos);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(ProcessDriver, ThatDoesNotStartLeavesNoDevicesAndAReason) {
  const auto body = [] {
    setenv("MICA_LIBCUDA", fake_cuda_path().c_str(), 1);
    test::FakeCuda().fail("cuInit", cuda::kErrorNoDevice, 0, -1);
    std::string why;
    finish(cuda_device_count(&why) == 0 && why.find("CUDA_ERROR_NO_DEVICE") != std::string::npos);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST(CudaText, WritesBytesInUnitsThatKeepTwoDigits) {
  EXPECT_EQ(cuda::bytes_text(0), "0 bytes");
  EXPECT_EQ(cuda::bytes_text(65535), "65,535 bytes");
  EXPECT_EQ(cuda::bytes_text(65536), "64 KiB");
  EXPECT_EQ(cuda::bytes_text(std::uint64_t{4} << 30), "4,096 MiB");
  EXPECT_EQ(cuda::bytes_text(~std::uint64_t{0}), "17,592,186,044,415 MiB");
}

TEST(CudaText, WritesVersionsAsCudaDoes) {
  EXPECT_EQ(cuda::version_text(12080), "12.8");
  EXPECT_EQ(cuda::version_text(13000), "13.0");
}

TEST(PtxVersion, IsTheNewestThatCameWithTheDriversCuda) {
  EXPECT_EQ(ptx_version_of_driver(10020), 0);
  EXPECT_EQ(ptx_version_of_driver(11000), 70);
  EXPECT_EQ(ptx_version_of_driver(11080), 78);
  EXPECT_EQ(ptx_version_of_driver(12000), 80);
  EXPECT_EQ(ptx_version_of_driver(12040), 84);
  EXPECT_EQ(ptx_version_of_driver(12050), 85);
  EXPECT_EQ(ptx_version_of_driver(12060), 85);
  EXPECT_EQ(ptx_version_of_driver(12080), 87);
  EXPECT_EQ(ptx_version_of_driver(12090), 88);
  EXPECT_EQ(ptx_version_of_driver(13000), 90);
  EXPECT_EQ(ptx_version_of_driver(14020), 90);
}

}  // namespace
}  // namespace mica
