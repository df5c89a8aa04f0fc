// Tests against the stand-in driver libfakecuda.so (tests/fake_cuda/fake_cuda.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "runtime/cuda/cuda_context.h"
#include "tests/fake_cuda/fake_cuda.h"
#include "tests/support/temporary_folder.h"

namespace mica::test {

/// Where the build puts `library`: ../lib seen from this program.
std::filesystem::path fake_cuda_path(const std::string& library = "libfakecuda.so");

/// The functions of libfakecuda.so that are not the driver's. The library stays loaded.
struct FakeCuda {
  FakeCuda();

  decltype(&fakecuda_reset) reset;
  decltype(&fakecuda_set_driver_version) set_driver_version;
  decltype(&fakecuda_set_devices) set_devices;
  decltype(&fakecuda_set_sm) set_sm;
  decltype(&fakecuda_set_total_memory) set_total_memory;
  decltype(&fakecuda_fail) fail;
  decltype(&fakecuda_calls) calls;
  decltype(&fakecuda_live) live;
  decltype(&fakecuda_called) called;
  decltype(&fakecuda_texture_start) texture_start;
  decltype(&fakecuda_on_launch) on_launch;
  decltype(&fakecuda_make_context) make_context;
  decltype(&fakecuda_context_depth) context_depth;
  decltype(&fakecuda_current_context) current_context;
  decltype(&fakecuda_make_stream) make_stream;
};

/// A test with one stand-in GPU, reset before. After it, no context may be left current and, unless
/// `may_leak` was set, everything made on the GPU must have been given back.
class FakeGpuTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Loads the driver anew and opens GPU number `ordinal`.
  [[nodiscard]] static std::shared_ptr<CudaContext> open(int ordinal = 0);

  std::unique_ptr<FakeCuda> fake_;
  bool may_leak_ = false;
};

/// The process in which a test of Target::cuda() on the stand-in runs: the process's driver is loaded
/// once, so each such test is a death test that says itself what is wrong. What it makes is cached in a
/// folder of its own.
class FakeGpuProcess {
 public:
  /// `library`: the stand-in to load; orders are given to, and answered by, libfakecuda.so.
  explicit FakeGpuProcess(const std::string& library = "libfakecuda.so");

  [[nodiscard]] const FakeCuda& fake() const { return fake_; }
  [[nodiscard]] std::filesystem::path cache() const { return folder_.path() / "cache"; }
  /// Prints `what` unless `holds`, and remembers.
  void expect(bool holds, const std::string& what);
  [[nodiscard]] bool failed() const { return failed_; }
  /// Ends the process, with 0 if everything held.
  [[noreturn]] void end() const;

 private:
  const FakeCuda fake_;
  TemporaryFolder folder_;
  bool failed_ = false;
};

/// "PTX" for the stand-in: entry points `names` with `parameters` parameters each, and lines in
/// `comments` such as "// fake: next local=16".
std::string fake_ptx(const std::vector<std::string>& names, int parameters = 2,
                     const std::string& comments = {});

}  // namespace mica::test
