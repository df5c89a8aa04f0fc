// Textures over linear memory on the stand-in GPU.
#include "runtime/cuda/cuda_textures.h"

#include <string>

#include <gtest/gtest.h>

#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_memory_pool.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

constexpr std::size_t kBytes = 4096;

class CudaTexturesTest : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    context_ = open();
    pool_ = std::make_unique<CudaMemoryPool>(context_);
    address_ = pool_->allocate(kBytes, {});
  }
  void TearDown() override {
    pool_->release(address_, {});
    pool_ = nullptr;
    context_ = nullptr;
    FakeGpuTest::TearDown();
  }
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<CudaMemoryPool> pool_;
  std::uint64_t address_ = 0;
};

TEST_F(CudaTexturesTest, AreMadeOnceForTheSameMemoryAndType) {
  CudaTextures textures(context_);
  const TextureView a = textures.get(address_, kBytes, Float(32), "u");
  const TextureView b = textures.get(address_, kBytes, Float(32), "u");
  EXPECT_NE(a.object, 0U);
  EXPECT_EQ(a.object, b.object);
  EXPECT_EQ(a.origin, 0);
  EXPECT_NE(textures.get(address_, kBytes, Int(32), "v").object, a.object);
  EXPECT_NE(textures.get(address_, kBytes, UInt(32), "v").object, a.object);
  EXPECT_EQ(fake_->calls("cuTexObjectCreate"), 3);
  EXPECT_EQ(fake_->live().textures, 3U);
}

TEST_F(CudaTexturesTest, StartWhereTheGpuAllowsIt) {
  CudaTextures textures(context_);
  const TextureView view = textures.get(address_ + 12, kBytes - 12, Float(32), "u");
  EXPECT_EQ(view.origin, 3);
  EXPECT_EQ(textures.get(address_, kBytes, Float(32), "u").object, view.object)
      << "the same elements from the same start";
}

TEST_F(CudaTexturesTest, TooManyElementsAreRefusedWithBothNumbers) {
  CudaTextures textures(context_);
  try {
    textures.get(address_, (std::size_t{1} << 18) + 4, Float(32), "u");
    FAIL() << "nothing was thrown";
  } catch (const UserError& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("u has 65537 elements"), std::string::npos) << what;
    EXPECT_NE(what.find("at most 65536"), std::string::npos) << what;
  }
  EXPECT_EQ(fake_->calls("cuTexObjectCreate"), 0);
}

TEST_F(CudaTexturesTest, OldOnesMakeRoomUnlessALaunchIsAboutToUseThem) {
  CudaTextures textures(context_, 2);
  const TextureView kept = textures.get(address_, 1024, Float(32), "u");
  textures.get(address_, 2048, Float(32), "u");
  textures.get(address_, 3072, Float(32), "u");
  EXPECT_EQ(fake_->live().textures, 2U) << "the one kept and the newest";
  EXPECT_EQ(textures.get(address_, 1024, Float(32), "u").object, kept.object);
  EXPECT_GE(fake_->calls("cuCtxSynchronize"), 1);
}

TEST_F(CudaTexturesTest, AFailureOfTheDriversIsNamedAndForgotten) {
  CudaTextures textures(context_);
  fake_->fail("cuTexObjectCreate", 2, 0, 1);
  try {
    textures.get(address_, kBytes, Float(32), "u");
    FAIL() << "nothing was thrown";
  } catch (const DeviceError& e) {
    EXPECT_NE(std::string(e.what()).find("cuTexObjectCreate"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("4,096 bytes of u"), std::string::npos) << e.what();
  }
  EXPECT_NE(textures.get(address_, kBytes, Float(32), "u").object, 0U);
}

TEST_F(CudaTexturesTest, OtherDevicesHaveNone) {
  EXPECT_THROW(device_for(Target::host())->texture(0, 4, Float(32), "u"), InternalError);
}

}  // namespace
}  // namespace mica
