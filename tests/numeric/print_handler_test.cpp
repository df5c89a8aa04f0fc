// RunOptions::print: the user's own function that takes the lines of a run.
#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/expr/print.h"
#include "dsl/func/func.h"
#include "runtime/run/run_options.h"
#include "tests/support/check_targets.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");
using Lines = std::vector<std::string>;

/// A Func whose points print themselves.
struct Printing {
  Func f{"f"};
  Printing() { f(x, y) = print(cast<float>(x + 10 * y), "at", x, y); }
};
Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}
std::function<void(std::string_view)> into(Lines& lines) {
  return [&lines](std::string_view line) { lines.emplace_back(line); };
}

TEST(PrintHandler, TakesTheLinesInsteadOfStderr) {
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Printing p;
    if (target.is_gpu()) p.f.gpu_tile(x, y, 4, 2);
    Executable executable = compile(p.f, target);
    Buffer<float> out(2, 2);
    Lines lines;
    testing::internal::CaptureStderr();
    executable.run(out, {.print = into(lines)});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(sorted(lines), (Lines{"0 at 0 0", "1 at 1 0", "10 at 0 1", "11 at 1 1"}));
  }
}

TEST(PrintHandler, BelongsToOneRun) {
  Printing p;
  Executable executable = compile(p.f, Target::host());
  Buffer<float> out(1, 1);
  Lines first, second;
  executable.run(out, {.print = into(first)});
  executable.run(out, {.print = into(second)});
  testing::internal::CaptureStderr();
  executable.run(out);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "0 at 0 0\n");
  EXPECT_EQ(first, Lines{"0 at 0 0"});
  EXPECT_EQ(second, Lines{"0 at 0 0"});
}

TEST(PrintHandler, IsPassedThroughRealize) {
  Printing p;
  Lines lines;
  Buffer<float> out(1, 1);
  p.f.realize(out, Target::host(), {.print = into(lines)});
  EXPECT_EQ(lines, Lines{"0 at 0 0"});
}

TEST(PrintHandler, CallsOfARunNeverOverlap) {
  Printing p;
  p.f.parallel(y);
  Executable executable = compile(p.f, Target::host());
  Buffer<float> out(8, 200);
  std::atomic<int> inside = 0;
  std::atomic<bool> overlap = false;
  Lines lines;
  const auto handler = [&](std::string_view line) {
    if (++inside != 1) overlap = true;
    lines.emplace_back(line);
    --inside;
  };
  executable.run(out, {.print = handler});
  EXPECT_FALSE(overlap);
  EXPECT_EQ(lines.size(), 8U * 200U);
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), 8U * 200U);
}

TEST(PrintHandler, ThreadsThatShareAnExecutableHaveTheirOwn) {
  Printing p;
  Executable executable = compile(p.f, Target::host());
  std::vector<Lines> lines(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < lines.size(); ++t) {
    threads.emplace_back([&, t] {
      Buffer<float> out = Buffer<float>(5, 40).translated({static_cast<std::int64_t>(t), 0});
      executable.run(out, {.print = into(lines[t])});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < lines.size(); ++t) {
    EXPECT_EQ(lines[t].size(), 5U * 40U);
    EXPECT_TRUE(std::count(lines[t].begin(), lines[t].end(),
                           std::to_string(t) + " at " + std::to_string(t) + " 0") == 1);
  }
}

TEST(PrintHandler, ItsExceptionIsTheRunsAndNoLineFollows) {
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Printing p;
    if (target.is_gpu()) {
      p.f.gpu_tile(x, y, 4, 2);
    } else {
      p.f.parallel(y);
    }
    Executable executable = compile(p.f, target);
    Buffer<float> out(6, 50);
    out.fill(-1.0F);
    int calls = 0;
    const auto handler = [&](std::string_view) {
      if (++calls == 3) throw std::runtime_error("enough");
    };
    try {
      executable.run(out, {.print = handler});
      ADD_FAILURE() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "enough");
    }
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(out(5, 49), 495.0F);  // values are computed to the end
    Lines lines;
    executable.run(out, {.print = into(lines)});
    EXPECT_EQ(lines.size(), 6U * 50U);
  }
}

TEST(PrintHandler, MayRunOtherPipelines) {
  Printing outer, inner;
  outer.f.parallel(y);
  inner.f.parallel(y);
  Executable run_outer = compile(outer.f, Target::host()), run_inner = compile(inner.f, Target::host());
  Buffer<float> out(2, 30), other(2, 30);
  std::size_t lines = 0, own = 0;
  const auto handler = [&](std::string_view) {
    ++lines;
    run_inner.run(other, {.print = [&](std::string_view) { ++own; }});
  };
  run_outer.run(out, {.print = handler});
  EXPECT_EQ(lines, 60U);
  EXPECT_EQ(own, 60U * 60U);
}

// A thread of a block that meets has a small stack of its own, which the handler does not run on.
TEST(PrintHandler, OfEmulatedThreadsThatMeetMayCompile) {
  ImageParam u(Float(32), 1, "u");
  Buffer<float> in(66), out(64);
  in.fill(1.5F);
  u.set(in);
  Func f("f");
  f(x) = print(u(x) + u(x + 2), "at", x);
  f.gpu_tile(x, 32);
  f.stage(u, MemoryType::Shared);
  std::size_t lines = 0, own = 0;
  const auto handler = [&](std::string_view) {
    ++lines;
    if (lines % 32 != 1) return;
    Printing inner;
    Buffer<float> other(2, 30);
    compile(inner.f, Target::host()).run(other, {.print = [&](std::string_view) { ++own; }});
  };
  compile(f, Target::gpu_emulator()).run(out, {.print = handler});
  EXPECT_EQ(lines, 64U);
  EXPECT_EQ(own, 2U * 60U);
  EXPECT_EQ(out(63), 3.0F);
}

}  // namespace
}  // namespace mica::test
