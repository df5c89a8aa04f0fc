// Runs of hand-written plans on a device with memory of its own: which copies a run causes.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/buffer/buffer_storage.h"
#include "tests/support/expect_error.h"
#include "tests/support/fake_pipeline.h"

namespace mica {
namespace {

using test::FakeKernel;
using test::FakePipeline;
using test::pointer_argument;
using test::scalar_argument;
using Log = std::vector<std::string>;

const Target kGpu{Backend::Cuda, 0};

/// next[i] = u[i] + 1 over the output's box of one dimension; arguments `input` and `output` are the
/// arrays.
std::shared_ptr<FakeKernel> add_one(std::size_t input = 0, std::size_t output = 1) {
  return std::make_shared<FakeKernel>([=](const FakeKernel::Launch& launch) {
    const auto* u = reinterpret_cast<const float*>(launch.arguments[input]);
    auto* next = reinterpret_cast<float*>(launch.arguments[output]);
    const auto min = static_cast<std::int64_t>(launch.arguments[3]);
    for (std::int64_t i = min; i < min + static_cast<std::int64_t>(launch.arguments[2]); ++i) {
      next[i] = u[i] + 1.0F;
    }
  });
}

struct AddOne {
  AddOne() {
    pipeline.on_device();
    pipeline.plan.launches[0].arguments[3] =
        scalar_argument("min", Int(64), make_expr(Int(64), Cast{make_var("next.min.0")}));
    pipeline.kernels["next"] = add_one();
    u.for_each([](float& e, const Coordinates& at) { e = static_cast<float>(at[0]); });
    pipeline.set_u(u);
  }
  FakePipeline pipeline;
  Buffer<float> u{16};
};

TEST(ExecutableOnDevice, AWholeOutputIsNotUploadedAndComesBackWhenRead) {
  AddOne s;
  Buffer<float> next(16);
  next.fill(-1.0F);
  Executable run = s.pipeline.executable(kGpu);
  run.run(next);
  EXPECT_EQ(s.pipeline.device->take_log(), (Log{"allocate 64", "upload 64", "allocate 64"}));
  EXPECT_TRUE(next.device_dirty());
  EXPECT_EQ(next(15), 16.0F);
  EXPECT_EQ(s.pipeline.device->take_log(), (Log{"download 64", "synchronize"}));
  run.run(next);
  EXPECT_EQ(s.pipeline.device->take_log(), Log{}) << "everything is on the device";
}

TEST(ExecutableOnDevice, AnOutputInPlaceOfItsInputIsUploadedWhoeverComesFirst) {
  AddOne s;
  std::vector<KernelArgument>& arguments = s.pipeline.plan.launches[0].arguments;
  std::swap(arguments[0], arguments[1]);
  s.pipeline.kernels["next"] = add_one(1, 0);
  s.pipeline.plan.sharing = {{"next", "u", "", {}}};
  Executable run = s.pipeline.executable(kGpu);
  run.run(s.u);
  EXPECT_EQ(s.pipeline.device->take_log(), (Log{"allocate 64", "upload 64"}));
  EXPECT_EQ(std::as_const(s.u)(15), 16.0F);
  Buffer<float> next(16);
  run.run(next);
  EXPECT_EQ(std::as_const(next)(15), 17.0F);
  std::vector<bool> separate;
  for (const Variant& variant : s.pipeline.compiled()) separate.push_back(variant.separate);
  EXPECT_EQ(separate, (std::vector<bool>{true, false})) << "shapes are known for each apart";
}

TEST(ExecutableOnDevice, TwoBuffersOfOneHostMemoryAreNotOneThere) {
  AddOne s;
  s.pipeline.plan.sharing = {{"next", "u", "", {}}};
  std::vector<float> mine(16);
  const std::vector<BufferDim> all = {{0, 16, 1}};
  s.pipeline.set_u(Buffer<float>(mine.data(), all));
  Buffer<float> next(mine.data(), all);
  EXPECT_TRUE(test::fails_with([&] { s.pipeline.executable(kGpu).run(next); },
                               {"shares memory with input u", "a copy each on a GPU", "one buffer"}));
  s.pipeline.executable().run(next);
}

TEST(ExecutableOnDevice, ACroppedOutputKeepsTheRest) {
  AddOne s;
  Buffer<float> whole(16);
  whole.fill(-1.0F);
  Buffer<float> crop = whole.cropped({{4, 8}});
  s.pipeline.executable(kGpu).run(crop);
  EXPECT_EQ(s.pipeline.device->take_log(),
            (Log{"allocate 64", "upload 64", "allocate 64", "upload 64"}));
  const Buffer<float>& read = whole;
  for (std::int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(read(i), i >= 4 && i < 12 ? static_cast<float>(i) + 1.0F : -1.0F) << i;
  }
}

TEST(ExecutableOnDevice, TexturesComeWithTheElementAtLogicalIndex0) {
  AddOne s;
  std::vector<KernelArgument>& arguments = s.pipeline.plan.launches[0].arguments;
  arguments[0].kind = KernelArgument::Kind::Texture;
  KernelArgument origin;
  origin.kind = KernelArgument::Kind::TextureOrigin;
  origin.name = "u.texture.origin";
  origin.buffer = "u";
  origin.type = Int(64);
  arguments.insert(arguments.begin() + 1, origin);
  s.pipeline.kernels["next"] = std::make_shared<FakeKernel>([](const FakeKernel::Launch& launch) {
    const auto* texture = reinterpret_cast<const float*>(launch.arguments[0]);
    const auto first = static_cast<std::int64_t>(launch.arguments[1]);
    auto* next = reinterpret_cast<float*>(launch.arguments[2]);
    for (std::int64_t i = 4; i < 12; ++i) next[i] = texture[first + i] + 1.0F;
  });
  Buffer<float> whole(16);
  Buffer<float> next = whole.cropped({{4, 8}});
  s.pipeline.executable(kGpu).run(next);
  const std::vector<std::string> log = s.pipeline.device->take_log();
  EXPECT_NE(std::find(log.begin(), log.end(), "texture 64 of u"), log.end());
  const Buffer<float>& read = whole;
  for (std::int64_t i = 4; i < 12; ++i) EXPECT_EQ(read(i), static_cast<float>(i) + 1.0F);
  EXPECT_EQ(to_string(s.pipeline.plan).find("texture u") == std::string::npos, false);
}

TEST(ExecutableOnDevice, ResultsAreReadByTheNextRunWithoutCopies) {
  AddOne s;
  Buffer<float> a(16), b(16);
  Executable run = s.pipeline.executable(kGpu);
  run.run(a);
  s.pipeline.set_u(a);
  run.run(b);
  s.pipeline.set_u(b);
  (void)s.pipeline.device->take_log();
  run.run(a);
  EXPECT_EQ(s.pipeline.device->take_log(), Log{});
  const Buffer<float>& read = a;
  EXPECT_EQ(read(3), 6.0F);
}

TEST(ExecutableOnDevice, HostLaunchesReadAndWriteTheHostSide) {
  AddOne s;
  // mid = u + 1 on the device, then next = mid + 1 on the host.
  s.pipeline.plan.temporaries.push_back({"mid", Float(32), {Expr(0)}, {Expr(16)}, {}});
  PlanLaunch second = s.pipeline.plan.launches[0];
  s.pipeline.plan.launches[0].arguments[1] = pointer_argument("mid", Float(32), true);
  second.kernel = "second";
  second.on_device = false;
  second.grid.clear();
  second.arguments[0] = pointer_argument("mid", Float(32), false);
  s.pipeline.plan.launches.push_back(second);
  s.pipeline.kernels["second"] = add_one();
  Buffer<float> next(16);
  s.pipeline.executable(kGpu).run(next);
  EXPECT_EQ(s.pipeline.device->take_log(), (Log{"allocate 64", "upload 64", "allocate 64", "download 64",
                                                "synchronize", "release 64"}));
  EXPECT_FALSE(next.device_dirty());
  EXPECT_TRUE(next.host_dirty());
  EXPECT_EQ(next(5), 7.0F);
}

TEST(ExecutableOnDevice, AUsersStreamWaitsForEarlierWorkAndCarriesTheRest) {
  AddOne s;
  s.pipeline.plan.temporaries.push_back({"mid", Float(32), {Expr(0)}, {Expr(16)}, {}});
  s.pipeline.plan.launches[0].arguments.push_back(pointer_argument("mid", Float(32), true));
  Executable run = s.pipeline.executable(kGpu);
  Buffer<float> first(16), second(16);
  run.run(first);
  (void)s.pipeline.device->take_log();
  (void)s.pipeline.next().take();
  s.pipeline.set_u(first);
  int stream = 0;
  RunOptions options;
  options.stream.handle = &stream;
  run.run(second, options);
  EXPECT_EQ(s.pipeline.device->take_log(),
            (Log{"synchronize", "allocate 64", "synchronize", "allocate 64 on the user's stream",
                 "release 64 on the user's stream"}));
  EXPECT_EQ(s.pipeline.next().take().at(0).stream, &stream);
  run.run(second, options);
  EXPECT_EQ(s.pipeline.device->take_log(),
            (Log{"allocate 64 on the user's stream", "release 64 on the user's stream"}));
}

TEST(ExecutableOnDevice, AnEmulatedDeviceUsesHostMemory) {
  AddOne s;
  Buffer<float> next(16);
  s.pipeline.executable(Target::gpu_emulator()).run(next);
  EXPECT_EQ(s.pipeline.device->take_log(), Log{});
  EXPECT_FALSE(next.device_dirty());
  EXPECT_EQ(next(15), 16.0F);
}

TEST(ExecutableOnDevice, SynchronizeWaitsForTheDevicesOwnStream) {
  AddOne s;
  s.pipeline.executable(kGpu).synchronize();
  EXPECT_EQ(s.pipeline.device->take_log(), Log{"synchronize"});
}

}  // namespace
}  // namespace mica
