// Memory that runs out inside a run is a DeviceError, and the Executable works again after.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "runtime/cpu/cpu_device.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsWork = false;  // sanitizers reserve more addresses than a limit may leave
#else
constexpr bool kLimitsWork = true;
#endif

const Var x("x"), y("y"), z("z"), xo("xo"), yo("yo");

/// Bytes of addresses that the process has.
std::size_t addresses_in_use() {
  unsigned long long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%llu", &pages) != 1) ADD_FAILURE() << "no /proc/self/statm";
  if (file != nullptr) std::fclose(file);
  return static_cast<std::size_t>(pages) * 4096;
}

/// For its lifetime there are about `bytes` of memory left for the process: it may have no more
/// addresses, and what is free among those that it has is taken.
class Limit {
 public:
  explicit Limit(std::size_t bytes) {
    // What others have given back counts as in use no longer.
    EXPECT_THROW((void)cpu_device()->allocate(std::size_t{1} << 60, {}), DeviceError);
    getrlimit(RLIMIT_AS, &before_);
    rlimit now = before_;
    now.rlim_cur = addresses_in_use() + bytes;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &now), 0);
    std::size_t spare = bytes;
    for (std::size_t size = std::size_t{1} << 20; size >= 64; size /= 4) {
      while (void* block = std::malloc(size)) taken_ = new (block) Taken{taken_, size};
    }
    while (taken_ != nullptr && spare > 0) {
      spare -= std::min(spare, taken_->size);
      give_back();
    }
  }
  ~Limit() {
    while (taken_ != nullptr) give_back();
    setrlimit(RLIMIT_AS, &before_);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  /// At the start of each block taken.
  struct Taken {
    Taken* next;
    std::size_t size;
  };
  void give_back() {
    Taken* const next = taken_->next;
    std::free(taken_);
    taken_ = next;
  }

  rlimit before_{};
  Taken* taken_ = nullptr;
};

/// The message of the DeviceError that `action` throws; none: nothing is thrown. Other exceptions pass.
std::optional<std::string> device_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.code(), ENOMEM) << error.what();
    return error.what();
  }
  return std::nullopt;
}

TEST(NoMemory, OfAScratchBlockIsANullAndItsSize) {
  for (const std::size_t bytes : {std::size_t{1} << 50, std::size_t{1} << 62, SIZE_MAX / 2}) {
    std::int64_t failed = 0;
    EXPECT_EQ(mica_allocate(bytes, &failed), nullptr);
    EXPECT_GE(failed, std::int64_t{1} << 50);
    EXPECT_EQ(mica_allocate(bytes), nullptr);
  }
  std::int64_t failed = 0;
  EXPECT_EQ(mica_allocate(static_cast<std::size_t>(kTooMany + 3'000'000'000), &failed), nullptr);
  EXPECT_EQ(failed - kTooMany, 3'000'000'000);
  failed = 0;
  void* block = mica_allocate(1000, &failed);
  EXPECT_NE(block, nullptr);
  EXPECT_EQ(failed, 0);
  mica_free(block);
}

TEST(NoMemory, LeavesIterationsOut) {
  struct Counted {
    std::int64_t failed = 0;
    int calls = 0;
  } counted;
  counted.failed = 1;
  const auto count = [](std::int64_t, void* closure) { ++static_cast<Counted*>(closure)->calls; };
  mica_parallel_for(count, 0, 1000, &counted, &counted.failed);
  EXPECT_EQ(counted.calls, 0);
}

/// g is computed in tiles of f of more elements than code addresses, in serial or parallel loops.
void check_vast_tiles(const std::function<void(Func& f, Func& g)>& schedule) {
  Func f("f"), g("g");
  g(x, y) = cast<double>(x) * 2.0 + cast<double>(y);
  f(x, y) = g(x - 1, y) + g(x + 1, y + 1);
  f.tile("x", "y", "xo", "yo", "xi", "yi", 1 << 28, 1 << 20);
  schedule(f, g);
  Executable executable = compile(f, Target::host());
  Buffer<double> out(100, 10);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(test::fails_with([&] { executable.run(out); },
                                 {"kernel f needs 2", "elements at once", "more than 2147483647",
                                  "compute it at an inner loop"}));
  }
}

TEST(NoMemory, AVastTileIsRefused) {
  check_vast_tiles([](Func& f, Func& g) { g.compute_at(f, "xo"); });
  check_vast_tiles([](Func& f, Func& g) {
    f.parallel("yo");
    g.compute_at(f, "xo");
  });
  check_vast_tiles([](Func& f, Func& g) {
    f.parallel("yo").parallel("xo");
    g.compute_at(f, "xo").vectorize(x, 4);
  });
}

/// f over `extent` points a row, with g's rows in memory of the run's own.
class Rows {
 public:
  explicit Rows(bool parallel) {
    g_(x, y) = u_(x, y) * 2.0F;
    h_(x, y) = g_(x - 1, y) + 1.0F;
    f_(x, y) = g_(x - 1, y) + g_(x + 1, y) + h_(x, y);
    g_.compute_at(f_, "y");
    h_.compute_at(f_, "y");
    if (parallel) f_.parallel(y);
    executable_ = compile(f_, Target::host());
  }
  /// The run of a size that memory is there for, with its values.
  void check(std::int64_t extent) {
    Buffer<float> in(std::vector<BufferDim>{{-2, extent + 4, 1}, {0, 2, extent + 4}}), out(extent, 2);
    in.fill(1.5F);
    u_.set(in);
    executable_.run(out);
    EXPECT_EQ(out(0, 0), 10.0F);
    EXPECT_EQ(out(extent - 1, 1), 10.0F);
  }
  std::optional<std::string> message_within(std::int64_t extent, std::size_t bytes) {
    Buffer<float> in(std::vector<BufferDim>{{-2, extent + 4, 1}, {0, 2, extent + 4}}), out(extent, 2);
    in.fill(1.5F);
    out.fill(0.0F);
    u_.set(in);
    const Limit limit(bytes);
    return device_error([&] { executable_.run(out); });
  }

 private:
  ImageParam u_{Float(32), 2, "u"};
  Func f_{"f"}, g_{"g"}, h_{"h"};
  Executable executable_;
};

TEST(NoMemory, TheSameExecutableWorksAfterIt) {
  if (!kLimitsWork) GTEST_SKIP() << "no limits on addresses under this sanitizer";
  for (const bool parallel : {false, true}) {
    Rows rows(parallel);
    rows.check(100);
    constexpr std::int64_t kLarge = 9 << 20;  // a row is larger than what malloc takes from its heap
    const auto message = rows.message_within(kLarge, std::size_t{8} << 20);
    ASSERT_TRUE(message.has_value());
    EXPECT_NE(message->find("no memory for the 3774"), std::string::npos) << *message;
    rows.check(100);
    rows.check(kLarge);
  }
}

/// Under limits of all sizes a run ends with right values or a DeviceError.
void check_limits(const Func& output, const Target& target,
                  const std::function<bool(const Buffer<int>&)>& right, std::int64_t extent) {
  if (!kLimitsWork) GTEST_SKIP() << "no limits on addresses under this sanitizer";
  Executable executable = compile(output, target);
  {
    Buffer<int> small(8, 8);
    executable.run(small);
  }
  int failed = 0, done = 0;
  for (const std::size_t kilobytes : {128, 256, 512, 1024, 2048, 4096, 8192, 16384, 262144}) {
    Buffer<int> out(extent, extent);
    out.fill(0);
    std::optional<std::string> message;
    {
      const Limit limit(kilobytes << 10);
      message = device_error([&] { executable.run(out); });
    }
    if (message) {
      ++failed;
    } else {
      ++done;
      EXPECT_TRUE(right(out)) << kilobytes;
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(done, 0);
  Buffer<int> out(extent, extent);
  executable.run(out);
  EXPECT_TRUE(right(out));
}

TEST(NoMemory, OfTheEmulatorsNotesIsADeviceError) {
  Func f("f"), g("g");
  g(x, y) = x + 3 * y;
  f(x, y) = g(x, y) + g(x + 1, y);
  f.gpu_tile(x, y, 16, 4).stage(g, MemoryType::Shared);
  constexpr std::int64_t kExtent = 700;
  check_limits(
      f, Target::gpu_emulator(),
      [](const Buffer<int>& out) {
        bool right = true;
        out.for_each([&](const int& value, const auto& at) {
          right = right && value == 2 * at[0] + 1 + 6 * at[1];
        });
        return right;
      },
      kExtent);
}

TEST(NoMemory, OfATemporaryIsADeviceError) {
  Func f("f"), g("g");
  g(x, y) = x + 3 * y;
  f(x, y) = g(x, y) + g(x + 1, y);
  g.compute_root();
  f.parallel(y);
  check_limits(
      f, Target::host(),
      [](const Buffer<int>& out) {
        bool right = true;
        out.for_each([&](const int& value, const auto& at) {
          right = right && value == 2 * at[0] + 1 + 6 * at[1];
        });
        return right;
      },
      2000);
}

}  // namespace
}  // namespace mica
