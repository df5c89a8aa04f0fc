// Threads that compile and run at the same time. Small enough for the thread sanitizer, which does not
// see what code made at run time does to memory.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "runtime/cuda/cuda_context.h"
#include "tests/support/emulated_launches.h"

namespace mica {
namespace {

constexpr int kThreads = 4, kRounds = 3, kExtent = 70;

/// far_k(x) = k * near_k(x + 1) + near_k(x - 1), near_k(x) = u(x) + k, of u(x) = x.
class Sum {
 public:
  explicit Sum(int k, bool gpu)
      : k_(k), near_("near_" + std::to_string(k)), far_("far_" + std::to_string(k)) {
    const Var x("x");
    near_(x) = u_(x) + k;
    far_(x) = k * near_(x + 1) + near_(x - 1);
    near_.compute_root();
    if (gpu) {
      near_.gpu_tile(x, 32);
      far_.gpu_tile(x, 32);
    } else {
      far_.parallel(x, 16);
    }
    int* const data = input_.data();
    for (int i = 0; i < kExtent + 2; ++i) data[i] = i - 1;
    u_.set(input_.translated({-1}));
  }
  [[nodiscard]] const Func& output() const { return far_; }
  [[nodiscard]] Func& output() { return far_; }
  [[nodiscard]] bool values_are_right(const Buffer<int>& out) const {
    for (int i = 0; i < kExtent; ++i) {
      if (out(i) != k_ * (i + 1 + k_) + i - 1 + k_) return false;
    }
    return true;
  }

 private:
  int k_;
  ImageParam u_{Int(32), 1, "u"};
  Buffer<int> input_{kExtent + 2};
  Func near_, far_;
};

/// Calls body(0) ... body(kThreads - 1), each in a thread, that begin together; how many of them did not
/// return true.
int wrong_threads(const std::function<bool(int)>& body) {
  std::atomic<int> waiting{kThreads}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      try {
        if (!body(t)) ++wrong;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "thread %d: %s\n", t, error.what());
        ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

/// What the threads do on `target`; the number of mistakes.
int work(const Target& target, const std::function<void(const Func&)>& announce) {
  const bool gpu = target.is_gpu();
  int wrong = 0;
  {
    // One Func, compiled by whoever comes first.
    Sum sum(1, gpu);
    announce(sum.output());
    wrong += wrong_threads([&](int) {
      for (int round = 0; round < kRounds; ++round) {
        Buffer<int> out(kExtent);
        sum.output().realize(out, target);
        if (!sum.values_are_right(out)) return false;
      }
      return true;
    });
  }
  {
    // One Executable, whose variants are compiled by whoever comes first, and one input of all.
    Sum sum(2, gpu);
    announce(sum.output());
    Executable executable = compile(sum.output(), target);
    wrong += wrong_threads([&](int) {
      for (int round = 0; round < kRounds; ++round) {
        Buffer<int> out(kExtent);
        executable.run(out);
        if (!sum.values_are_right(out)) return false;
      }
      return executable.kernels().size() == 2;
    });
  }
  // Funcs of their own.
  std::vector<std::unique_ptr<Sum>> sums;
  for (int k = 3; k < 3 + kThreads; ++k) {
    sums.push_back(std::make_unique<Sum>(k, gpu));
    announce(sums.back()->output());
  }
  wrong += wrong_threads([&](int t) {
    for (int round = 0; round < kRounds; ++round) {
      Sum& sum = *sums[static_cast<std::size_t>((t + round) % kThreads)];
      Buffer<int> out(kExtent);
      compile(sum.output(), target).run(out);
      if (!sum.values_are_right(out)) return false;
    }
    return true;
  });
  // Funcs written, scheduled, run and dropped in the threads.
  wrong += wrong_threads([&](int t) {
    for (int round = 0; round < kRounds; ++round) {
      Sum sum(3 + t, gpu);
      Buffer<int> out(kExtent);
      sum.output().realize(out, target);
      if (!sum.values_are_right(out)) return false;
    }
    return true;
  });
  return wrong;
}

/// `far`, which reads `near`, compiled to a kernel for each of the two; both are over x.
Executable compile_in_two(Func near, Func far, const Target& target) {
  near.compute_root();
  if (target.is_gpu()) {
    near.gpu_tile("x", 32);
    far.gpu_tile("x", 32);
  } else {
    far.parallel("x", 16);
  }
  return compile(far, target);
}

/// Runs while other threads set the input and the scalar: each is of one input and one scalar that were
/// set when it began. far(x) = (u(x) + c) * 1000 + c with u = 1 ... kThreads everywhere, in two kernels.
int set_while_others_run(const Target& target) {
  const Var x("x");
  ImageParam u(Int(32), 1, "u");
  Param<int> c("c", 1), width("width", 4);
  Func near("near"), far("far");
  near(x) = u(x) + c;
  far(x) = near(x) * 1000 + c + select(x < width, 0, 0);
  Executable executable = compile_in_two(near, far, target);
  const auto fresh = [](int value) {
    Buffer<int> buffer(kExtent + 10 * value);
    buffer.fill(value);
    return buffer;
  };
  u.set(fresh(1));
  std::atomic<int> running{kThreads / 2};
  const int wrong = wrong_threads([&](int t) {
    if (t >= kThreads / 2) {
      for (int round = 0; running > 0; ++round) {
        const int value = 1 + (round + t) % kThreads;
        u.set(fresh(value));
        c.set(value);
        width.set(value);
        (void)c.get();
      }
      return true;
    }
    bool right = true;
    for (int round = 0; round < 20 * kRounds; ++round) {
      Buffer<int> out(kExtent);
      executable.run(out);
      const int added = out(0) % 1000, sum = out(0) / 1000, input = sum - added;
      right = right && added >= 1 && added <= kThreads && input >= 1 && input <= kThreads;
      for (int i = 0; i < kExtent; ++i) right = right && out(i) == out(0);
    }
    --running;
    return right;
  });
  return wrong;
}

/// Runs of one Executable, each with an input, a scalar and a scalar that its shapes depend on of its
/// own, while another thread sets others: far(x) = 3 * near(x + 1) + near(x - 1), near(x) = u(x) * c +
/// d, in two kernels, over boxes of several sizes. Returns how many threads were given a wrong value.
int run_with_own_inputs(const Target& target) {
  const Var x("x");
  ImageParam u(Int(32), 1, "u");
  Param<int> c("c", -1), d("d", -1), width("width", 0);
  Func near("near"), far("far");
  near(x) = u(x) * c + d;
  far(x) = 3 * near(x + 1) + near(x - 1) + select(x < width, 0, 0);
  Executable executable = compile_in_two(near, far, target);
  std::atomic<int> running{kThreads - 1};
  return wrong_threads([&](int t) {
    if (t == kThreads - 1) {
      Buffer<int> wrong(kExtent + 2);
      wrong.fill(-1000);
      for (int round = 0; running > 0; ++round) {
        u.set(wrong);
        c.set(round);
        d.set(round);
        width.set(round);
        if (round % 2 == 0) u.reset();
      }
      return true;
    }
    bool right = true;
    for (int round = 0; round < 20 * kRounds; ++round) {
      const int extent = kExtent - (round + t) % 5, k = 100 * t + round;
      Buffer<int> input(extent + 2), out(extent);
      for (int i = 0; i < extent + 2; ++i) input(i) = i - 1 + k;
      const RunOptions options{.inputs = {{u, input.translated({-1})}},
                               .params = {{c, k}, {d, t}, {width, round % 3}}};
      if (round % 2 == 0) {
        executable.run(out, options);
      } else {
        far.realize(out, target, options);
      }
      for (int i = 0; i < extent; ++i) {
        right = right && out(i) == 3 * ((i + 1 + k) * k + t) + (i - 1 + k) * k + t;
      }
    }
    --running;
    return right;
  });
}

TEST(Concurrency, OfRunsWithInputsOfTheirOwnOnTheHost) {
  EXPECT_EQ(run_with_own_inputs(Target::host()), 0);
}

TEST(Concurrency, OfRunsWithInputsOfTheirOwnOnTheEmulator) {
  EXPECT_EQ(run_with_own_inputs(Target::gpu_emulator()), 0);
}

TEST(Concurrency, OfSettingInputsWhileOthersRunOnTheHost) {
  EXPECT_EQ(set_while_others_run(Target::host()), 0);
}

TEST(Concurrency, OfSettingInputsWhileOthersRunOnTheEmulator) {
  EXPECT_EQ(set_while_others_run(Target::gpu_emulator()), 0);
}

TEST(Concurrency, OfCompilationsAndRunsOnTheHost) {
  EXPECT_EQ(work(Target::host(), [](const Func&) {}), 0);
}

TEST(Concurrency, OfCompilationsAndRunsOnTheEmulator) {
  EXPECT_EQ(work(Target::gpu_emulator(), [](const Func&) {}), 0);
}

TEST(Concurrency, OfAlgorithmsThatReadOneBuffer) {
  Buffer<int> table(kExtent);
  for (int i = 0; i < kExtent; ++i) table(i) = i;
  const Buffer<int>& read = table;
  EXPECT_EQ(wrong_threads([&](int t) {
              for (int round = 0; round < kRounds; ++round) {
                const Var x("x");
                const ImageParam first = read.input();
                if (read.input().data() != first.data()) return false;
                Func f("f");
                f(x) = read(x) * t + read.cropped({{1, kExtent - 1}})(x + 1);
                Buffer<int> out(kExtent - 1);
                f.realize(out, Target::host());
                for (int i = 0; i < kExtent - 1; ++i) {
                  if (out(i) != i * t + i + 1) return false;
                }
              }
              return true;
            }),
            0);
}

/// On the stand-in driver, which a process loads once.
class ConcurrencyOnCuda : public test::FakeGpuTest {};

TEST_F(ConcurrencyOnCuda, OfCompilationsAndRuns) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [] {
    setenv("MICA_LIBCUDA", test::fake_cuda_path().c_str(), 1);
    test::EmulatedLaunches launches;
    const int wrong = work({Backend::Cuda, 0}, [&](const Func& output) { launches.add({output}); });
    const FakeCudaLive live = test::FakeCuda().live();
    if (live.modules + live.links + live.events > 0)
      std::fprintf(stderr, "modules or events are left\n");
    std::exit(wrong + static_cast<int>(live.modules + live.links + live.events));
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mica
