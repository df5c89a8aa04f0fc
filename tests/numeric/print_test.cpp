// print and print_when: the lines that programs print, and values that stay the same bits.
#include "dsl/expr/print.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fuzz/random_data.h"
#include "tests/support/check_targets.h"
#include "tests/support/expect_error.h"

namespace mica::test {
namespace {

const Var x("x"), y("y");
using Lines = std::vector<std::string>;

/// What `run` prints to stderr, line by line.
Lines printed(const std::function<void()>& run) {
  testing::internal::CaptureStderr();
  run();
  const std::string text = testing::internal::GetCapturedStderr();
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}
/// The lines of `f` over [0, width) x [0, height), where it is computed for `target`.
Lines lines_of(Func& f, int width, int height, const Target& target = Target::host()) {
  Executable executable = compile(f, target);
  Buffer<float> out(width, height);
  return printed([&] { executable.run(out); });
}
Lines lines_of(Func& f, int width) {
  Executable executable = compile(f, Target::host());
  Buffer<float> out(width);
  return printed([&] { executable.run(out); });
}
Lines sorted(Lines lines) {
  std::sort(lines.begin(), lines.end());
  return lines;
}
Lines of_points(int width, int height) {
  Lines lines;
  for (int j = 0; j < height; ++j) {
    for (int i = 0; i < width; ++i) {
      lines.push_back(std::to_string(i + 10 * j) + " at " + std::to_string(i) + " " + std::to_string(j));
    }
  }
  return lines;
}

TEST(Print, ALineHasItsPartsInOrder) {
  Func f("f");
  f(x) = print(0.5F * cast<float>(x), "is half of", x, "(100 % sure)", x == 1);
  EXPECT_EQ(lines_of(f, 2), (Lines{"0 is half of 0 (100 % sure) 0", "0.5 is half of 1 (100 % sure) 1"}));
}

TEST(Print, EveryTypeHasAllItsDigits) {
  Func f("f");
  f(x) =
      select(x < 0, 0.0F, 1.0F) +
      0.0F * cast<float>(print(cast<std::uint8_t>(x + 255), cast<std::int64_t>(x) - 5000000000,
                               cast<double>(x) + 0.1, cast<float>(x) + 0.1F,
                               cast<float16>(cast<float>(x) + 1.5F), cast<std::int16_t>(x) - 3, -x < 0));
  EXPECT_EQ(lines_of(f, 1), Lines{"255 -5000000000 0.10000000000000001 0.100000001 1.5 -3 0"});
}

TEST(Print, LinesComeInTheOrderOfTheLoops) {
  const auto with = [](const std::function<void(Func&)>& schedule) {
    Func f("f");
    f(x, y) = print(cast<float>(x + 10 * y), "at", x, y);
    schedule(f);
    return lines_of(f, 6, 3);
  };
  const Lines rows = of_points(6, 3);
  EXPECT_EQ(sorted(with([](Func&) {})), sorted(rows));  // rows on several threads
  EXPECT_EQ(with([](Func& f) { f.unroll(x, 1); }), rows);
  EXPECT_EQ(with([](Func& f) { f.vectorize(x, 4); }), rows);
  EXPECT_EQ(with([](Func& f) { f.unroll(x, 4); }), rows);
  EXPECT_EQ(sorted(with([](Func& f) { f.parallel(y); })), sorted(rows));
  const Lines columns = with([](Func& f) { f.reorder(y, x); });
  EXPECT_NE(columns, rows);
  EXPECT_EQ(sorted(columns), sorted(rows));
  EXPECT_EQ(sorted(with([](Func& f) { f.tile("x", "y", "xo", "yo", "xi", "yi", 4, 2); })), sorted(rows));
}

TEST(Print, EmulatedThreadsPrintTheSameLines) {
  Func f("f");
  f(x, y) = print(cast<float>(x + 10 * y), "at", x, y);
  f.gpu_tile(x, y, 4, 2);
  EXPECT_EQ(sorted(lines_of(f, 6, 3, Target::gpu_emulator())), sorted(of_points(6, 3)));
}

TEST(Print, PrintWhenPrintsWhereItsConditionHolds) {
  for (const int lanes : {1, 4}) {
    Func f("f");
    f(x) = print_when(x % 3 == 1, cast<float>(x) + 0.5F, "at", x);
    if (lanes > 1) f.vectorize(x, lanes);
    EXPECT_EQ(lines_of(f, 8), (Lines{"1.5 at 1", "4.5 at 4", "7.5 at 7"})) << lanes;
  }
}

TEST(Print, WhereItStandsInASelectMakesNoDifference) {
  Func f("f");
  f(x) = select(x < 2, print(cast<float>(x), "below"), print(cast<float>(-x), "above"));
  EXPECT_EQ(lines_of(f, 3), (Lines{"0 below", "0 above", "1 below", "-1 above", "2 below", "-2 above"}));
}

TEST(Print, AValueThatCountsForNothingIsPrinted) {
  Func f("f");
  f(x) = cast<float>(0 * print(x, "times 0") + print(x, "chosen", x) * 0);
  EXPECT_EQ(lines_of(f, 2), (Lines{"0 times 0", "0 chosen 0", "1 times 0", "1 chosen 1"}));
}

TEST(Print, OneExprIsOnePrint) {
  Func f("f");
  const Expr once = print(cast<float>(x), "once");
  f(x) = once * once + once;
  EXPECT_EQ(lines_of(f, 2), (Lines{"0 once", "1 once"}));
}

TEST(Print, AnInlinedFuncPrintsForEachUse) {
  Func g("g"), f("f");
  g(x) = print(cast<float>(x), "g");
  f(x) = g(x - 1) + g(x + 1);
  EXPECT_EQ(sorted(lines_of(f, 2)), (Lines{"-1 g", "0 g", "1 g", "2 g"}));
  Func h("h"), k("k");
  h(x) = print(cast<float>(x), "h");
  k(x) = h(x - 1) + h(x + 1) + h(x);
  h.compute_root();
  EXPECT_EQ(lines_of(k, 2), (Lines{"-1 h", "0 h", "1 h", "2 h"}));
}

TEST(Print, UpdatesPrintForEachIteration) {
  RDom r({{0, 3}});
  Func f("f");
  f(x) = 0.0F;
  f(x) += print(cast<float>(r.x), "of", x);
  EXPECT_EQ(sorted(lines_of(f, 2)), (Lines{"0 of 0", "0 of 1", "1 of 0", "1 of 1", "2 of 0", "2 of 1"}));
}

TEST(Print, ATracedFuncPrintsWhatItStores) {
  Func f("f");
  f(x, y) = cast<float>(x + 10 * y);
  f.trace_stores();
  EXPECT_EQ(sorted(lines_of(f, 2, 2)), (Lines{"store f(0, 0) = 0", "store f(0, 1) = 10",
                                              "store f(1, 0) = 1", "store f(1, 1) = 11"}));
}

TEST(Print, TracedUpdatesPrintEachStoreAndLoad) {
  Func f("f");
  f(x) = 1.5F;
  f(x) += cast<float>(x);
  f.trace_stores().trace_loads();
  EXPECT_EQ(lines_of(f, 2), (Lines{"store f(0) = 1.5", "store f(1) = 1.5", "load f(0) = 1.5",
                                   "store f(0) = 1.5", "load f(1) = 1.5", "store f(1) = 2.5"}));
}

TEST(Print, TracesShowHowOftenAPointIsComputed) {
  const auto stores = [](const std::function<void(Func&, Func&)>& schedule) {
    Func g("g"), f("f");
    g(x, y) = cast<float>(x * y);
    f(x, y) = g(x, y - 1) + g(x, y) + g(x, y + 1);
    g.trace_stores();
    schedule(g, f);
    return lines_of(f, 4, 8).size();
  };
  EXPECT_EQ(stores([](Func& g, Func&) { g.compute_root(); }), 4U * 10U);
  EXPECT_EQ(stores([](Func& g, Func& f) { g.compute_at(f, y); }), 4U * 3U * 8U);
  EXPECT_EQ(stores([](Func& g, Func& f) { g.compute_at(f, y).store_root(); }), 4U * 10U);
}

TEST(Print, ElementsOfATupleAreTracedApart) {
  Func g("g"), f("f");
  g(x) = Tuple(x, cast<float16>(cast<float>(x) + 0.5F));
  f(x) = cast<float>(g(x)[0]) + cast<float>(g(x)[1]);
  g.compute_root().trace_stores().trace_loads();
  EXPECT_EQ(sorted(lines_of(f, 1)), (Lines{"load g(0)[0] = 0", "load g(0)[1] = 0.5", "store g(0)[0] = 0",
                                           "store g(0)[1] = 0.5"}));
}

TEST(Print, SpecializedLoopsPrintTheSameLines) {
  for (const int width : {6, 8}) {
    Func f("f");
    f(x, y) = print(cast<float>(x + 10 * y), "at", x, y);
    Param<bool> wide("wide", width == 8);
    f.specialize(wide).vectorize(x, 8);
    EXPECT_EQ(sorted(lines_of(f, width, 2)), sorted(of_points(width, 2)));
  }
}

TEST(Print, TracedLoadsAreThoseOfReaders) {
  Func g("g"), f("f");
  g(x) = cast<float>(x);
  f(x) = g(x - 1) + g(x + 1);
  g.compute_root().trace_loads();
  EXPECT_EQ(sorted(lines_of(f, 1)), (Lines{"load g(-1) = -1", "load g(1) = 1"}));
}

/// Seven points of u, staged and marched along z.
struct March {
  const Var z{"z"};
  ImageParam u{Float(32), 3, "u"};
  Func f{"f"};
  March() {
    f(x, y, z) = u(x, y, z - 1) * 0.3F + (u(x - 1, y, z) + u(x, y + 1, z)) * 0.7F + u(x, y, z + 1);
    f.gpu_tile(x, y, 8, 4).march(z).stage(u, MemoryType::Shared);
  }
};

TEST(Print, AMarchPrintsEachPointOnceAndKeepsItsBits) {
  const Box box{{0, 11}, {0, 6}, {0, 5}}, around{{-1, 13}, {-1, 9}, {-1, 7}};
  March march;
  march.f.register_window(march.u, march.z).trace_stores();
  const auto memory = bind_random(march.u, around, 3);
  const std::vector<AnyBuffer> expected = expected_values({march.f}, box);
  const Lines lines =
      printed([&] { EXPECT_TRUE(run_matches(expected, {march.f}, box, Target::gpu_emulator())); });
  EXPECT_EQ(lines.size(), 11U * 6U * 5U);
}

TEST(Print, AScatteredSumIsNotPrinted) {
  March march;
  march.f.scatter(march.z).trace_stores();
  EXPECT_TRUE(fails_with([&] { compile(march.f, Target::gpu_emulator()); },
                         {"it prints its value or is traced"}));
}

TEST(Print, StoresOfAnInlinedFuncAreNoStores) {
  Func g("g"), f("f");
  g(x) = cast<float>(x);
  const int line = __LINE__ + 1;
  g.trace_stores();
  f(x) = g(x) + 1.0F;
  EXPECT_TRUE(fails_with([&] { compile(f, Target::host()); },
                         {"trace_stores: g is inlined", "g.compute_root()"}, line));
}

/// A sum whose rounding depends on how it is opened.
struct Sums {
  ImageParam u{Float(32), 2, "u"};
  Func g{"g"}, f{"f"};
  explicit Sums(const std::function<Expr(Expr)>& shown) {
    g(x, y) = shown(u(x - 1, y) * 0.3F) + shown(u(x, y) * 0.7F);
    f(x, y) = shown(0.1F * shown(g(x - 1, y) + g(x + 1, y)) + shown(g(x, y) * u(x, y)));
    f(x, y) += shown(g(x, y - 1) * 1.7F);
  }
};

TEST(Print, NoBitDependsOnAPrint) {
  const auto never = [](const Expr& e) { return print_when(e > 1e30F, e, "never", e * 3.1F); };
  const Box box{{-2, 37}, {1, 9}}, around{{-5, 43}, {-2, 15}};
  Sums plain([](const Expr& e) { return e; });
  const auto plain_memory = bind_random(plain.u, around, 5);
  const std::vector<AnyBuffer> expected = expected_values({plain.f}, box);
  using Schedule = std::function<void(Sums&)>;
  const auto check = [&](const Target& target, const Schedule& schedule) {
    Sums s(never);
    const auto memory = bind_random(s.u, around, 5);
    schedule(s);
    EXPECT_TRUE(run_matches(expected, {s.f}, box, target));
  };
  check(Target::host(), [](Sums&) {});
  check(Target::host(), [](Sums& s) { s.f.vectorize(x, 8); });
  check(Target::host(), [](Sums& s) { s.g.compute_root().vectorize(x, 4); });
  check(Target::host(), [](Sums& s) {
    s.f.tile("x", "y", "xo", "yo", "xi", "yi", 8, 4);
    s.g.compute_root().parallel(y);
  });
  check(Target::gpu_emulator(), [](Sums& s) { schedule_plain_gpu(s.f); });
}

TEST(Print, MisuseNamesTheLine) {
  EXPECT_TRUE(fails_with([] { print(Expr()); }, {"print takes an undefined Expr"}, __LINE__));
  EXPECT_TRUE(fails_with([] { print(Expr(x), Expr()); }, {"print takes an undefined Expr"}, __LINE__));
  const int line = __LINE__ + 1;
  const auto no_bool = [] { print_when(x, 1.0F); };
  EXPECT_TRUE(fails_with(no_bool, {"print_when takes a condition of type bool, not i32"}, line));
}

}  // namespace
}  // namespace mica::test
