// Whole pipelines on the stand-in GPU while its driver fails: every call of every function in turn.
//
// Target::cuda() uses the process's driver, which is loaded once, so each test runs in a process of its
// own and says there what is wrong.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/compile.h"
#include "fuzz/compare_memory.h"
#include "fuzz/oracle.h"
#include "fuzz/random_data.h"
#include "runtime/cuda/cuda_context.h"
#include "tests/support/emulated_launches.h"

namespace mica {
namespace {

namespace fs = std::filesystem;

const Target kGpu{Backend::Cuda, 0};
const test::Box kBox = {{0, 40}, {0, 20}};

/// Of the calls that fail in turn, every so many-th: instrumented code is slow.
#ifdef __SANITIZE_ADDRESS__
constexpr int kEvery = 5;
#else
constexpr int kEvery = 1;
#endif

/// Two kernels with a temporary between them, 56 KiB of shared memory, and a texture: of memory with
/// `padding` unused columns, so that the device does not have it yet.
class Scene {
 public:
  explicit Scene(int padding) {
    const Var x("x"), y("y");
    mid_(x, y) = u_(x - 40, y) + u_(x + 40, y) + v_(x, y - 40) + v_(x, y + 40);
    next_(x, y) = mid_(x - 1, y) + mid_(x + 1, y) + table_(x, y);
    mid_.compute_root().gpu_tile(x, y, 32, 8).unroll(y, 4);
    mid_.stage(u_, MemoryType::Shared).stage(v_, MemoryType::Shared);
    next_.gpu_tile(x, y, 32, 8).texture(table_);
    inputs_ = test::bind_demanded({next_}, kBox, {u_, v_}, 1);
    Buffer<float> table(static_cast<int>(kBox[0].second) + padding, static_cast<int>(kBox[1].second));
    table.for_each([](float& e, const Coordinates& at) { e = static_cast<float>(at[0] - 3 * at[1]); });
    table_.set(table);
  }
  [[nodiscard]] const Func& output() const { return next_; }

  /// By realize, and compiled once more on `stream`. Findings; "" if every element is right.
  std::string run(const AnyBuffer& expected, void* stream) {
    AnyBuffer first = test::buffer_over(Float(64), kBox), second = test::buffer_over(Float(64), kBox);
    next_.realize(first, kGpu);
    RunOptions options;
    options.stream.handle = stream;
    compile(next_, kGpu).run(second, options);
    device_for(kGpu)->synchronize(options.stream);
    return test::differing_bits(expected, first) + test::differing_bits(expected, second);
  }

 private:
  ImageParam u_{Float(64), 2, "u"}, v_{Float(64), 2, "v"}, table_{Float(32), 2, "table"};
  Func mid_{"mid"}, next_{"next"};
  std::vector<std::shared_ptr<void>> inputs_;
};

/// The process in which a test runs.
class Process : public test::FakeGpuProcess {
 public:
  Process() {
    launches_ = std::make_unique<test::EmulatedLaunches>();
    const auto scene = make_scene();
    launches_->add({scene->output()});
    expected_ = test::interpret(scene->output(), kBox).front();
  }

  std::unique_ptr<Scene> make_scene() { return std::make_unique<Scene>(++scenes_); }
  void make_stream() {
    const CudaContext::Scope scope(*cuda_context(0));
    stream_ = fake().make_stream();
  }
  /// The next time nothing is found in the disk cache.
  void forget_code() const { fs::remove_all(cache()); }

  void arm(const std::string& call, int skip, cuda::Result result = cuda::kErrorInvalidValue) const {
    fake().fail(call.c_str(), result, skip, 1);
  }
  void disarm(const std::string& call) const { fake().fail(call.c_str(), 0, 0, 0); }

  /// The error that a run ends with, or "" after right values. Anything else is a problem.
  std::string run(Scene& scene, const std::string& what) {
    try {
      expect(scene.run(expected_, stream_).empty(), what + ": wrong values");
      return "";
    } catch (const DeviceError& error) {
      return error.what();
    } catch (const std::exception& error) {
      expect(false, what + ": not a DeviceError: " + error.what());
      return error.what();
    }
  }
  void expect_error(const std::string& error, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
      expect(error.find(part) != std::string::npos, "\"" + error + "\" lacks \"" + part + "\"");
    }
  }
  /// Makes the memory pool give all that nobody uses back to the driver.
  static void empty_pool() {
    try {
      (void)device_for(kGpu)->allocate(std::size_t{1} << 50, {});
    } catch (const DeviceError&) {
    }
  }

 private:
  std::unique_ptr<test::EmulatedLaunches> launches_;
  AnyBuffer expected_;
  int scenes_ = 0;
  void* stream_ = nullptr;
};

/// What of `live` belongs to runs: the context, its streams and the textures are kept by the process.
std::size_t things_of_runs(const FakeCudaLive& live) {
  return live.allocations + live.events + live.modules + live.links;
}

/// Functions that give something back: what they were asked to free stays, and nobody can change that.
bool gives_back(const std::string& call) {
  return call == "cuMemFree_v2" || call == "cuModuleUnload" || call == "cuLinkDestroy" ||
         call == "cuEventDestroy_v2";
}
/// Functions without which nothing else can be called, a freeing one included.
bool leads_to_others(const std::string& call) {
  return call == "cuCtxGetCurrent" || call == "cuCtxPushCurrent_v2" || call == "cuCtxPopCurrent_v2";
}

/// Call number `skip` of `call` fails in a run, or while what the run made is given back.
void fail_once(Process& process, const std::string& call, int skip) {
  const std::string what = call + " number " + std::to_string(skip);
  const FakeCudaLive before = process.fake().live();
  const int calls = process.fake().calls(call.c_str());
  process.forget_code();
  auto scene = process.make_scene();
  process.arm(call, skip);
  const std::string error = process.run(*scene, what);
  if (!error.empty()) {
    process.expect(error.starts_with(call + " failed with code 1: CUDA_ERROR_INVALID_VALUE"),
                   what + ": " + error);
  }
  const bool in_run = process.fake().calls(call.c_str()) > calls + skip;
  if (in_run) {
    process.expect(process.run(*scene, what + ", again").empty(), what + ": the next run fails");
  }
  scene.reset();
  Process::empty_pool();
  process.disarm(call);
  if (!in_run) {
    const auto other = process.make_scene();
    process.expect(process.run(*other, what + ", next").empty(), what + ": the next pipeline fails");
  }
  Process::empty_pool();
  if (process.fake().context_depth() > 0) {
    process.expect(call == "cuCtxPopCurrent_v2", what + ": a context is left current");
    cuda::ContextHandle left = nullptr;
    (void)cuda::process_driver()->cuCtxPopCurrent_v2(&left);
  }
  const std::size_t allowed = gives_back(call) || leads_to_others(call) ? 1 : 0;
  const FakeCudaLive after = process.fake().live();
  process.expect(things_of_runs(after) <= things_of_runs(before) + allowed, what + ": something leaks");
  process.expect(after.allocations <= before.allocations || gives_back(call), what + ": memory leaks");
}

class DriverFaults : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

void fail_every_call() {
  Process process;
  process.make_stream();
  const auto clean = [&process] {
    process.forget_code();
    process.expect(process.run(*process.make_scene(), "without faults").empty(), "a clean run fails");
    Process::empty_pool();
  };
  clean();  // opens what stays open
  std::vector<const char*> names(256);
  names.resize(static_cast<std::size_t>(process.fake().called(names.data(), 256)));
  std::vector<int> counts;
  for (const char* name : names) counts.push_back(-process.fake().calls(name));
  clean();
  int faults = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    // Errors of these two are the text of an error.
    const std::string name = names[i];
    if (name == "cuGetErrorName" || name == "cuGetErrorString") continue;
    const int count = counts[i] + process.fake().calls(names[i]);
    counts[i] = count;
    faults += count;
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int first = static_cast<int>(i) % std::clamp(counts[i], 1, kEvery);
    for (int skip = first; skip < counts[i]; skip += kEvery) fail_once(process, names[i], skip);
  }
  process.expect(faults > 150, "only " + std::to_string(faults) + " calls were made to fail");
  process.end();
}

TEST_F(DriverFaults, InEveryCallOfARunNameItLeakNothingAndPass) {
  EXPECT_EXIT(fail_every_call(), testing::ExitedWithCode(0), "");
}

/// Runs `body` in a copy of this process; did it end with no problem?
template <typename Body>
bool in_copy(Process& process, const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    std::_Exit(process.failed() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void fail_every_call_of_the_start() {
  Process process;
  std::vector<const char*> names(64);
  std::vector<int> counts;
  // Calls are counted in this process's own context, which the copies do not have yet.
  {
    const auto context =
        std::make_shared<CudaContext>(std::make_shared<const cuda::Driver>(test::fake_cuda_path()), 0);
    names.resize(static_cast<std::size_t>(process.fake().called(names.data(), 64)));
    for (const char* name : names) counts.push_back(process.fake().calls(name));
  }
  int faults = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string call = names[i];
    for (int skip = 0; skip < counts[i]; ++skip, ++faults) {
      const std::string what = call + " number " + std::to_string(skip);
      const bool fine = in_copy(process, [&] {
        process.arm(call, skip);
        const auto scene = process.make_scene();
        const std::string error = process.run(*scene, what);
        if (call != "cuCtxPopCurrent_v2") {
          process.expect_error(error, {call + " failed with code 1: CUDA_ERROR_INVALID_VALUE"});
        }
        const std::size_t kept = process.fake().live().retained_contexts + process.fake().live().streams;
        process.expect(error.empty() || kept == 0, what + ": a context or stream leaks");
        // Whether there is a driver is asked once.
        const bool started = call != "cuInit" && call != "cuDriverGetVersion";
        const std::string again = process.run(*scene, what + ", again");
        process.expect(again == (started ? "" : error), what + ": then \"" + again + "\"");
      });
      process.expect(fine, what + " does not end well");
    }
  }
  process.expect(faults > 20, "only " + std::to_string(faults) + " calls were made to fail");
  process.end();
}

TEST_F(DriverFaults, InEveryCallOfTheStartNameItAndPass) {
  EXPECT_EXIT(fail_every_call_of_the_start(), testing::ExitedWithCode(0), "");
}

void run_out_of_memory() {
  Process process;
  process.fake().set_total_memory(1 << 20);
  const auto device = device_for(kGpu);
  constexpr std::size_t kMost = (1 << 20) - (20 << 10);
  const auto scene = process.make_scene();
  const std::uint64_t much = device->allocate(kMost, {});
  const std::string error = process.run(*scene, "without memory");
  process.expect_error(error, {"cuMemAlloc_v2 failed with code 2: CUDA_ERROR_OUT_OF_MEMORY",
                               "asked for ", " bytes free of 1,024 KiB, ", " KiB in use by Mica",
                               "give device copies back with device_free() or compute a smaller box"});
  device->release(much, kMost, {});
  process.expect(process.run(*scene, "with memory").empty(), "there is enough memory then");
  // What a pipeline that is done with it has left in the pool is given to the next one.
  const std::uint64_t most = device->allocate(std::size_t{3} << 18, {});
  device->release(most, std::size_t{3} << 18, {});
  process.expect(process.run(*process.make_scene(), "from the pool").empty(), "the pool holds memory");
  process.end();
}

TEST_F(DriverFaults, OutOfMemorySaysHowMuchAndWhatToDoAndPassesOnceThereIsSome) {
  EXPECT_EXIT(run_out_of_memory(), testing::ExitedWithCode(0), "");
}

void lose_the_gpu() {
  Process process;
  const auto scene = process.make_scene();
  process.expect(process.run(*scene, "before").empty(), "a clean run fails");
  for (const char* call : {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"}) {
    process.fake().fail(call, cuda::kErrorIllegalAddress, 0, -1);
    const std::string error = process.run(*process.make_scene(), call);
    process.expect_error(error,
                         {std::string(call) + " failed with code 700: CUDA_ERROR_ILLEGAL_ADDRESS",
                          "a kernel launched before this call failed",
                          "Run the pipeline on Target::gpu_emulator() to find the access at fault"});
    process.disarm(call);
  }
  process.arm("cuLaunchKernel", 0, cuda::kErrorLaunchOutOfResources);
  process.expect_error(process.run(*process.make_scene(), "launch"),
                       {"cuLaunchKernel failed with code 701", "kernel mid, grid 2x1x1, block 32x8x1, ",
                        "takes up to 1024 threads a block"});
  process.expect(process.run(*scene, "after").empty(), "the next run fails");
  process.end();
}

TEST_F(DriverFaults, AfterWhichTheGpuIsLostSayWhereToLook) {
  EXPECT_EXIT(lose_the_gpu(), testing::ExitedWithCode(0), "");
}

TEST_F(DriverFaults, ByADriverThatLacksAFunctionSayWhichItNeeds) {
  const auto body = [] {
    Process process;
    setenv("MICA_LIBCUDA", test::fake_cuda_path("libfakecuda_incomplete.so").c_str(), 1);
    const std::string error = process.run(*process.make_scene(), "incomplete");
    process.expect_error(error, {"dlsym failed with code 500", "has no function cuLaunchKernel",
                                 "needs a driver for CUDA 11.0 or newer"});
    process.end();
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mica
