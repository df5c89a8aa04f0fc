// Exported pipelines on the stand-in driver, which has their launches carried out by the emulator.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "runtime/cuda/huge_ptx.h"
#include "schedules/mica.h"
#include "tests/export/loaded_library.h"
#include "tests/support/compare.h"
#include "tests/support/emulated_launches.h"
#include "tests/support/expect_error.h"
#include "tests/support/fake_cuda.h"

namespace mica::test {
namespace {

const Target kGpu{Backend::Cuda, 0};
const Var x("x");
const Var y("y");

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Two kernels, an array between them, a Param.
struct Smooth {
  ImageParam u{Float(32), 2, "u"};
  Param<float> weight{"weight", 0.25F};
  Func rows{"rows"}, out{"out"};
  Smooth() {
    rows(x, y) = weight * (u(x - 1, y) + u(x, y)) + u(x + 1, y);
    out(x, y) = rows(x, y - 1) + rows(x, y) + rows(x, y + 1);
  }
  Smooth& on_gpu() {
    rows.compute_root().gpu_tile(x, y, 16, 4);
    out.gpu_tile(x, y, 32, 4).stage(rows, MemoryType::Shared);
    return *this;
  }
};

class ExportedCuda : public testing::Test {
 protected:
  ExportedCuda() {
    setenv("MICA_LIBCUDA", fake_cuda_path().c_str(), 1);
    fake_.reset();
    launches_ = std::make_unique<EmulatedLaunches>();
  }
  ~ExportedCuda() override {
    launches_.reset();
    fake_.reset();
    unsetenv("MICA_LIBCUDA");
  }
  /// The values that the algorithm has on the host.
  static Buffer<float> expected(std::int64_t width, std::int64_t height) {
    Smooth smooth;
    Buffer<float> u = input(width, height), out(width, height);
    smooth.u.set(u);
    Executable executable = compile(smooth.out, Target::host());
    executable.run(out);
    return out;
  }
  static Buffer<float> input(std::int64_t width, std::int64_t height) {
    auto u = Buffer<float>::with_halo({width, height}, {1, 1});
    fill_random(u, 7);
    return u;
  }

  const FakeCuda fake_;
  std::unique_ptr<EmulatedLaunches> launches_;
};

TEST_F(ExportedCuda, ArraysOfTheHostAreCopied) {
  Smooth smooth;
  smooth.on_gpu();
  launches_->add({smooth.out});
  const LoadedLibrary library({smooth.out}, {.sm = 80}, kGpu);
  EXPECT_STREQ(library.description().target, "cuda:80");
  for (const auto& [width, height] : {std::pair(64, 16), std::pair(64, 5), std::pair(16, 1)}) {
    Buffer<float> u = input(width, height), out(width, height);
    const mica_buffer in = c_buffer(u), f = c_buffer(out);
    const CallResult result = library.call({&in, &f});
    EXPECT_EQ(result.code, MICA_OK) << result.error;
    EXPECT_TRUE(same_bits(expected(width, height), out));
    EXPECT_EQ(fake_.live().allocations, 0U);
  }
  EXPECT_EQ(fake_.calls("cuLinkComplete"), 1) << "code is loaded once";
  EXPECT_EQ(fake_.context_depth(), 0);
}

// The stand-in's assembler refuses what it is to assemble for minutes.
TEST_F(ExportedCuda, StraightCodeOfManyInstructionsIsLinkedInTime) {
  Smooth smooth;
  Func out("out");
  Expr sum = 0.0F;
  for (int chain = 1; chain <= 100; ++chain) {
    Expr value = smooth.u(x, y) * static_cast<float>(chain);
    for (int i = 0; i < 122; ++i) value = max(value * smooth.weight, smooth.u(x - 1, y));
    sum = sum + value;
  }
  out(x, y) = sum;
  out.gpu_tile(x, y, 32, 4);
  ASSERT_TRUE(is_huge_ptx(compile_to_ptx(out, 80)));
  launches_->add({out});
  const LoadedLibrary library({out}, {.sm = 80}, kGpu);
  Buffer<float> u = input(64, 4), f(64, 4);
  const mica_buffer in = c_buffer(u), to = c_buffer(f);
  const CallResult result = library.call({&in, &to});
  EXPECT_EQ(result.code, MICA_OK) << result.error;
}

TEST_F(ExportedCuda, KernelsThatSpillAreLinkedOnceMoreWithPlainLoads) {
  Smooth smooth;
  smooth.on_gpu();
  smooth.rows.read_only(smooth.u);
  launches_->add({smooth.out});
  const LoadedLibrary library({smooth.out}, {.sm = 80}, kGpu);
  Buffer<float> u = input(64, 16), out(64, 16);
  const mica_buffer in = c_buffer(u), f = c_buffer(out);
  setenv("FAKECUDA_SPILLS", "1", 1);
  const CallResult result = library.call({&in, &f});
  unsetenv("FAKECUDA_SPILLS");
  EXPECT_EQ(result.code, MICA_OK) << result.error;
  EXPECT_TRUE(same_bits(expected(64, 16), out));
  EXPECT_EQ(fake_.calls("cuLinkComplete"), 2);
  EXPECT_EQ(fake_.calls("cuModuleUnload"), 1);
}

// The stand-in's assembler refuses lines that it is not told to keep.
TEST_F(ExportedCuda, TheUsersLinesAreKept) {
  Smooth smooth;
  smooth.on_gpu();
  launches_->add({smooth.out});
  const LoadedLibrary library({smooth.out}, {.sm = 80, .line_info = true}, kGpu);
  Buffer<float> u = input(64, 16), out(64, 16);
  const mica_buffer in = c_buffer(u), f = c_buffer(out);
  const CallResult result = library.call({&in, &f});
  EXPECT_EQ(result.code, MICA_OK) << result.error;
  EXPECT_TRUE(same_bits(expected(64, 16), out));
}

using Allocate = int(unsigned long long*, std::size_t);
using CopyIn = int(unsigned long long, const void*, std::size_t, void*);
using CopyOut = int(void*, unsigned long long, std::size_t, void*);

TEST_F(ExportedCuda, ArraysOfTheGpuInAStreamOfTheUsers) {
  Smooth smooth;
  smooth.on_gpu();
  launches_->add({smooth.out});
  const LoadedLibrary library({smooth.out}, {}, kGpu);
  void* driver = dlopen(fake_cuda_path().c_str(), RTLD_NOW);
  const auto find = [&](const char* name) { return dlsym(driver, name); };
  reinterpret_cast<int (*)(unsigned)>(find("cuInit"))(0);
  fake_.make_context(0);
  void* stream = fake_.make_stream();
  Buffer<float> u = input(64, 16), out(64, 16);
  mica_buffer in = c_buffer(u), f = c_buffer(out);
  const auto in_bytes = static_cast<std::size_t>(17 * u.stride(1) + 66) * sizeof(float);
  const std::size_t out_bytes = 64 * 16 * sizeof(float);
  unsigned long long u_gpu = 0, out_gpu = 0;
  reinterpret_cast<Allocate*>(find("cuMemAlloc_v2"))(&u_gpu, in_bytes + 12);
  reinterpret_cast<Allocate*>(find("cuMemAlloc_v2"))(&out_gpu, out_bytes);
  u_gpu += 12;  // so that the rows' first points, not their halos, begin at multiples of 16 bytes
  reinterpret_cast<CopyIn*>(find("cuMemcpyHtoDAsync_v2"))(u_gpu, in.data, in_bytes, nullptr);
  in.data = reinterpret_cast<void*>(u_gpu);
  in.memory = MICA_DEVICE;
  f.data = reinterpret_cast<void*>(out_gpu);
  f.memory = MICA_DEVICE;
  const CallResult result = library.call({&in, &f}, stream);
  EXPECT_EQ(result.code, MICA_OK) << result.error;
  reinterpret_cast<CopyOut*>(find("cuMemcpyDtoHAsync_v2"))(out.host_data_for_write(), out_gpu, out_bytes,
                                                           stream);
  EXPECT_TRUE(same_bits(expected(64, 16), out));
  EXPECT_EQ(fake_.context_depth(), 1) << "the user's context stays current";
  EXPECT_EQ(fake_.calls("cuDevicePrimaryCtxRetain"), 0);
  dlclose(driver);
}

TEST_F(ExportedCuda, UnalignedRowsHaveAVariant) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y) + 1.0F;
  f.gpu_tile(x, y, 8, 4).vectorize(x, 4);
  Variant unaligned;
  unaligned.aligned = false;
  launches_->add({f}, unaligned);
  const LoadedLibrary library({f}, {}, kGpu);
  Buffer<float> from(33, 7), to(33, 7);
  fill_random(from, 1);
  const mica_buffer in = c_buffer(from), out = c_buffer(to);
  const CallResult result = library.call({&in, &out});
  EXPECT_EQ(result.code, MICA_OK) << result.error;
  EXPECT_EQ(to(32, 6), from(32, 6) + 1.0F);
  EXPECT_EQ(to(0, 0), from(0, 0) + 1.0F);
}

TEST_F(ExportedCuda, UnalignedAddressesAreNotServedByAlignedCode) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f");
  f(x, y) = u(x, y) + 1.0F;
  f.gpu_tile(x, y, 8, 4).vectorize(x, 4);
  launches_->add({f});
  const LoadedLibrary library({f}, {.variants = {Variant{}}}, kGpu);
  void* driver = dlopen(fake_cuda_path().c_str(), RTLD_NOW);
  reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0);
  fake_.make_context(0);
  unsigned long long address = 0;
  reinterpret_cast<Allocate*>(dlsym(driver, "cuMemAlloc_v2"))(&address, 4096);
  Buffer<float> from(32, 8), to(32, 8);
  mica_buffer in = c_buffer(from), out = c_buffer(to);
  in.memory = MICA_DEVICE;
  for (const auto& [bytes, code] : {std::pair(16U, MICA_OK), std::pair(4U, MICA_NOT_SERVED)}) {
    in.data = reinterpret_cast<void*>(address + bytes);
    const CallResult result = library.call({&in, &out});
    EXPECT_EQ(result.code, code) << bytes << ": " << result.error;
  }
  dlclose(driver);
}

// Rows of 33 elements would not begin at whole vectors.
TEST_F(ExportedCuda, ScratchHasThePaddingThatItsScheduleAsksFor) {
  const ImageParam u(Float(32), 2, "u");
  Func rows("rows"), f("f");
  rows(x, y) = u(x, y) * 2.0F;
  f(x, y) = rows(x, y) + 1.0F;
  rows.compute_root().align_storage(x, 32).gpu_tile(x, y, 8, 4).vectorize(x, 4);
  f.gpu_tile(x, y, 8, 4).vectorize(x, 4);
  launches_->add({f});
  const LoadedLibrary library({f}, {.variants = {Variant{}}}, kGpu);
  Buffer<float> from({{0, 33, 1}, {0, 7, 36}}), to({{0, 33, 1}, {0, 7, 36}});
  fill_random(from, 1);
  const mica_buffer in = c_buffer(from), out = c_buffer(to);
  const CallResult result = library.call({&in, &out});
  EXPECT_EQ(result.code, MICA_OK) << result.error;
  EXPECT_EQ(to(32, 6), from(32, 6) * 2.0F + 1.0F);
}

TEST_F(ExportedCuda, ViewsOfOneArrayOfTheHost) {
  const ImageParam u(Float(32), 1, "u");
  Func f("f");
  f(x) = Tuple(2.0F * u(x), 3.0F * u(x));
  f.gpu_tile(x, 8);
  Variant general{
      .index32 = false, .aligned = false, .grid3 = false, .unit_stride = false, .separate = false};
  launches_->add({f}, general);
  const LoadedLibrary library({f}, {.variants = {general}}, kGpu);
  Buffer<float> pixels(3, 21);
  fill_random(pixels, 1);
  Buffer<float> before(3, 21);
  for (int i = 0; i < 21; ++i) before(0, i) = pixels(0, i);
  AnyBuffer red = pixels.sliced(0, 0), green = pixels.sliced(0, 1), blue = pixels.sliced(0, 2);
  const mica_buffer in = c_buffer(red), first = c_buffer(green), second = c_buffer(blue);
  const CallResult result = library.call({&in, &first, &second});
  EXPECT_EQ(result.code, MICA_OK) << result.error;
  for (int i = 0; i < 21; ++i) {
    EXPECT_EQ(pixels(0, i), before(0, i));
    EXPECT_EQ(pixels(1, i), 2.0F * before(0, i));
    EXPECT_EQ(pixels(2, i), 3.0F * before(0, i));
  }
}

TEST_F(ExportedCuda, FailuresOfTheDriver) {
  Smooth smooth;
  smooth.on_gpu();
  launches_->add({smooth.out});
  const LoadedLibrary library({smooth.out}, {}, kGpu);
  Buffer<float> u = input(64, 16), out(64, 16);
  const mica_buffer in = c_buffer(u), f = c_buffer(out);
  for (const auto& [function, code] :
       {std::pair("cuLaunchKernel", MICA_DEVICE_FAILED), std::pair("cuMemAllocAsync", MICA_NO_MEMORY),
        std::pair("cuMemcpyHtoDAsync_v2", MICA_DEVICE_FAILED),
        std::pair("cuMemcpyDtoHAsync_v2", MICA_DEVICE_FAILED),
        std::pair("cuStreamSynchronize", MICA_DEVICE_FAILED)}) {
    fake_.fail(function, code == MICA_NO_MEMORY ? 2 : 700, 0, 1);
    const CallResult result = library.call({&in, &f});
    EXPECT_EQ(result.code, code) << function << ": " << result.error;
    EXPECT_EQ(result.error.rfind(function, 0), 0U) << result.error;
    EXPECT_EQ(fake_.live().allocations, 0U) << function;
    EXPECT_EQ(fake_.context_depth(), 0) << function;
  }
  const CallResult result = library.call({&in, &f});
  EXPECT_EQ(result.code, MICA_OK) << result.error;
}

/// Without memory in a stream's order a run waits before it gives its own back.
TEST_F(ExportedCuda, OldDrivers) {
  Smooth smooth;
  const LoadedLibrary library({smooth.on_gpu().out}, {}, kGpu);
  setenv("MICA_LIBCUDA", fake_cuda_path("libfakecuda_old.so").c_str(), 1);
  Buffer<float> u = input(64, 16), out(64, 16);
  const mica_buffer in = c_buffer(u), f = c_buffer(out);
  const CallResult result = library.call({&in, &f});
  EXPECT_EQ(result.code, MICA_OK) << result.error;
  void* driver = dlopen(fake_cuda_path("libfakecuda_old.so").c_str(), RTLD_NOW);
  const auto live = reinterpret_cast<decltype(&fakecuda_live)>(dlsym(driver, "fakecuda_live"));
  const auto calls = reinterpret_cast<decltype(&fakecuda_calls)>(dlsym(driver, "fakecuda_calls"));
  EXPECT_EQ(calls("cuLaunchKernel"), 2);
  EXPECT_EQ(calls("cuMemAlloc_v2"), 3);
  EXPECT_EQ(live().allocations, 0U);
  dlclose(driver);
}

TEST_F(ExportedCuda, NoDriver) {
  Smooth smooth;
  const LoadedLibrary library({smooth.on_gpu().out}, {}, kGpu);
  setenv("MICA_LIBCUDA", "/no/such/libcuda.so", 1);
  Buffer<float> u = input(64, 16), out(64, 16);
  const mica_buffer in = c_buffer(u), f = c_buffer(out);
  const CallResult result = library.call({&in, &f});
  EXPECT_EQ(result.code, MICA_DEVICE_FAILED);
  EXPECT_NE(result.error.find("the NVIDIA driver's library cannot be loaded (/no/such/libcuda.so"),
            std::string::npos)
      << result.error;
}

TEST_F(ExportedCuda, TheHeaderSaysHowToLaunchTheKernels) {
  Smooth smooth;
  const LoadedLibrary library({smooth.on_gpu().out}, {.sm = 90}, kGpu);
  const std::string header = text_of(library.stem() + ".h"), ptx = text_of(library.stem() + ".ptx");
  for (const char* part :
       {"int pipeline(const mica_buffer* u, const mica_buffer* out, float weight, void* stream);",
        "launch rows on the device, grid (", "block (16, 4, 1)", "launch out on the device",
        "temporary rows: f32, mins (", "  weight: f32 = weight", "library.ptx"}) {
    EXPECT_NE(header.find(part), std::string::npos) << part << " in " << header;
  }
  EXPECT_NE(ptx.find(".entry rows("), std::string::npos);
  EXPECT_NE(ptx.find(".target sm_90"), std::string::npos);
  // Where there is an assembler, its code is there too.
  if (std::filesystem::exists(library.stem() + ".cubin")) {
    EXPECT_EQ(text_of(library.stem() + ".cubin").substr(1, 3), "ELF");
    EXPECT_STREQ(library.description().code, "sm_90 cubin and PTX");
  } else {
    EXPECT_STREQ(library.description().code, "sm_90 PTX");
  }
}

TEST_F(ExportedCuda, WhatAGpuLibraryCannotDo) {
  const TemporaryFolder folder;
  const std::string stem = (folder.path() / "f").string();
  Smooth loops;
  loops.out.parallel(y);
  EXPECT_TRUE(fails_with([&] { compile_to_library(loops.out, stem, kGpu); },
                         {"kernel out runs on the host", "gpu_tile"}));
  Smooth old;
  old.on_gpu();
  EXPECT_TRUE(fails_with([&] { compile_to_library(old.out, stem, kGpu, {.sm = 70}); }, {"sm_80"}));
}

}  // namespace
}  // namespace mica::test
