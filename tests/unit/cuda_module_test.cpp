// From PTX to launches, with and without the disk cache, on the stand-in GPU.
#include "runtime/cuda/cuda_module.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/cuda/gpu_facts.h"
#include "runtime/cuda/huge_ptx.h"
#include "runtime/cuda/plain_loads.h"
#include "tests/support/fake_cuda.h"
#include "tests/support/temporary_folder.h"

namespace mica {
namespace {

namespace fs = std::filesystem;
using test::fake_ptx;

/// A launch as the stand-in saw it; the arguments' values are taken as 64-bit numbers.
struct SeenLaunch {
  std::string kernel;
  std::vector<unsigned> grid, block;
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  std::vector<std::uint64_t> arguments;
};

class CudaModules : public test::FakeGpuTest {
 protected:
  [[nodiscard]] KernelCache cache() const { return KernelCache(folder_ / "cache"); }
  [[nodiscard]] int links() const { return fake_->calls("cuLinkCreate_v2"); }
  static CacheKey key() { return CacheKey().add("ir", "next(x) = u(x)"); }
  static KernelInfo info_of(const LoadedKernels& kernels, std::size_t i) {
    KernelInfo info;
    kernels.at(i).second->describe(info);
    return info;
  }

  test::TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(CudaModules, LoadTheKernelsInTheOrderAskedFor) {
  const std::string ptx = fake_ptx({"blur_x", "blur_y"}, 2,
                                   "// fake: blur_x registers=40 local=16 shared=1024 threads=256\n"
                                   "// fake: blur_y registers=64 local=0 shared=0 threads=512");
  const LoadedKernels kernels =
      load_kernels(open(), KernelCache({}), ptx, {{"blur_y", 0}, {"blur_x", 0}}, key());
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].first, "blur_y");
  EXPECT_EQ(kernels[1].first, "blur_x");
  const KernelInfo y = info_of(kernels, 0), x = info_of(kernels, 1);
  EXPECT_EQ(y.registers, 64);
  EXPECT_EQ(y.local_bytes, 0);
  EXPECT_EQ(x.registers, 40);
  EXPECT_EQ(x.local_bytes, 16) << "spills are told, not refused";
  EXPECT_EQ(x.static_shared_bytes, 1024);
  EXPECT_EQ(x.ptx, ptx);
  EXPECT_FALSE(x.from_cache);
}

// The stand-in's assembler refuses lines that it is not told to keep.
TEST_F(CudaModules, KeepTheUsersLines) {
  const std::string ptx = fake_ptx({"next"}, 2, "") + "\n\t.loc\t1 12 0\n";
  const LoadedKernels kernels = load_kernels(open(), KernelCache({}), ptx, {{"next", 0}}, key());
  EXPECT_EQ(info_of(kernels, 0).ptx, ptx);
}

// It refuses huge PTX, too, that it would assemble for minutes.
TEST_F(CudaModules, AreAssembledInTimeWhenTheyAreHuge) {
  const std::string ptx = fake_ptx({"next"}, 2, "//" + std::string(kHugePtx, ' '));
  EXPECT_EQ(load_kernels(open(), KernelCache({}), ptx, {{"next", 0}}, key()).size(), 1U);
}

TEST_F(CudaModules, AreAssembledInTimeWhenTheirCodeIsStraight) {
  const std::string step = "\tadd.f32 \t%f1, %f1, %f2;\n", branch = "\tbra \t$L__BB0_1;\n";
  std::string half;
  for (std::size_t i = 0; i < kLongestStraightPtx / 2; ++i) half += step;
  EXPECT_FALSE(is_huge_ptx(half + branch + half));
  EXPECT_FALSE(is_huge_ptx(half + "$L__BB0_1:\n" + half));
  EXPECT_FALSE(is_huge_ptx(half + half.substr(step.size())));
  EXPECT_TRUE(is_huge_ptx(half + "\t.loc\t1 12 0\n" + half));
  const std::string ptx = fake_ptx({"next"}, 2, "") + "\n" + half + half;
  EXPECT_EQ(load_kernels(open(), KernelCache({}), ptx, {{"next", 0}}, key()).size(), 1U);
}

TEST_F(CudaModules, LaunchWithTheGridBlockMemoryAndArgumentsGiven) {
  SeenLaunch seen;
  fake_->on_launch(
      [](const FakeCudaLaunch* launch, void* closure) {
        auto& to = *static_cast<SeenLaunch*>(closure);
        to = {launch->kernel,
              {launch->grid[0], launch->grid[1], launch->grid[2]},
              {launch->block[0], launch->block[1], launch->block[2]},
              launch->shared_bytes,
              launch->stream,
              {}};
        for (int i = 0; i < 2; ++i) {
          to.arguments.push_back(*static_cast<const std::uint64_t*>(launch->arguments[i]));
        }
      },
      &seen);
  const auto context = open();
  const LoadedKernels kernels =
      load_kernels(context, KernelCache({}), fake_ptx({"next"}), {{"next", 1000}}, key());
  std::uint64_t first = 11, second = 22;
  void* const arguments[] = {&first, &second};
  kernels[0].second->launch({{3, 4, 5}, {32, 8, 1}, 1000}, arguments, 2, {});
  EXPECT_EQ(seen.kernel, "next");
  EXPECT_EQ(seen.grid, (std::vector<unsigned>{3, 4, 5}));
  EXPECT_EQ(seen.block, (std::vector<unsigned>{32, 8, 1}));
  EXPECT_EQ(seen.shared_bytes, 1000U);
  EXPECT_EQ(seen.arguments, (std::vector<std::uint64_t>{11, 22}));
  EXPECT_EQ(seen.stream, context->stream({})) << "without a stream of the user's it is Mica's";

  void* user = nullptr;
  {
    const CudaContext::Scope scope(*context);
    user = fake_->make_stream();
  }
  kernels[0].second->launch({}, arguments, 2, Stream{user});
  EXPECT_EQ(seen.stream, user);
  const CudaContext::Scope scope(*context);
  context->driver().call(context->driver().cuStreamDestroy_v2, context->stream(Stream{user}));
}

TEST_F(CudaModules, LaunchFromSeveralThreads) {
  const auto context = open();
  const LoadedKernels kernels =
      load_kernels(context, KernelCache({}), fake_ptx({"next"}), {{"next", 0}}, key());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::uint64_t value = 0;
      void* const arguments[] = {&value, &value};
      for (int i = 0; i < 100; ++i) kernels[0].second->launch({}, arguments, 2, {});
      EXPECT_EQ(fake_->context_depth(), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake_->calls("cuLaunchKernel"), 400);
}

TEST_F(CudaModules, RefuseAWrongNumberOfArguments) {
  const LoadedKernels kernels =
      load_kernels(open(), KernelCache({}), fake_ptx({"next"}, 3), {{"next", 0}}, key());
  std::uint64_t value = 0;
  void* const arguments[] = {&value, &value};
  try {
    kernels[0].second->launch({}, arguments, 2, {});
    FAIL() << "the kernel has three parameters";
  } catch (const InternalError& failure) {
    EXPECT_STREQ(failure.what(), "kernel next takes 3 arguments and was given 2");
  }
  EXPECT_EQ(fake_->calls("cuLaunchKernel"), 0);
}

TEST_F(CudaModules, CountTheArgumentsOfTheKernelOfThatVeryName) {
  const std::string ptx = fake_ptx({"next_row"}, 3) + fake_ptx({"next"}, 1) + fake_ptx({"none"}, 0);
  const LoadedKernels kernels =
      load_kernels(open(), KernelCache({}), ptx, {{"next", 0}, {"next_row", 0}, {"none", 0}}, key());
  std::uint64_t value = 0;
  void* const arguments[] = {&value, &value, &value};
  EXPECT_NO_THROW(kernels[0].second->launch({}, arguments, 1, {}));
  EXPECT_NO_THROW(kernels[1].second->launch({}, arguments, 3, {}));
  EXPECT_NO_THROW(kernels[2].second->launch({}, arguments, 0, {}));
  EXPECT_THROW(kernels[0].second->launch({}, arguments, 3, {}), InternalError);
  EXPECT_THROW(kernels[2].second->launch({}, arguments, 1, {}), InternalError);
  EXPECT_EQ(fake_->calls("cuFuncGetParamInfo"), 0);
}

TEST_F(CudaModules, WithoutPtxRefuseTooManyArguments) {
  const auto context = open();
  const std::string cubin = link_ptx(*context, fake_ptx({"next"}, 2));
  const LoadedKernels kernels = load_module(context, cubin, {{"next", 0}}, "", false);
  std::uint64_t value = 0;
  void* const arguments[] = {&value, &value, &value};
  EXPECT_NO_THROW(kernels[0].second->launch({}, arguments, 2, {}));
  EXPECT_THROW(kernels[0].second->launch({}, arguments, 3, {}), InternalError);
}

// Of two entries with read-only loads one spills; the other's local memory is an array of its own.
TEST_F(CudaModules, KernelsThatSpillAreAssembledOnceMoreWithPlainLoads) {
  const std::string body = "\n.local .align 4 .b8 __local_depot0[64];\nld.global.nc.b32 %r1, [%rd1];\n";
  const std::string array = fake_ptx({"array"}) + body + "// fake: array local=64\n";
  const std::string spill = fake_ptx({"spill"}) + body + "// fake: spill local=72\n";
  const auto links_for = [&](const std::string& ptx) {
    const auto before = fake_->calls("cuLinkCreate_v2");
    const std::string name = read_only_entries(ptx).front().name;
    const LoadedKernels kernels = load_kernels(open(), KernelCache({}), ptx, {{name, 0}}, key());
    KernelInfo info;
    kernels.front().second->describe(info);
    EXPECT_EQ(info.ptx == ptx, name == "array") << "a kernel's PTX is that of its code";
    return fake_->calls("cuLinkCreate_v2") - before;
  };
  EXPECT_EQ(links_for(array), 1);
  EXPECT_EQ(links_for(spill), 2);
  const std::vector<ReadOnlyEntry> entries = read_only_entries(array + fake_ptx({"none"}) + spill);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name + " " + entries[1].name, "array spill");
  EXPECT_EQ(entries[0].local_bytes + entries[1].local_bytes, 128);
  const std::string plain = with_plain_loads(array + spill, {"spill"});
  EXPECT_EQ(plain.find("ld.global.nc"), array.find("ld.global.nc"));
  EXPECT_EQ(plain.find("ld.global.nc", array.size()), std::string::npos);
  EXPECT_EQ(plain.size(), array.size() + spill.size() - 3);
}

TEST_F(CudaModules, AskForSharedMemoryBeyond48KiB) {
  const auto context = open();
  load_kernels(context, KernelCache({}), fake_ptx({"a"}), {{"a", 48 << 10}}, key());
  EXPECT_EQ(fake_->calls("cuFuncSetAttribute"), 0);
  const LoadedKernels kernels =
      load_kernels(context, KernelCache({}), fake_ptx({"a"}), {{"a", 100'000}}, key());
  EXPECT_EQ(fake_->calls("cuFuncSetAttribute"), 1);
  std::uint64_t value = 0;
  void* const arguments[] = {&value, &value};
  EXPECT_NO_THROW(kernels[0].second->launch({{1, 1, 1}, {1, 1, 1}, 100'000}, arguments, 2, {}));
}

TEST_F(CudaModules, OutliveTheContextsOtherUsersAndAreUnloadedWithTheLastKernel) {
  LoadedKernels kernels =
      load_kernels(open(), KernelCache({}), fake_ptx({"a", "b"}), {{"a", 0}, {"b", 0}}, key());
  kernels.erase(kernels.begin());
  EXPECT_EQ(fake_->live().modules, 1U);
  EXPECT_EQ(fake_->live().retained_contexts, 1U);
  kernels.clear();
  EXPECT_EQ(fake_->live().modules, 0U);
  EXPECT_EQ(fake_->live().retained_contexts, 0U);
}

TEST_F(CudaModules, ComeFromTheCacheTheSecondTime) {
  const auto context = open();
  const std::string ptx = fake_ptx({"next"});
  EXPECT_FALSE(load_cached_kernels(context, cache(), {{"next", 0}}, key()).has_value());
  const LoadedKernels first = load_kernels(context, cache(), ptx, {{"next", 0}}, key());
  EXPECT_FALSE(info_of(first, 0).from_cache);
  EXPECT_EQ(links(), 1);
  const LoadedKernels second = load_kernels(context, cache(), ptx, {{"next", 0}}, key());
  EXPECT_TRUE(info_of(second, 0).from_cache);
  EXPECT_EQ(links(), 1) << "nothing is assembled";
  const auto without_ptx = load_cached_kernels(context, cache(), {{"next", 0}}, key());
  ASSERT_TRUE(without_ptx.has_value());
  EXPECT_EQ(info_of(*without_ptx, 0).ptx, ptx) << "the PTX is kept with the machine code";
}

TEST_F(CudaModules, AreAssembledAnewForAnotherKeyDriverGpuOrKernel) {
  const auto load = [&](const CacheKey& of, const std::string& name) {
    const std::string ptx = fake_ptx({"a", "b"});
    return info_of(load_kernels(open(), cache(), ptx, {{name, 0}}, of), 0).from_cache;
  };
  EXPECT_FALSE(load(key(), "a"));
  EXPECT_TRUE(load(key(), "a"));
  EXPECT_FALSE(load(key(), "b"));
  EXPECT_FALSE(load(CacheKey(key()).add("rounding", "2"), "a"));
  fake_->set_driver_version(13010);
  EXPECT_FALSE(load(key(), "a"));
  fake_->set_driver_version(13000);
  fake_->set_sm(80);
  EXPECT_FALSE(load(key(), "a")) << "another GPU";
  EXPECT_TRUE(load(key(), "a"));
  fake_->set_sm(90);
  EXPECT_TRUE(load(key(), "a")) << "what the first GPU had is still there";
}

TEST_F(CudaModules, AreAssembledAnewWhenTheCachedCodeIsDamagedOrRefused) {
  const auto context = open();
  const std::string ptx = fake_ptx({"next"});
  const auto load = [&] {
    return info_of(load_kernels(context, cache(), ptx, {{"next", 0}}, key()), 0).from_cache;
  };
  EXPECT_FALSE(load());
  for (const auto& file : fs::directory_iterator(folder_ / "cache")) {
    std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary).seekp(150).put('!');
  }
  EXPECT_FALSE(load()) << "damaged";
  EXPECT_TRUE(load()) << "replaced";
  fake_->fail("cuModuleLoadData", cuda::kErrorNoBinaryForGpu, 0, 1);
  EXPECT_FALSE(load()) << "refused by the driver";
  EXPECT_EQ(links(), 3);
}

TEST_F(CudaModules, AreNotStoredWhenTheyDoNotLoad) {
  const auto context = open();
  EXPECT_THROW(load_kernels(context, cache(), fake_ptx({"next"}), {{"other", 0}}, key()), DeviceError);
  EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

TEST_F(CudaModules, LoadWithADriverThatCannotTellParameters) {
  // The old library is another stand-in, with a state of its own.
  const auto driver = std::make_shared<const cuda::Driver>(test::fake_cuda_path("libfakecuda_old.so"));
  const auto context = std::make_shared<CudaContext>(driver, 0);
  const std::string cubin = link_ptx(*context, fake_ptx({"next"}, 3));
  const LoadedKernels kernels = load_module(context, cubin, {{"next", 0}}, "", false);
  std::uint64_t value = 0;
  void* const arguments[] = {&value, &value, &value};
  EXPECT_NO_THROW(kernels[0].second->launch({}, arguments, 3, {}));
}

}  // namespace
}  // namespace mica
