// Machine code for the host is kept on disk: the second process links what the first one made.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "codegen/llvm/backend.h"
#include "dsl/expr/print.h"
#include "dsl/func/func.h"
#include "tests/support/hand_kernels.h"
#include "tests/support/temporary_folder.h"

namespace mica {
namespace {

namespace fs = std::filesystem;

class HostCache : public ::testing::Test {
 protected:
  HostCache() { setenv("MICA_CACHE_DIR", (folder_.path() / "cache").c_str(), 1); }
  ~HostCache() override {
    if (before_.empty()) {
      unsetenv("MICA_CACHE_DIR");
    } else {
      setenv("MICA_CACHE_DIR", before_.c_str(), 1);
    }
  }

  /// k * x + 1 at x = 5, by a pipeline that is compiled anew.
  static float value(float k, bool use_cache = true, const Target& target = Target::host()) {
    const Var x("x");
    Func f("f");
    f(x) = k * cast<float>(x) + 1.0F;
    CompileOptions options;
    options.use_cache = use_cache;
    Buffer<float> out(37);
    compile(f, target, options).run(out);
    return out(5);
  }

  [[nodiscard]] std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    if (!fs::exists(folder_.path() / "cache")) return files;
    for (const auto& entry : fs::directory_iterator(folder_.path() / "cache")) {
      if (entry.path().extension() == ".bin") files.push_back(entry.path());
    }
    return files;
  }

 private:
  const std::string before_ = std::getenv("MICA_CACHE_DIR") ? std::getenv("MICA_CACHE_DIR") : "";
  test::TemporaryFolder folder_;
};

TEST_F(HostCache, HoldsOneEntryForEachPipeline) {
  EXPECT_EQ(value(2), 11.0F);
  EXPECT_EQ(entries().size(), 1U);
  EXPECT_EQ(value(2), 11.0F);
  EXPECT_EQ(entries().size(), 1U);
  EXPECT_EQ(value(3), 16.0F);
  EXPECT_EQ(entries().size(), 2U);
}

TEST_F(HostCache, HoldsOneEntryForEachKindOfCpu) {
  ir::Module module;
  module.name = "cpus";
  module.kernels.emplace_back();
  module.kernels[0].name = "next";
  module.kernels[0].params = {test::pointer("out", Int(32), true)};
  module.kernels[0].body = ir::make_stmt(ir::Store{"out", {Expr(0)}, Expr(7), {}, 1});
  for (int again = 0; again < 2; ++again) {
    for (const auto cpu : {llvm_backend::HostCpu::Native, llvm_backend::HostCpu::Baseline}) {
      (void)llvm_backend::load_host_kernels(module, cpu, KernelCache::from_environment());
    }
    EXPECT_EQ(entries().size(), 2U);
  }
}

TEST_F(HostCache, KeepsCheckedCodeApart) {
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(value(2), 11.0F);
    EXPECT_EQ(value(2, true, Target::host_checked()), 11.0F);
    EXPECT_EQ(entries().size(), 2U);
  }
}

TEST_F(HostCache, KeepsKernelsThatPrint) {
  for (int i = 0; i < 2; ++i) {
    const Var x("x");
    Func f("f");
    f(x) = print(cast<float>(x), "cached");
    Buffer<float> out(2);
    testing::internal::CaptureStderr();
    compile(f, Target::host()).run(out);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "0 cached\n1 cached\n") << i;
    EXPECT_EQ(entries().size(), 1U);
  }
}

TEST_F(HostCache, IsReadByWhoComesNext) {
  EXPECT_EQ(value(2), 11.0F);
  ASSERT_EQ(entries().size(), 1U);
  const fs::path entry = entries().front();
  const auto old = fs::last_write_time(entry) - std::chrono::hours(5);
  fs::last_write_time(entry, old);
  EXPECT_EQ(value(2), 11.0F);
  EXPECT_GT(fs::last_write_time(entry), old + std::chrono::hours(4));
}

// What has no name is numbered in each pipeline, whatever was made before it.
TEST_F(HostCache, KnowsVarsAndFuncsWithoutNamesAgain) {
  for (int before = 0; before < 3; ++before) {
    const std::vector<Var> others(static_cast<std::size_t>(before));
    Var x, y;
    Func f, g;
    RDom r({{-1, 3}});
    f(x, y) = cast<float>(x) * 2.0F;
    f.compute_root();
    g(x, y) = sum(r, f(x + r, y)) + cast<float>(y);
    Buffer<float> out(37, 5);
    compile(g, Target::host()).run(out);
    EXPECT_EQ(out(5, 2), 32.0F);
    EXPECT_EQ(entries().size(), 1U) << before;
  }
}

/// Several Funcs at the root, each large enough for a module of its own, compiled and run over 37
/// points.
std::vector<float> values_of_large_funcs() {
  const Var x("x");
  Func f("f");
  f(x) = cast<float>(x) * 0.25F;
  for (int i = 0; i < 5; ++i) {
    f.compute_root();
    Func next("f");
    Expr e = f(x);
    for (int k = 1; k < 250; ++k) e = e + (0.001F * static_cast<float>(k + i)) * f(x - k);
    next(x) = e;
    f = next;
  }
  Buffer<float> out(37);
  compile(f, Target::host()).run(out);
  std::vector<float> values;
  for (int i = 0; i < 37; ++i) values.push_back(out(i));
  return values;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Threads compile the Funcs in no order.
TEST_F(HostCache, HoldsTheSameBytesWheneverAPipelineOfManyFuncsIsCompiled) {
  const std::vector<float> values = values_of_large_funcs();
  ASSERT_EQ(entries().size(), 1U);
  const fs::path entry = entries().front();
  const std::string bytes = bytes_of(entry);
  EXPECT_EQ(values_of_large_funcs(), values) << "from the cache";
  for (int i = 0; i < 3; ++i) {
    fs::remove(entry);
    EXPECT_EQ(values_of_large_funcs(), values);
    ASSERT_EQ(entries().size(), 1U);
    EXPECT_TRUE(bytes_of(entry) == bytes);
  }
}

TEST_F(HostCache, IsLeftAloneWhenAskedTo) {
  EXPECT_EQ(value(2, false), 11.0F);
  EXPECT_TRUE(entries().empty());
}

TEST_F(HostCache, WithADamagedEntryGivesTheRightValues) {
  EXPECT_EQ(value(2), 11.0F);
  ASSERT_EQ(entries().size(), 1U);
  const fs::path entry = entries().front();
  const auto size = fs::file_size(entry);
  {
    std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(size / 2));
    file.write("damaged", 7);
  }
  EXPECT_EQ(value(2), 11.0F);
  fs::resize_file(entry, size / 3);
  EXPECT_EQ(value(2), 11.0F);
  EXPECT_EQ(fs::file_size(entry), size);
}

}  // namespace
}  // namespace mica
