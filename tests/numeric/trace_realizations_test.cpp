// Func::trace_realizations: lines around the time for which a Func has storage.
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/compile.h"
#include "dsl/func/func.h"
#include "fuzz/random_data.h"
#include "runtime/run/run_options.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

const Var x("x"), y("y"), z("z");
using Lines = std::vector<std::string>;

/// The lines of `f` over [0, width) x [0, height).
Lines lines_of(Func& f, int width, int height, const Target& target = Target::host()) {
  Lines lines;
  Buffer<float> out(width, height);
  compile(f, target).run(out, {.print = [&](std::string_view line) { lines.emplace_back(line); }});
  return lines;
}
std::size_t count(const Lines& lines, const std::string& line) {
  return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), line));
}

/// f reads three rows of g, which reads nothing.
struct Rows {
  Func g{"g"}, f{"f"};
  Rows() {
    g(x, y) = cast<float>(x * y);
    f(x, y) = g(x, y - 1) + g(x, y) + g(x, y + 1);
    f.unroll(x, 1);  // no loop runs on several threads
    g.trace_realizations();
  }
};

TEST(TraceRealizations, AnArrayAtTheRootIsThereOnceARun) {
  Rows r;
  r.g.compute_root();
  r.f.trace_realizations();
  EXPECT_EQ(lines_of(r.f, 4, 8),
            (Lines{"begin realization g {{0, 4}, {-1, 10}}", "begin realization f {{0, 4}, {0, 8}}",
                   "end realization f {{0, 4}, {0, 8}}", "end realization g {{0, 4}, {-1, 10}}"}));
}

TEST(TraceRealizations, OfALoopThereIsOneInEachIteration) {
  Rows r;
  r.g.compute_at(r.f, y);
  Lines expected;
  for (int row = 0; row < 3; ++row) {
    const std::string box = " realization g {{0, 4}, {" + std::to_string(row - 1) + ", 3}}";
    expected.push_back("begin" + box);
    expected.push_back("end" + box);
  }
  EXPECT_EQ(lines_of(r.f, 4, 3), expected);
}

TEST(TraceRealizations, StoresStandBetweenItsLines) {
  Rows r;
  r.g.compute_at(r.f, y).trace_stores();
  r.f.trace_stores();
  EXPECT_EQ(lines_of(r.f, 1, 1),
            (Lines{"begin realization g {{0, 1}, {-1, 3}}", "store g(0, -1) = 0", "store g(0, 0) = 0",
                   "store g(0, 1) = 0", "store f(0, 0) = 0", "end realization g {{0, 1}, {-1, 3}}"}));
}

TEST(TraceRealizations, AWindowThatSlidesIsOneRealization) {
  Rows r;
  r.g.compute_at(r.f, y).store_root().trace_stores();
  const Lines lines = lines_of(r.f, 4, 8);
  EXPECT_EQ(lines.size(), 2U + 4U * 10U);  // each point is computed once
  EXPECT_EQ(lines.front(), "begin realization g {{0, 4}, {-1, 10}}");
  EXPECT_EQ(lines.back(), "end realization g {{0, 4}, {-1, 10}}");
  Rows strips;
  strips.f.split(y, "yo", "yi", 4);
  strips.g.compute_at(strips.f, "yi").store_at(strips.f, "yo");
  EXPECT_EQ(lines_of(strips.f, 4, 8),
            (Lines{"begin realization g {{0, 4}, {-1, 6}}", "end realization g {{0, 4}, {-1, 6}}",
                   "begin realization g {{0, 4}, {3, 6}}", "end realization g {{0, 4}, {3, 6}}"}));
}

TEST(TraceRealizations, ATupleHasOneLineForAllItsElements) {
  Func g("g"), f("f");
  g(x, y) = Tuple(cast<float>(x), y);
  f(x, y) = cast<float>(g(x, y)[1]);
  g.compute_root().trace_realizations();
  EXPECT_EQ(lines_of(f, 2, 3), (Lines{"begin realization g {{0, 2}, {0, 3}}",  //
                                      "end realization g {{0, 2}, {0, 3}}"}));
  g.compute_at(f, y);
  EXPECT_EQ(count(lines_of(f, 2, 3), "begin realization g {{0, 2}, {1, 1}}"), 1U);
}

TEST(TraceRealizations, UpdatesAreOfTheSameRealization) {
  Rows r;
  r.g(x, y) += 1.0F;
  r.g.compute_root();
  EXPECT_EQ(lines_of(r.f, 4, 8),
            (Lines{"begin realization g {{0, 4}, {-1, 10}}", "end realization g {{0, 4}, {-1, 10}}"}));
}

TEST(TraceRealizations, ABoxWithoutPointsHasNone) {
  Rows r;
  r.g.compute_root();
  EXPECT_EQ(lines_of(r.f, 0, 8), Lines{});
}

TEST(TraceRealizations, TheLinesAreThoseOfTheScheduleAtHand) {
  Rows r;
  r.g.compute_root();
  Buffer<float> out(4, 2);
  Lines lines;
  const RunOptions options{.print = [&](std::string_view line) { lines.emplace_back(line); }};
  r.f.realize(out, Target::host(), options);
  EXPECT_EQ(lines.size(), 2U);
  r.f.trace_realizations();
  r.f.realize(out, Target::host(), options);
  EXPECT_EQ(lines.size(), 2U + 4U);
}

TEST(TraceRealizations, TheHostPrintsTheLinesOfAGpusArrays) {
  Rows r;
  r.f.clear_schedule().gpu_tile(x, y, 4, 2);
  r.g.compute_root().gpu_tile(x, y, 4, 2);
  EXPECT_EQ(lines_of(r.f, 4, 8, Target::gpu_emulator()),
            (Lines{"begin realization g {{0, 4}, {-1, 10}}", "end realization g {{0, 4}, {-1, 10}}"}));
}

TEST(TraceRealizations, WhatAKernelKeepsIsRefusedAndTracedOnTheHost) {
  Rows r;
  r.f.clear_schedule().gpu_tile(x, y, 4, 2);
  r.g.compute_at(r.f, "x.block");
  const int line = __LINE__ + 1;
  r.g.trace_realizations();
  EXPECT_TRUE(fails_with(
      [&] { compile(r.f, Target::gpu_emulator()); },
      {"trace_realizations: g is kept inside a kernel", "Target::host()", "g.compute_root()"}, line));
  const Lines lines = lines_of(r.f, 4, 4);
  EXPECT_EQ(count(lines, "begin realization g {{0, 4}, {-1, 4}}"), 1U);
  EXPECT_EQ(count(lines, "end realization g {{0, 4}, {1, 4}}"), 1U);
  EXPECT_EQ(lines.size(), 4U);
}

// Blocks at the edge compute no point of what is traced that is not needed.
TEST(TraceRealizations, BlocksAtTheEdgeHaveTheirLinesToo) {
  for (const Target& target : {Target::host(), Target::gpu_emulator()}) {
    Func g("g"), f("f");
    g(x, y) = cast<float>(x * y);
    f(x, y) = g(x, y - 1) + g(x, y) + g(x, y + 1);
    f.gpu_tile(x, y, 4, 2);
    g.compute_at(f, "x.block").trace_stores();
    if (!target.is_gpu()) g.trace_realizations();
    Lines lines = lines_of(f, 6, 3, target);
    const auto is_store = [](const std::string& line) { return line.starts_with("store g("); };
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(), is_store), 6 * (4 + 3));
    std::erase_if(lines, is_store);
    EXPECT_EQ(lines.size(), target.is_gpu() ? 0U : 2U * 4U);  // four blocks, side by side
  }
}

TEST(TraceRealizations, AnInlinedFuncHasNone) {
  Rows r;
  const int line = __LINE__ + 1;
  r.g.trace_realizations();
  EXPECT_TRUE(fails_with([&] { compile(r.f, Target::host()); },
                         {"trace_realizations: g is inlined", "g.compute_root()"}, line));
}

TEST(TraceRealizations, NoBitDependsOnThem) {
  ImageParam u(Float(32), 2, "u");
  const Box box{{-2, 37}, {1, 9}}, around{{-5, 43}, {-2, 15}};
  const auto blurred = [&](const std::function<void(Func&, Func&)>& schedule) {
    Func g("g"), f("f");
    g(x, y) = u(x - 1, y) * 0.3F + u(x, y) * 0.7F;
    f(x, y) = g(x, y - 1) * 0.2F + g(x, y + 1) * 1.1F + g(x + 1, y);
    g.trace_realizations();
    schedule(g, f);
    return f;
  };
  const auto memory = bind_random(u, around, 5);
  Func plain = blurred([](Func& g, Func&) { g.compute_root(); });
  const std::vector<AnyBuffer> expected = expected_values({plain}, box);
  const auto check = [&](const std::function<void(Func&, Func&)>& schedule) {
    testing::internal::CaptureStderr();
    EXPECT_TRUE(run_matches(expected, {blurred(schedule)}, box, Target::host()));
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
  };
  check([](Func& g, Func&) { g.compute_root(); });
  check([](Func& g, Func& f) {
    f.tile("x", "y", "xo", "yo", "xi", "yi", 8, 4).parallel("yo");
    g.compute_at(f, "xo").vectorize(x, 4);
  });
  check([](Func& g, Func& f) { g.compute_at(f, y).store_root().vectorize(x, 8); });
}

}  // namespace
}  // namespace mica::test
