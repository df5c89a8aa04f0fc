// The CUDA runtime layer on the GPU of this machine: memory, hand-written PTX, launches, timing, errors.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "runtime/cuda/cuda_context.h"
#include "runtime/cuda/cuda_device.h"
#include "runtime/cuda/cuda_memory_pool.h"
#include "runtime/cuda/cuda_module.h"
#include "runtime/run/gpu_timer.h"
#include "tests/support/temporary_folder.h"

namespace mica {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
const Target kGpu{Backend::Cuda, 0};

// scale(out, in, factor): out[i] = factor * in[i], one thread an element.
// reverse(out, in): each block of threads reverses its elements through dynamic shared memory.
// lookup(out, in): an array of 64 floats in local memory, indexed by data.
// fault(out, in): writes to address 0.
const std::string kPtx = R"(.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry scale(.param .u64 p_out, .param .u64 p_in, .param .f32 p_factor) {
  .reg .b32 %r<5>; .reg .b64 %d<6>; .reg .f32 %f<4>;
  ld.param.u64 %d1, [p_out]; ld.param.u64 %d2, [p_in]; ld.param.f32 %f1, [p_factor];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %d3, %r4, 4; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
  ld.global.f32 %f2, [%d5]; mul.rn.f32 %f3, %f1, %f2; st.global.f32 [%d4], %f3;
  ret;
}
.visible .entry reverse(.param .u64 p_out, .param .u64 p_in) {
  .reg .b32 %r<9>; .reg .b64 %d<6>; .reg .f32 %f<3>;
  ld.param.u64 %d1, [p_out]; ld.param.u64 %d2, [p_in];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %d3, %r4, 4; add.u64 %d4, %d1, %d3; add.u64 %d5, %d2, %d3;
  ld.global.f32 %f1, [%d5];
  mov.u32 %r5, tile; shl.b32 %r6, %r3, 6; add.u32 %r6, %r6, %r5;
  st.shared.f32 [%r6], %f1;
  bar.sync 0;
  sub.u32 %r7, %r2, %r3; sub.u32 %r7, %r7, 1; shl.b32 %r8, %r7, 6; add.u32 %r8, %r8, %r5;
  ld.shared.f32 %f2, [%r8]; st.global.f32 [%d4], %f2;
  ret;
}
.visible .entry lookup(.param .u64 p_out, .param .u64 p_in) {
  .local .align 4 .b8 table[256];
  .reg .b32 %r<6>; .reg .b64 %d<9>; .reg .f32 %f<3>;
  ld.param.u64 %d1, [p_out]; ld.param.u64 %d2, [p_in];
  cvta.to.global.u64 %d1, %d1; cvta.to.global.u64 %d2, %d2;
  ld.global.u32 %r1, [%d2]; ld.global.u32 %r2, [%d2+4];
  and.b32 %r1, %r1, 63; and.b32 %r2, %r2, 63;
  mov.u64 %d3, table;
  mul.wide.u32 %d4, %r1, 4; add.u64 %d5, %d3, %d4; st.local.u32 [%d5], %r2;
  mul.wide.u32 %d6, %r2, 4; add.u64 %d7, %d3, %d6; ld.local.u32 %r3, [%d7];
  st.global.u32 [%d1], %r3;
  ret;
}
.visible .entry fault(.param .u64 p_out, .param .u64 p_in) {
  .reg .b32 %r<2>; .reg .b64 %d<2>;
  mov.u64 %d1, 0; mov.u32 %r1, 1; st.global.u32 [%d1], %r1;
  ret;
}
)";

/// Floats on the GPU for the duration of a test.
class Floats {
 public:
  Floats(Device& device, std::size_t count)
      : device_(device), bytes_(count * sizeof(float)), address_(device.allocate(bytes_, {})) {}
  ~Floats() { device_.release(address_, bytes_, {}); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  void put(const std::vector<float>& values) {
    device_.copy_to_device(address_, values.data(), values.size() * sizeof(float), {});
  }
  [[nodiscard]] std::vector<float> get(Stream stream = {}) const {
    std::vector<float> values(bytes_ / sizeof(float));
    device_.copy_to_host(values.data(), address_, bytes_, stream);
    device_.synchronize(stream);
    return values;
  }
  [[nodiscard]] std::uint64_t& address() { return address_; }

 private:
  Device& device_;
  const std::size_t bytes_;
  std::uint64_t address_;
};

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

class GpuDriver : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_device_count(&why) == 0) GTEST_SKIP() << "no GPU: " << why;
    context_ = cuda_context(0);
    device_ = open_cuda_device(0);
  }
  std::shared_ptr<LoadedKernel> load(const std::string& name, int shared_bytes = 0) const {
    return load_kernels(context_, KernelCache({}), kPtx, {{name, shared_bytes}}, {}).front().second;
  }
  /// factor * in by the kernel "scale", in blocks of 128.
  void scale(LoadedKernel& kernel, Floats& out, Floats& in, float factor, std::uint32_t blocks,
             Stream stream = {}) const {
    void* const arguments[] = {&out.address(), &in.address(), &factor};
    kernel.launch({{blocks, 1, 1}, {128, 1, 1}, 0}, arguments, 3, stream);
  }
  template <typename Body>
  static DeviceError error_of(const Body& body) {
    try {
      body();
    } catch (const DeviceError& failure) {
      return failure;
    }
    throw std::runtime_error("no DeviceError was thrown");
  }

  std::shared_ptr<CudaContext> context_;
  std::shared_ptr<Device> device_;
};

TEST_F(GpuDriver, ReadsPlausibleFacts) {
  const GpuFacts facts = gpu_facts(kGpu);
  EXPECT_FALSE(facts.name.empty());
  EXPECT_GE(facts.sm, 70);
  EXPECT_GE(facts.ptx_version, 70);
  EXPECT_GT(facts.multiprocessors, 0);
  EXPECT_GE(facts.max_shared_per_block_optin, facts.max_shared_per_block);
  EXPECT_GE(facts.max_shared_per_block, 48 << 10);
  EXPECT_GT(facts.max_shared_per_sm, facts.max_shared_per_block_optin);
  EXPECT_GE(facts.max_threads_per_sm, 1024);
  EXPECT_EQ(facts.registers_per_sm, 65536);
  EXPECT_GT(facts.l2_bytes, 1 << 20);
  EXPECT_GT(facts.total_memory, std::int64_t{1} << 30);
  std::printf("%s: %d KiB shared memory a block, %d MiB L2, %lld MiB, PTX %d, driver %d\n",
              device_->name().c_str(), facts.max_shared_per_block_optin >> 10, facts.l2_bytes >> 20,
              static_cast<long long>(facts.total_memory >> 20), facts.ptx_version, facts.driver_version);
}

TEST_F(GpuDriver, CopiesThereAndBack) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, 16 * kMiB}) {
    Floats memory(*device_, count);
    const std::vector<float> values = counting(count);
    memory.put(values);
    EXPECT_EQ(memory.get(), values) << count;
  }
}

TEST_F(GpuDriver, RunsAKernelOnEveryElement) {
  const auto kernel = load("scale");
  constexpr std::uint32_t kBlocks = 5000;
  Floats in(*device_, 128 * kBlocks), out(*device_, 128 * kBlocks);
  std::vector<float> values = counting(128 * kBlocks);
  in.put(values);
  scale(*kernel, out, in, 0.1F, kBlocks);
  for (float& value : values) value = 0.1F * value;
  EXPECT_EQ(out.get(), values);
}

TEST_F(GpuDriver, GivesAKernelSharedMemoryBeyond48KiB) {
  constexpr std::uint32_t kThreads = 1024, kBytes = kThreads * 64;
  const auto kernel = load("reverse", kBytes);
  Floats in(*device_, kThreads), out(*device_, kThreads);
  const std::vector<float> values = counting(kThreads);
  in.put(values);
  void* const arguments[] = {&out.address(), &in.address()};
  kernel->launch({{1, 1, 1}, {kThreads, 1, 1}, kBytes}, arguments, 2, {});
  EXPECT_EQ(out.get(), std::vector<float>(values.rbegin(), values.rend()));
}

TEST_F(GpuDriver, RefusesMoreSharedMemoryThanTheGpuHas) {
  const int most = context_->facts().max_shared_per_block_optin;
  EXPECT_NO_THROW(load("reverse", most));
  const DeviceError failure = error_of([&] { load("reverse", most + 1); });
  EXPECT_EQ(failure.call(), "cuFuncSetAttribute");
  EXPECT_NE(std::string(failure.what()).find(std::to_string(most + 1)), std::string::npos)
      << failure.what();
}

TEST_F(GpuDriver, TellsRegistersAndLocalBytes) {
  KernelInfo lookup, scaled;
  load("lookup")->describe(lookup);
  load("scale")->describe(scaled);
  EXPECT_GE(lookup.local_bytes, 256);
  EXPECT_EQ(scaled.local_bytes, 0);
  EXPECT_GT(scaled.registers, 0);
}

TEST_F(GpuDriver, LoadsFromTheCacheTheSecondTime) {
  const test::TemporaryFolder folder;
  const KernelCache cache(folder.path());
  const auto load_cached = [&] {
    return load_kernels(context_, cache, kPtx, {{"scale", 0}}, CacheKey().add("ptx", kPtx));
  };
  KernelInfo first, second;
  load_cached().front().second->describe(first);
  const LoadedKernels kernels = load_cached();
  kernels.front().second->describe(second);
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(second.registers, first.registers);
  EXPECT_EQ(second.ptx, kPtx);
  Floats in(*device_, 128), out(*device_, 128);
  in.put(counting(128));
  scale(*kernels.front().second, out, in, 1.0F, 1);
  EXPECT_EQ(out.get(), counting(128));
}

TEST_F(GpuDriver, LoadsMachineCodeMadeElsewhere) {
  const auto kernel = load_cubin(kGpu, link_ptx(*context_, kPtx), "scale", 0);
  Floats in(*device_, 128), out(*device_, 128);
  in.put(std::vector<float>(128, 3.0F));
  scale(*kernel, out, in, 2.0F, 1);
  EXPECT_EQ(out.get(), std::vector<float>(128, 6.0F));
}

TEST_F(GpuDriver, RefusesMachineCodeThatIsNone) {
  const DeviceError failure = error_of([] { load_cubin(kGpu, "this is no machine code", "scale", 0); });
  EXPECT_EQ(failure.call(), "cuModuleLoadData") << failure.what();
}

TEST_F(GpuDriver, ShowsTheAssemblersMessages) {
  std::string broken = kPtx;
  broken.replace(broken.find("mul.rn.f32"), 10, "mul.rx.f32");
  const DeviceError failure = error_of([&] { link_ptx(*context_, broken); });
  const std::string text = failure.what();
  EXPECT_EQ(failure.code(), cuda::kErrorInvalidPtx) << text;
  EXPECT_NE(text.find("ptxas"), std::string::npos) << text;
  EXPECT_NE(text.find("line 11"), std::string::npos) << text;
}

TEST_F(GpuDriver, ExplainsPtxThatIsTooNew) {
  std::string future = kPtx;
  future.replace(future.find("7.0"), 3, "99.0");
  const DeviceError failure = error_of([&] { link_ptx(*context_, future); });
  const std::string text = failure.what();
  EXPECT_EQ(failure.code(), cuda::kErrorUnsupportedPtxVersion) << text;
  EXPECT_NE(text.find("PTX 99.0 for sm_80"), std::string::npos) << text;
  EXPECT_NE(text.find("too old for the PTX"), std::string::npos) << text;
}

TEST_F(GpuDriver, NamesAKernelThatIsMissingAndALaunchThatIsTooLarge) {
  EXPECT_EQ(error_of([&] { load("sscale"); }).call(), "cuModuleGetFunction");
  const auto kernel = load("reverse");
  std::uint64_t nothing = 0;
  void* const arguments[] = {&nothing, &nothing};
  const DeviceError failure = error_of([&] {
    kernel->launch({{1, 1, 1}, {1025, 1, 1}, 0}, arguments, 2, {});
  });
  EXPECT_EQ(failure.call(), "cuLaunchKernel");
  EXPECT_NE(std::string(failure.what()).find("kernel reverse, grid 1x1x1, block 1025x1x1"),
            std::string::npos)
      << failure.what();
}

TEST_F(GpuDriver, CountsAKernelsArguments) {
  std::uint64_t nothing = 0;
  void* const arguments[] = {&nothing, &nothing, &nothing, &nothing};
  EXPECT_THROW(load("scale")->launch({}, arguments, 2, {}), InternalError);
  if (!context_->driver().cuFuncGetParamInfo.available()) return;
  const auto foreign = load_cubin(kGpu, link_ptx(*context_, kPtx), "scale", 0);
  EXPECT_THROW(foreign->launch({}, arguments, 4, {}), InternalError);
}

TEST_F(GpuDriver, SaysHowMuchMemoryThereIsAndGoesOn) {
  const auto total = static_cast<std::size_t>(context_->facts().total_memory);
  const DeviceError failure = error_of([&] { device_->allocate(2 * total, {}); });
  EXPECT_EQ(failure.call(), "cuMemAlloc_v2");
  EXPECT_EQ(failure.code(), cuda::kErrorOutOfMemory);
  std::printf("%s\n", failure.what());
  Floats memory(*device_, 1000);
  memory.put(counting(1000));
  EXPECT_EQ(memory.get(), counting(1000));
}

// Other processes may hold and free memory meanwhile: no amount is sure to fit, or to be left.
TEST_F(GpuDriver, GivesKeptMemoryBackWhenMemoryRunsOut) {
  CudaMemoryPool pool(context_);
  const cuda::Address kept = pool.allocate(64 * kMiB, {});
  pool.release(kept, {});
  ASSERT_GT(pool.bytes_kept(), 0U);
  const auto total = static_cast<std::size_t>(context_->facts().total_memory);
  EXPECT_EQ(error_of([&] { pool.allocate(2 * total, {}); }).code(), cuda::kErrorOutOfMemory);
  EXPECT_EQ(pool.bytes_kept(), 0U);
}

TEST_F(GpuDriver, RunsInAStreamOfTheUsers) {
  const auto kernel = load("scale");
  const cuda::Driver& driver = context_->driver();
  cuda::StreamHandle handle = nullptr;
  {
    const CudaContext::Scope scope(*context_);
    constexpr unsigned kNonBlocking = 1;
    driver.call(driver.cuStreamCreate, &handle, kNonBlocking);
  }
  const Stream stream{handle};
  {
    Floats in(*device_, 128 * 1000), out(*device_, 128 * 1000);
    in.put(std::vector<float>(128 * 1000, 1.0F));
    scale(*kernel, out, in, 2.0F, 1000, stream);
    for (int i = 0; i < 9; ++i) scale(*kernel, out, out, 2.0F, 1000, stream);
    EXPECT_EQ(out.get(stream), std::vector<float>(128 * 1000, 1024.0F));
    // Temporaries of the stream: the block comes back at once, after the work that used it.
    const std::uint64_t temporary = device_->allocate(kMiB, stream);
    device_->release(temporary, kMiB, stream);
    EXPECT_EQ(device_->allocate(kMiB, stream), temporary);
    device_->release(temporary, kMiB, stream);
  }
  const CudaContext::Scope scope(*context_);
  driver.call(driver.cuStreamDestroy_v2, handle);
}

TEST_F(GpuDriver, UsesTheContextThatTheThreadHas) {
  using Create = int (*)(cuda::ContextHandle*, unsigned, int);
  using Destroy = int (*)(cuda::ContextHandle);
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) GTEST_SKIP() << "the driver is not libcuda.so.1";
  const auto create = reinterpret_cast<Create>(dlsym(library, "cuCtxCreate_v2"));
  const auto destroy = reinterpret_cast<Destroy>(dlsym(library, "cuCtxDestroy_v2"));
  cuda::ContextHandle own = nullptr;
  ASSERT_EQ(create(&own, 0, 0), 0);  // and makes it current
  {
    const auto context = std::make_shared<CudaContext>(cuda::process_driver(), 0);
    const auto device = make_cuda_device(context);
    const LoadedKernels kernels = load_kernels(context, KernelCache({}), kPtx, {{"scale", 0}}, {});
    Floats in(*device, 128), out(*device, 128);
    in.put(counting(128));
    std::thread([&] { scale(*kernels.front().second, out, in, 1.0F, 1); }).join();
    EXPECT_EQ(out.get(), counting(128));
    cuda::ContextHandle current = nullptr;
    context->driver().call(context->driver().cuCtxGetCurrent, &current);
    EXPECT_EQ(current, own);
  }
  EXPECT_EQ(destroy(own), 0);
}

TEST_F(GpuDriver, AssemblesInSeveralThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      Floats in(*device_, 128), out(*device_, 128);
      in.put(std::vector<float>(128, 1.0F));
      const auto kernel = load("scale");
      scale(*kernel, out, in, static_cast<float>(t), 1);
      EXPECT_EQ(out.get(), std::vector<float>(128, static_cast<float>(t)));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(GpuDriver, TimesWorkAndCopies) {
  GpuTimer empty(kGpu), full(kGpu);
  const auto kernel = load("scale");
  Floats in(*device_, 16 * kMiB), out(*device_, 16 * kMiB);
  in.put(std::vector<float>(16 * kMiB, 1.0F));
  empty.start();
  empty.stop();
  full.start();
  for (int i = 0; i < 20; ++i) scale(*kernel, out, in, 1.0F, 16 * kMiB / 128);
  full.stop();
  EXPECT_GE(empty.milliseconds(), 0.0);
  EXPECT_GT(full.milliseconds(), empty.milliseconds());
  // 20 times 128 MiB: at least 10 GB/s and at most 100 TB/s on any GPU.
  EXPECT_LT(full.milliseconds(), 300.0);
  EXPECT_GT(full.milliseconds(), 0.02);
  for (const std::size_t bytes : {256 * kMiB, 512 * kMiB, 2048 * kMiB}) {
    const double bandwidth = device_copy_bandwidth(kGpu, bytes);
    std::printf("device copy of %zu MiB: %.0f GB/s read and written\n", bytes / kMiB, bandwidth);
    EXPECT_GT(bandwidth, 50.0);
    EXPECT_LT(bandwidth, 50'000.0);
  }
}

TEST_F(GpuDriver, SurvivesAKernelThatFaults) {
  // A fault ends the use of the GPU in its process.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [&] {
    const auto kernel = load("fault");
    std::uint64_t nothing = 0;
    void* const arguments[] = {&nothing, &nothing};
    const std::uint64_t memory = device_->allocate(kMiB, {});
    kernel->launch({}, arguments, 2, {});
    const DeviceError failure = error_of([&] { device_->synchronize({}); });
    device_->release(memory, kMiB, {});  // throws nothing
    const DeviceError later = error_of([&] { device_->allocate(64 * kMiB, {}); });
    std::fprintf(stderr, "%s\n%s\n", failure.what(), later.what());
    std::exit(failure.code() == cuda::kErrorIllegalAddress ? 0 : 1);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "a kernel launched before this call failed");
}

}  // namespace
}  // namespace mica
