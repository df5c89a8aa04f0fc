// compile() for Target::cuda() and the disk cache behind it, on the stand-in GPU: whose code is taken,
// and many processes over one folder.
//
// Target::cuda() uses the process's driver, which is loaded once, so each test runs in a process of its
// own.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/compile.h"
#include "codegen/ir/fingerprint.h"
#include "codegen/llvm/backend.h"
#include "codegen/lower.h"
#include "dsl/pipeline/pipeline.h"
#include "runtime/cache/kernel_cache.h"
#include "runtime/cuda/gpu_facts.h"
#include "tests/support/emulated_launches.h"
#include "tests/support/temporary_folder.h"

namespace mica {
namespace {

namespace fs = std::filesystem;

const Target kGpu{Backend::Cuda, 0};

/// scaled_k(x) = k * u(x) + 1 over [0, 64) of u(x) = x, one kernel scaled_k.
class Scaled {
 public:
  using More = std::function<void(Func& scaled, const ImageParam& u)>;

  explicit Scaled(int k, const More& more = {}) : k_(k), scaled_("scaled_" + std::to_string(k)) {
    const Var x("x");
    scaled_(x) = k * u_(x) + 1;
    scaled_.gpu_tile(x, 32);
    if (more) more(scaled_, u_);
    input_.for_each([](int& e, const Coordinates& at) { e = static_cast<int>(at[0]); });
    u_.set(input_);
  }
  [[nodiscard]] const Func& output() const { return scaled_; }
  [[nodiscard]] std::string ptx() const {
    const GpuFacts facts = gpu_facts(kGpu);
    return compile_to_ptx(scaled_, facts.sm, facts.ptx_version);
  }
  /// Its only kernel, as loaded by a compilation of its own.
  [[nodiscard]] KernelInfo compiled(const CompileOptions& options = {}) const {
    return compile(scaled_, kGpu, options).kernels().at(0);
  }
  /// Compiles and runs.
  [[nodiscard]] bool gives_its_values() const {
    Buffer<int> out(64);
    compile(scaled_, kGpu).run(out);
    for (int i = 0; i < 64; ++i) {
      if (out(i) != k_ * i + 1) return false;
    }
    return true;
  }

 private:
  int k_;
  ImageParam u_{Int(32), 1, "u"};
  Buffer<int> input_{64};
  Func scaled_;
};

class SharedCache : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
  /// To be called first in the process of the test.
  [[nodiscard]] KernelCache use_cache() const {
    setenv("MICA_LIBCUDA", test::fake_cuda_path().c_str(), 1);
    setenv("MICA_CACHE_DIR", (root_ / "cache").c_str(), 1);
    return KernelCache::from_environment();
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(root_ / "cache"), {}));
  }

  test::TemporaryFolder temporary_;
  fs::path root_ = temporary_.path();
};

/// The key under which compile() keeps the kernel of `scaled`.
CacheKey key_of(const Scaled& scaled, const std::string& compiler, int sm, int driver) {
  const Pipeline pipeline = make_pipeline({scaled.output().function()});
  const DeviceLimits limits{.shared_bytes = gpu_facts(kGpu).max_shared_per_block_optin};
  const ir::Module module = to_module(lower(pipeline, {kGpu, Variant{}, {}, limits}));
  CacheKey key;
  key.add("compiler", compiler).add("kernel", ir::fingerprint(module.kernels.at(0)));
  key.add("sm", std::to_string(sm)).add("driver", std::to_string(driver));
  return key.add("kernel", llvm_backend::ptx_name(module.kernels[0].name));
}

/// An entry that loads on the stand-in for sm_90 as a kernel of 99 registers.
std::string entry_of(const Scaled& scaled, const std::string& start = "FAKECUBIN sm_90") {
  return "0\n" + start + "\n" + scaled.output().name() + " 99 0 0 1024 3\n";
}

TEST_F(SharedCache, IsAskedForTheCompilerTheGpuAndTheDriver) {
  const auto body = [this] {
    const KernelCache cache = use_cache();
    const Scaled scaled(3);
    const std::string compiler = llvm_backend::version();
    int wrong = 0;
    const auto taken = [&](const CacheKey& key) {
      fs::remove_all(cache.folder());
      cache.store(key, entry_of(scaled));
      const KernelInfo info = scaled.compiled();
      return info.from_cache && info.registers == 99;
    };
    wrong += !taken(key_of(scaled, compiler, 90, 13000));
    wrong += taken(key_of(scaled, compiler + "x", 90, 13000));
    wrong += taken(key_of(scaled, compiler, 80, 13000));
    wrong += taken(key_of(scaled, compiler, 90, 12080));
    wrong += taken(key_of(Scaled(4), compiler, 90, 13000));
    temporary_.remove();
    std::_Exit(wrong);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

// Kernels of one name that a directive or an option tells apart.
TEST_F(SharedCache, KeepsAKernelForEveryDirectiveAndOptionThatChangesIt) {
  const auto body = [this] {
    (void)use_cache();
    const std::vector<Scaled::More> schedules{
        {},
        [](Func& f, const ImageParam&) { f.max_registers(32); },
        [](Func& f, const ImageParam&) { f.max_registers(40); },
        [](Func& f, const ImageParam&) { f.launch_bounds(2); },
        [](Func& f, const ImageParam&) { f.launch_bounds(3); },
        [](Func& f, const ImageParam& u) { f.read_only(u); },
        [](Func& f, const ImageParam& u) { f.texture(u); },
        [](Func& f, const ImageParam& u) { f.stream_loads(u); },
        [](Func& f, const ImageParam&) { f.stream_stores(); },
        [](Func& f, const ImageParam&) { f.vectorize("x", 4); },
        [](Func& f, const ImageParam&) { f.clear_schedule().gpu_tile("x", 64); },
        [](Func& f, const ImageParam&) { f.bound("x", 0, 64); },
    };
    int wrong = 0;
    for (const Scaled::More& more : schedules) {
      wrong += Scaled(3, more).compiled().from_cache;
      wrong += !Scaled(3, more).compiled().from_cache;
    }
    CompileOptions options;
    for (const std::int64_t extent : {60, 70}) {  // no whole number of blocks
      options.bake = {{"scaled_3.min.0", 1}, {"scaled_3.extent.0", extent}};
      wrong += Scaled(3).compiled(options).from_cache;
      wrong += !Scaled(3).compiled(options).from_cache;
    }
    options.use_cache = false;
    wrong += Scaled(3).compiled(options).from_cache;
    temporary_.remove();
    std::_Exit(wrong);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

TEST_F(SharedCache, ReplacesWholeEntriesThatTheDriverRefuses) {
  const auto body = [this] {
    const KernelCache cache = use_cache();
    const Scaled scaled(3);
    const CacheKey key = key_of(scaled, llvm_backend::version(), 90, 13000);
    const std::string bad[] = {entry_of(scaled, "FAKECUBIN sm_80"),
                               entry_of(Scaled(4)),
                               "0\nnot code",
                               "",
                               "18446744073709551615\nFAKECUBIN sm_90\n",
                               "0"};
    int wrong = 0;
    for (const std::string& entry : bad) {
      cache.store(key, entry);
      const KernelInfo first = scaled.compiled(), second = scaled.compiled();
      wrong += first.from_cache || first.registers != 32 || first.ptx != scaled.ptx();
      wrong += !second.from_cache || second.registers != 32;
    }
    temporary_.remove();
    std::_Exit(wrong);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

// Each process compiles every pipeline several times, in an order of its own.
TEST_F(SharedCache, ServesSixteenProcessesOfAHundredCompilationsAtOnce) {
  const auto body = [this] {
    constexpr int kProcesses = 16, kCompilations = 100, kPipelines = 20;
    (void)use_cache();
    test::EmulatedLaunches launches;
    std::vector<std::unique_ptr<Scaled>> pipelines;
    for (int k = 0; k < kPipelines; ++k) {
      pipelines.push_back(std::make_unique<Scaled>(k));
      launches.add({pipelines.back()->output()});
    }
    std::vector<pid_t> children;
    for (int p = 0; p < kProcesses; ++p) {
      const pid_t child = fork();
      if (child < 0) std::_Exit(100);
      if (child > 0) {
        children.push_back(child);
        continue;
      }
      for (int c = 0; c < kCompilations; ++c) {
        const int k = (p + c * (2 * (p % 4) + 1) + c / kPipelines) % kPipelines;
        const Scaled& scaled = *pipelines[static_cast<std::size_t>(k)];
        const bool right =
            c < kPipelines ? scaled.compiled().ptx == scaled.ptx() : scaled.gives_its_values();
        if (!right) {
          std::fprintf(stderr, "process %d: compilation %d of pipeline %d is wrong\n", p, c, k);
          std::_Exit(1);
        }
      }
      std::_Exit(0);
    }
    int wrong = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    if (files() != kPipelines) {
      std::fprintf(stderr, "%zu files are left\n", files());
      ++wrong;
    }
    for (const auto& scaled : pipelines) wrong += !scaled->compiled().from_cache;
    temporary_.remove();
    std::_Exit(wrong);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mica
