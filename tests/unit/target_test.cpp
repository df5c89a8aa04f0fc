#include "runtime/run/target.h"

#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "dsl/expr/diagnostics.h"
#include "runtime/cuda/cuda_device.h"

namespace mica {
namespace {

/// Sets MICA_TARGET for one test.
class TargetVariable {
 public:
  explicit TargetVariable(const char* value) {
    if (const char* present = std::getenv(kName)) before_ = present;
    set(value);
  }
  ~TargetVariable() { set(before_ ? before_->c_str() : nullptr); }

 private:
  static constexpr const char* kName = "MICA_TARGET";
  static void set(const char* value) { value != nullptr ? setenv(kName, value, 1) : unsetenv(kName); }
  std::optional<std::string> before_;
};

TEST(Target, WordsAreReadBack) {
  for (const char* word : {"host", "host-checked", "emulator", "cuda:0", "cuda:3"}) {
    EXPECT_EQ(to_string(Target::parse(word)), word);
  }
  EXPECT_EQ(Target::parse("cuda"), (Target{Backend::Cuda, 0}));
  EXPECT_EQ(Target::parse("cuda:12").device, 12);
}

TEST(Target, AnUnknownWordIsRefusedWithTheLegalOnes) {
  for (const char* word : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "Host"}) {
    try {
      (void)Target::parse(word);
      ADD_FAILURE() << word;
    } catch (const UserError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("\"" + std::string(word) + "\""), std::string::npos) << message;
      EXPECT_NE(message.find("\"cuda:<ordinal>\""), std::string::npos) << message;
    }
  }
}

TEST(Target, OnlyTheHostHasNoBlocks) {
  EXPECT_FALSE(Target::host().is_gpu());
  EXPECT_FALSE(Target::host_checked().is_gpu());
  EXPECT_TRUE(Target::gpu_emulator().is_gpu());
  EXPECT_TRUE((Target{Backend::Cuda, 0}).is_gpu());
}

TEST(Target, BestIsWhatTheEnvironmentNames) {
  const TargetVariable emulator("emulator");
  EXPECT_EQ(Target::best(), Target::gpu_emulator());
  const TargetVariable wrong("nowhere");
  EXPECT_THROW((void)Target::best(), UserError);
}

TEST(Target, BestIsAGpuIfThereIsOne) {
  const TargetVariable unset(nullptr);
  const Target expected = cuda_device_count(nullptr) > 0 ? Target{Backend::Cuda, 0} : Target::host();
  EXPECT_EQ(Target::best(), expected);
  const TargetVariable empty("");
  EXPECT_EQ(Target::best(), expected);
}

TEST(Target, AGpuBeyondTheLastIsADeviceError) {
  try {
    (void)Target::cuda(cuda_device_count(nullptr));
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_FALSE(error.call().empty());
    EXPECT_NE(error.code(), 0);
  }
  EXPECT_THROW((void)Target::cuda(-1), DeviceError);
}

}  // namespace
}  // namespace mica
