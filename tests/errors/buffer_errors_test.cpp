// Misused buffers, schedule files and settings: each names what disagrees and the fix.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "dsl/schedule/schedule.h"
#include "runtime/buffer/buffer.h"
#include "runtime/cpu/cpu_device.h"
#include "tests/passes/lowered.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

namespace fs = std::filesystem;
using test::fails_with;

/// Has no line of the user's: buffers are data.
#define EXPECT_REFUSED(expression, ...) \
  EXPECT_TRUE(fails_with([&] { (void)(expression); }, {__VA_ARGS__}))

const std::vector<BufferDim> kFour = {{0, 4, 1}};

TEST(BufferErrors, AddressesOfNothing) {
  EXPECT_REFUSED(AnyBuffer::wrap_host(Float(32), nullptr, kFour),
                 "a null pointer cannot be wrapped as a buffer of f32 [0..3]",
                 "pass the address of the element at the mins");
  EXPECT_REFUSED(AnyBuffer::wrap_device(Float(32), 0, kFour, Target{Backend::Cuda, 0}),
                 "device address 0 cannot be wrapped as a buffer of f32 [0..3]",
                 "pass the address of the element at the mins");
}
TEST(BufferErrors, HalosOfAnotherNumberOrSign) {
  EXPECT_REFUSED(Buffer<float>::with_halo({8, 8}, {1}),
                 "given 2 extents and 1 halo:", "give one halo for each dimension");
  EXPECT_REFUSED(Buffer<float>::with_halo({8, 8}, {1, -2}), "the halo of dimension 1 is -2",
                 "it must be from 0 to 2^30");
  EXPECT_REFUSED(Buffer<float>::with_halo({8, 8}, {1, INT64_MAX}), "the halo of dimension 1 is 9223",
                 "it must be from 0 to 2^30");
  EXPECT_REFUSED(Buffer<float>::with_halo({INT64_MAX, 8}, {1, 1}), "none may exceed 2^48");
  EXPECT_REFUSED(Buffer<float>::with_halo({INT64_MIN, 8}, {1, 1}), "it must be 0 or more");
  EXPECT_REFUSED(AnyBuffer::with_halo(Int(0), {8}, {1}), "a buffer cannot hold i0");
}
TEST(BufferErrors, CoordinatesAtTheEndsOfTheNumbers) {
  const Buffer<float> a(std::vector<BufferDim>{{-5, 10, 1}});
  EXPECT_REFUSED(a.cropped({{INT64_MAX, 0}}), "sticks out of f32 [-5..4]");
  EXPECT_REFUSED(a.cropped({{INT64_MAX, 1}}), "sticks out");
  EXPECT_REFUSED(a.cropped({{INT64_MIN, 1}}), "sticks out");
  EXPECT_REFUSED(a.cropped({{0, INT64_MAX}}), "sticks out");
  EXPECT_REFUSED(a.cropped({{0, INT64_MIN}}), "sticks out");
  EXPECT_REFUSED(a.translated({INT64_MIN}), "none may exceed 2^48");
  EXPECT_REFUSED(a.translated({INT64_MAX}), "none may exceed 2^48");
  EXPECT_REFUSED(Buffer<float>(std::vector<BufferDim>{{0, 2, INT64_MIN}}), "none may exceed 2^48");
  EXPECT_REFUSED(Buffer<float>(std::vector<BufferDim>{{INT64_MIN, 2, 1}}), "none may exceed 2^48");
  EXPECT_REFUSED(Buffer<float>(INT64_MIN), "it must be 0 or more");
#ifndef NDEBUG
  EXPECT_REFUSED(a(INT64_MAX), "coordinate 0 is 9223372036854775807, outside -5..4");
  EXPECT_REFUSED(a(INT64_MIN), "coordinate 0 is -9223372036854775808, outside -5..4");
#endif
}
TEST(BufferErrors, DimensionsThatAreNotThere) {
  const Buffer<float> two(4, 4);
  EXPECT_REFUSED(two.extent(2), "dimension 2 was asked of a buffer that has 2, numbered from 0");
  EXPECT_REFUSED(two.min(-1), "dimension -1 was asked of a buffer that has 2");
}
TEST(BufferErrors, MinsOfAnotherNumber) {
  EXPECT_REFUSED(Buffer<float>(4, 4).translated({1}),
                 "translated was given 1 mins for f32 [0..3] x [0..3]", "give one for each dimension");
}
TEST(BufferErrors, IndicesBeyondWhatIsAddressed) {
  const std::int64_t far = (std::int64_t{1} << 48) + 1;
  const std::string number = std::to_string(far);
  EXPECT_REFUSED(Buffer<float>(4).translated({far}), "dimension 0 of a buffer has min " + number,
                 "none may exceed 2^48");
  EXPECT_REFUSED(Buffer<float>({far}), "extent " + number, "none may exceed 2^48");
  EXPECT_REFUSED(Buffer<float>(std::vector<BufferDim>{{0, 2, far}}), "stride " + number,
                 "none may exceed 2^48");
}

TEST(SettingErrors, ANumberOfThreadsThatIsNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the threads of a process are made once
  const auto refused = [](const char* text) {
    setenv("MICA_NUM_THREADS", text, 1);
    const Var x("x");
    Func f("f");
    f(x) = x;
    f.parallel(x);
    Buffer<int> out(64);
    const bool right = static_cast<bool>(
        fails_with([&] { f.realize(out, Target::host()); },
                   {std::string("MICA_NUM_THREADS is \"") + text + "\"", "from 1 to 4096"}));
    std::_Exit(right ? 0 : 1);
  };
  for (const char* text : {"0", "-1", "4097", "two", "2 "}) {
    EXPECT_EXIT(refused(text), testing::ExitedWithCode(0), "") << text;
  }
}

/// With one thread loops run where they are called from, whoever else runs some.
void run_in_the_caller() {
  setenv("MICA_NUM_THREADS", "1", 1);
  struct Seen {
    std::thread::id caller;
    bool right = true;
  };
  const auto body = [](std::int64_t, void* closure) {
    auto& seen = *static_cast<Seen*>(closure);
    seen.right = seen.right && std::this_thread::get_id() == seen.caller;
    std::this_thread::sleep_for(std::chrono::microseconds(100));  // others come meanwhile
  };
  std::atomic<bool> right = true;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        Seen seen{std::this_thread::get_id()};
        for (int n = 0; n < 10; ++n) mica_parallel_for(body, 0, 16, &seen, nullptr);
        if (!seen.right) right = false;
      });
    }
  }
  std::_Exit(right ? 0 : 1);
}

TEST(SettingErrors, OneThreadIsTheCallers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the threads of a process are made once
  EXPECT_EXIT(run_in_the_caller(), testing::ExitedWithCode(0), "");
}

TEST(SettingErrors, AnEmulatorsSeedThatIsNone) {
  const Var x("x");
  Func f("f");
  f(x) = x;
  f.gpu_tile(x, 8);
  Buffer<int> out(8);
  Executable executable = compile(f, Target::gpu_emulator());
  for (const char* text : {"seed", "-1", "1.5", "18446744073709551616", "7 "}) {
    setenv("MICA_EMULATOR_SEED", text, 1);
    EXPECT_REFUSED((executable.run(out), 0), std::string("MICA_EMULATOR_SEED is \"") + text + "\"",
                   "from 0 to 2^64 - 1");
  }
  unsetenv("MICA_EMULATOR_SEED");
  executable.run(out);
  EXPECT_EQ(out(7), 7);
}

/// "next" of one dimension, under directives that handles cannot write but data can hold.
class ScheduleFiles : public ::testing::Test {
 protected:
  ScheduleFiles() {
    const Var x("x");
    next_(x) = u_(x);
  }
  void lower_with(const decltype(Directive::op)& op) {
    next_.apply(Schedule{{{"next", 0, {{op, {}}}}}});
    (void)test::lowered(next_, Backend::Cuda);
  }
  ImageParam u_{Float(32), 1, "u"};
  Func next_{"next"};
};

TEST_F(ScheduleFiles, HoldATileWithAnotherNumberOfSizes) {
  EXPECT_REFUSED((lower_with(directive::GpuTile{{"x"}, {8, 8}, TailStrategy::Auto}), 0),
                 "1 Var with 2 sizes", "gpu_tile takes 1 to 3 Vars and as many sizes");
}
TEST_F(ScheduleFiles, HoldALoopMarkedAsMarched) {
  EXPECT_REFUSED((lower_with(directive::MarkLoop{"x", LoopKind::March}), 0),
                 "a loop is marched by march(x), which says how many planes a block walks");
}
TEST_F(ScheduleFiles, NameTheFileInWhatIsWrongWithItsText) {
  const fs::path path =
      fs::temp_directory_path() / ("mica-schedule-" + std::to_string(getpid()) + ".json");
  std::ofstream(path) << "{";
  EXPECT_REFUSED(load_schedule(path), path.string() + ": ", "the text is no JSON");
  fs::remove(path);
  EXPECT_REFUSED(load_schedule(path), "cannot read a schedule from " + path.string());
  EXPECT_REFUSED((save_schedule(next_.schedule(), path / "below"), 0), "cannot write the schedule to ");
  EXPECT_REFUSED(load_schedule(fs::temp_directory_path()), "cannot read a schedule from ", "a folder");
  EXPECT_REFUSED((save_schedule(next_.schedule(), "/dev/full"), 0), "cannot write the schedule to ");
}
TEST_F(ScheduleFiles, CannotHoldNamesThatAreNoText) {
  const Var x("x");
  Func bad("bad\xff");
  bad(x) = x;
  bad.unroll(x, 2);
  EXPECT_REFUSED(to_json(bad.schedule()), "a name is not UTF-8");
}

}  // namespace
}  // namespace mica
