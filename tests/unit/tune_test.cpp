// tune: what it finds, what it leaves alone, and what it refuses.
#include "schedules/tune/tune.h"

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "schedules/mica.h"
#include "schedules/tune/graph_mark.h"
#include "schedules/tune/predict.h"
#include "schedules/tune/space.h"
#include "schedules/tune/trial_data.h"
#include "tests/support/expect_error.h"

namespace mica {
namespace {

using test::fails_with;

/// A star of five points of an input, after a Func that scales it.
struct Star {
  Var x{"x"}, y{"y"};
  ImageParam u{Float(32), 2, "u"};
  Func scaled{"scaled"}, next{"next"};
  Star() {
    scaled(x, y) = 0.25F * u(x, y);
    next(x, y) = scaled(x - 1, y) + scaled(x + 1, y) + scaled(x, y - 1) + scaled(x, y + 1) - u(x, y);
  }
};

TuneOptions on_host(std::vector<std::int64_t> extents, int budget = 5) {
  TuneOptions options{.extents = std::move(extents)};
  options.budget = budget;
  options.target = Target::host();
  options.keep = false;
  options.seconds = 300;  // more than the slowest build takes
  return options;
}

AnyBuffer input_of(std::int64_t nx, std::int64_t ny) {
  AnyBuffer u = AnyBuffer::with_halo(Float(32), {nx, ny}, {1, 1});
  tuning::fill_random(u, 3);
  return u;
}

TEST(Tune, FindsAScheduleThatGivesTheBitsOfNone) {
  Star star;
  AnyBuffer u = input_of(173, 57);
  star.u.set(u);
  Buffer<float> plain(173, 57), tuned(173, 57);
  star.next.realize(plain, Target::host());
  const TuneResult found = tune(star.next, on_host({173, 57}, 6));
  EXPECT_EQ(found.candidates.front().recipe, "");
  EXPECT_EQ(found.candidates.front().text(), "no schedule");
  EXPECT_LE(found.candidates.size(), 6U);
  EXPECT_GT(found.candidates.size(), 1U);
  EXPECT_GE(found.considered, found.candidates.size() - 1);
  for (const TuneCandidate& c : found.candidates) {
    EXPECT_GT(c.measured, 0) << c.text() << c.refused;
    if (c.settled > 0) {
      EXPECT_GE(c.settled, found.best.settled) << c.text();
    }
    EXPECT_GT(c.predicted, 0) << c.text();
  }
  EXPECT_GT(found.candidates.front().settled, 0) << "no schedule is compared with at the end";
  EXPECT_EQ(found.in_order().front().text(), found.best.text());
  // The schedule is one for the user's own Func.
  star.next.apply(found);
  star.next.realize(tuned, Target::host());
  EXPECT_TRUE(tuning::same_bits(plain, tuned));
}

TEST(Tune, TriesNoCandidateTwice) {
  const TuneResult found = tune(Star().next, on_host({64, 64}, 12));
  std::set<std::string> texts;
  for (const TuneCandidate& c : found.candidates) EXPECT_TRUE(texts.insert(c.text()).second) << c.text();
}

TEST(Tune, DrawsWhereItIsToldTo) {
  Star star;
  TuneOptions options = on_host({173, 57}, 6);
  options.draw = true;
  const TuneResult drawn = tune(star.next, options), again = tune(star.next, options);
  ASSERT_EQ(drawn.candidates.size(), 6U);
  std::set<std::string> texts;
  for (std::size_t i = 0; i < drawn.candidates.size(); ++i) {
    texts.insert(drawn.candidates[i].text());
    EXPECT_EQ(again.candidates[i].text(), drawn.candidates[i].text()) << "of one seed";
  }
  EXPECT_EQ(texts.size(), drawn.candidates.size());
}

TEST(Tune, LeavesTheUsersScheduleAndArraysAlone) {
  Star star;
  AnyBuffer u = input_of(40, 30);
  star.u.set(u);
  const AnyBuffer before = u.copy();
  star.scaled.compute_root();
  Func wrapper = star.u.in(star.next);
  wrapper.compute_root();
  star.next.vectorize(star.x, 4);
  const Schedule schedule = star.next.schedule();
  static_cast<void>(tune(star.next, on_host({40, 30}, 3)));
  EXPECT_EQ(star.next.schedule(), schedule);
  EXPECT_TRUE(tuning::same_bits(before, u.copy()));
}

TEST(Tune, MakesInputsThatAreNotSetOrTooSmall) {
  Star star;
  EXPECT_EQ(tune(star.next, on_host({40, 30}, 2)).candidates.size(), 2U);
  AnyBuffer u = input_of(10, 10);
  star.u.set(u);
  EXPECT_EQ(tune(star.next, on_host({40, 30}, 2)).candidates.size(), 2U);
}

TEST(Tune, OfEachElementType) {
  for (const Type type :
       {UInt(8), Int(8), UInt(16), Int(32), UInt(64), Float(16), BFloat(), Float(64)}) {
    Var x("x"), y("y");
    ImageParam u(type, 2, "u");
    Func next("next");
    next(x, y) = u(x - 1, y) + u(x + 1, y);
    EXPECT_GT(tune(next, on_host({65, 9}, 3)).best.measured, 0) << to_string(type);
  }
}

TEST(Tune, OfExtentsOfOneAndOfEachNumberOfDimensions) {
  ImageParam u1(Float(32), 1, "u"), u4(Float(32), 4, "u");
  Var x("x"), y("y"), z("z"), w("w");
  Func one("one"), four("four");
  one(x) = u1(x) + u1(x + 1);
  four(x, y, z, w) = u4(x, y, z, w) + u4(x, y + 1, z, w) + u4(x, y, z, w + 1);
  EXPECT_GT(tune(one, on_host({1}, 3)).best.measured, 0);
  EXPECT_GT(tune(one, on_host({100000}, 3)).best.measured, 0);
  EXPECT_GT(tune(four, on_host({1, 1, 1, 1}, 3)).best.measured, 0);
  EXPECT_GT(tune(four, on_host({17, 5, 3, 2}, 4)).best.measured, 0);
}

// What the registry has no schedules for is still measured as it is.
TEST(Tune, OfARecurrenceAndOfUpdatesKeepsToNoSchedule) {
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func sums("sums"), counts("counts");
  sums(x, y) = select(y == 0, u(x, y), u(x, y) + sums(x, y - 1));
  const TuneResult found = tune(sums, on_host({30, 20}));
  ASSERT_EQ(found.candidates.size(), 1U);
  EXPECT_EQ(found.schedule, Schedule());
  RDom r({{0, 4}}, "r");
  counts(x, y) = 0.0F;
  counts(x, y) += u(x + r, y);
  EXPECT_EQ(tune(counts, on_host({30, 20})).candidates.size(), 1U);
}

TEST(Tune, OnTheEmulatorTakesTheChoiceOfTheModel) {
  Star star;
  TuneOptions options{.extents = {8192, 8192}};
  options.target = Target::gpu_emulator();
  options.keep = false;
  const TuneResult found = tune(star.next, options);
  EXPECT_NE(found.best.recipe, "");
  EXPECT_EQ(found.best.measured, 0);
  EXPECT_LT(found.best.predicted, found.candidates.front().predicted);
  AnyBuffer u = input_of(150, 40);
  star.u.set(u);
  Buffer<float> plain(150, 40), tuned(150, 40);
  star.next.realize(plain, Target::host());
  star.next.apply(found);
  star.next.realize(tuned, Target::gpu_emulator());
  EXPECT_TRUE(tuning::same_bits(plain, tuned));
}

TEST(Tune, EndsWithTheBestSoFarWhenItIsAskedToStop) {
  std::stop_source stop;
  TuneOptions options = on_host({64, 64}, 1000);
  options.stop = stop.get_token();
  int calls = 0;
  options.progress = [&](const TuneCandidate&, const TuneCandidate& best) {
    EXPECT_GT(best.measured, 0);
    if (++calls == 3) stop.request_stop();
  };
  EXPECT_EQ(tune(Star().next, options).candidates.size(), 3U);
  EXPECT_EQ(calls, 3);
  options.progress = {};
  EXPECT_EQ(tune(Star().next, options).candidates.size(), 1U);
}

TEST(Tune, ABudgetOfOneMeasuresNoScheduleAlone) {
  const TuneResult found = tune(Star().next, on_host({64, 64}, 1));
  EXPECT_EQ(found.candidates.size(), 1U);
  EXPECT_EQ(found.schedule, Schedule());
  EXPECT_NE(found.report().find("no schedule"), std::string::npos);
}

TEST(Tune, RefusesWhatCannotBeTuned) {
  Star star;
  EXPECT_TRUE(fails_with([&] { tune(star.next, on_host({64})); }, {"next has 2 dimensions", "1 extent"},
                         __LINE__ - 1));
  EXPECT_TRUE(fails_with([&] { tune(star.next, on_host({64, 0})); }, {"an extent is 0"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { tune(star.next, on_host({64, 64}, -1)); }, {"budget is -1"}, __LINE__));
  TuneOptions options = on_host({64, 64});
  options.seconds = 0;
  EXPECT_TRUE(fails_with([&] { tune(star.next, options); }, {"0 seconds"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { tune(Func("empty"), on_host({64})); }, {"empty is not defined"}));
}

TEST(Tune, OfAChainOfTwentyThousandTerms) {
  Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func f("f");
  Expr sum = u(x, y);
  for (int i = 0; i < 20000; ++i) sum = sum + u(x + i % 5, y);
  f(x, y) = sum;
  const tuning::Subject subject(f, {8, 8}, Target::gpu_emulator(), CallSite::current());
  const tuning::Rates rates = tuning::rates_of(subject.target(), false);
  EXPECT_GT(tuning::predicted_seconds(subject, {}, rates), 0);
}

// Each Func reads the one before at two points: there are 2^40 ways to the input, which has 41 taps.
TEST(Tune, OfAChainOfFuncsThatAreReadTwice) {
  const Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  Func last("f0");
  last(x, y) = u(x, y);
  for (int i = 1; i <= 40; ++i) {
    Func next("f" + std::to_string(i));
    next(x, y) = last(x, y) + last(x + 1, y);
    last = next;
  }
  const tuning::Subject subject(last, {64, 64}, Target::host(), CallSite::current());
  ASSERT_EQ(subject.features().inputs.size(), 1U);
  EXPECT_EQ(subject.features().inputs[0].taps, 41U);
  EXPECT_EQ(subject.features().inputs[0].reach, (std::vector<std::int64_t>{40, 0}));
}

// Taps of helpers are those at their own places in the reader, whatever their variables are called.
TEST(Tune, CountsTapsThroughFuncsOfOtherVariables) {
  const Var x("x"), y("y"), a("a"), b("b"), k("k");
  ImageParam u(Float(32), 2, "u"), v(Float(32), 3, "v");
  Func turned("turned"), plane("plane"), far("far"), f("f");
  turned(a, b) = u(b + 1, a);  // turned(y, x - 2) is u(x - 1, y)
  plane(x, y) = v(x, y, 3);    // no place of f's
  far(x, y) = u(2 * x, y);
  f(x, y) = turned(y, x - 2) + turned(y + 1, x) + plane(x, y) + far(x, y);
  const tuning::Subject subject(f, {64, 64}, Target::host(), CallSite::current());
  ASSERT_EQ(subject.features().inputs.size(), 1U);
  EXPECT_EQ(subject.features().inputs[0].offsets,
            (std::vector<std::vector<std::int64_t>>{{-1, 0}, {1, 1}}));
}

// Colours beside each other in memory: schedules for that are tried and win by a factor.
TEST(Tune, OfOutputsThatAreInterleaved) {
  constexpr int kWidth = 640, kHeight = 480;
  const Var x("x"), y("y"), c("c");
  ImageParam u(UInt(8), 3, "u");
  Func f("f");
  f(x, y, c) = cast<std::uint8_t>((cast<std::uint16_t>(u(x, y, c)) * 3 + u(x, y, 1)) / 4);
  const AnyBuffer picture(UInt(8), {{0, kWidth, 3}, {0, kHeight, 3 * kWidth}, {0, 3, 1}});
  TuneOptions options = on_host({kWidth, kHeight, 3}, 4);
  options.outputs = {picture};
  const TuneResult found = tune(f, options);
  EXPECT_EQ(found.best.parameter("channels", 0), 3) << found.report();
  options.keep = true;
  EXPECT_NE(tune(f, options).note.find("laid out otherwise"), std::string::npos);
  EXPECT_TRUE(fails_with(
      [&] {
        tune(f, [&] {
          TuneOptions other = options;
          other.extents = {kWidth, kHeight, 4};
          return other;
        }());
      },
      {"640 x 480 x 3", "640 x 480 x 4", "u8"}));
  options.outputs = {picture, picture};
  EXPECT_TRUE(fails_with([&] { tune(f, options); }, {"2 output arrays", "1 value"}));
  options.outputs = {
      AnyBuffer(UInt(8), {{0, kWidth, 1}, {0, kHeight, -kWidth}, {0, 3, kWidth * kHeight}})};
  EXPECT_TRUE(fails_with([&] { tune(f, options); }, {"a stride of -640"}));
}

// The compiler computes `dear` ahead for `levels`, and would not for `shifted` alone, which says nothing
// of it then.
TEST(Tune, OfOutputsThatShareAHelperKeepsItAhead) {
  const Var x("x"), y("y"), k("k");
  ImageParam u(Float(32), 2, "u");
  Func dear("dear"), levels("levels"), shifted("shifted");
  dear(x, y) = exp(u(x, y)) * exp(u(x + 1, y));
  levels(x, y, k) = dear(x, y) * cast<float>(k);
  shifted(x, y, k) = dear(x, y + k) + cast<float>(k);
  const tuning::Subject subject({levels, shifted}, {64, 64, 8}, Target::host(), CallSite::current());
  TuneCandidate candidate;
  candidate.recipe = "host/rows";
  bool ahead = false;
  for (const auto& stage : subject.scheduled(candidate).front().schedule().stages) {
    for (const Directive& d : stage.directives) {
      ahead = ahead || (stage.func == "dear" && std::holds_alternative<directive::ComputeRoot>(d.op));
    }
  }
  EXPECT_TRUE(ahead);
}

// A boundary condition computes nothing: it has no place of its own to be tried.
TEST(Tune, OfABoundaryConditionTriesNoPlaces) {
  const Var x("x"), y("y");
  ImageParam u(Float(32), 2, "u");
  const Func b = BoundaryConditions::mirror_image(u);
  Func f("f");
  f(x, y) = b(x - 1, y) + b(x + 1, y + 2);
  const tuning::Subject subject(f, {64, 64}, Target::host(), CallSite::current());
  EXPECT_EQ(subject.features().computing, 0U);
  ASSERT_EQ(subject.features().inputs.size(), 1U);
  EXPECT_EQ(subject.features().inputs[0].offsets,
            (std::vector<std::vector<std::int64_t>>{{-1, 0}, {1, 2}}));
  for (const tuning::Family& family : tuning::families_of(subject)) {
    for (const auto& axis : family.axes) EXPECT_NE(axis.name, "place");
  }
}

TEST(Tune, OfOneFuncFromSeveralThreads) {
  Star star;
  std::vector<std::jthread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      right += tune(star.next, on_host({30 + i, 20}, 3)).candidates.size() == 3 ? 1 : 0;
    });
  }
  threads.clear();
  EXPECT_EQ(right, 4);
}

TEST(Tune, OfADenseArrayOfAnOddNumberOfPointsARow) {
  Star star;
  Buffer<float> dense(513, 31), plain(511, 29), tuned(511, 29);
  tuning::fill_random(dense, 1);
  star.u.set(dense.translated({-1, -1}));
  star.next.realize(plain, Target::host());
  star.next.apply(tune(star.next, on_host({511, 29}, 4)));
  star.next.realize(tuned, Target::host());
  EXPECT_TRUE(tuning::same_bits(plain, tuned));
}

// A model that is slow to look at a large algorithm does not use up the search's time.
TEST(Tune, KeepsToItsSecondsWhileItRanks) {
  const auto taken = [](double seconds) {
    Var x("x"), y("y"), z("z");
    Func f("f");
    Expr sum = 0.0F;
    for (int i = 0; i < 8; ++i) {
      const ImageParam u(Float(32), 3, "u" + std::to_string(i));
      for (int k = -3; k <= 3; ++k) {
        sum = sum + (u(x + k, y, z) * u(x, y + k, z) + u(x, y, z + k)) * u(x + k, y + k, z);
      }
    }
    f(x, y, z) = sum;
    TuneOptions options{.extents = {256, 256, 256}};
    options.target = Target::gpu_emulator();
    options.seconds = seconds;
    return tune(f, options).considered;
  };
  EXPECT_LT(taken(0.05), taken(1.5));
}

// ---- marks -----------------------------------------------------------------------------------------

Func named(const std::string& prefix, float weight, int reach, bool twice = false) {
  Var x(prefix + "x"), y(prefix + "y");
  ImageParam u(Float(32), 2, prefix + "u"), v(Float(32), 2, prefix + "v");
  Param<float> c(prefix + "c");
  Func mid(prefix + "mid"), out(prefix + "out");
  mid(x, y) = weight * u(x, y) + c;
  out(x, y) = mid(x - reach, y) + (twice ? u : v)(x, y);
  return out;
}

TEST(GraphMark, IsOfTheDefinitionsAndNotOfNames) {
  const std::uint64_t mark = tuning::graph_mark(named("a", 2, 1));
  EXPECT_EQ(mark, tuning::graph_mark(named("b", 2, 1)));
  EXPECT_NE(mark, tuning::graph_mark(named("a", 3, 1)));
  EXPECT_NE(mark, tuning::graph_mark(named("a", 2, 2)));
  EXPECT_NE(mark, tuning::graph_mark(named("a", 2, 1, true)));
  Func scheduled = named("a", 2, 1);
  scheduled.vectorize("ax", 4);
  EXPECT_EQ(mark, tuning::graph_mark(scheduled));
}

TEST(GraphMark, TellsVarsByTheirPlaces) {
  const auto turned = [](bool turn) {
    Var x("x"), y("y");
    ImageParam u(Float(32), 2, "u");
    Func f("f");
    f(x, y) = turn ? u(y, x) : u(x, y);
    return tuning::graph_mark(f);
  };
  EXPECT_NE(turned(false), turned(true));
}

TEST(GraphMark, TellsTheValuesOfATupleApart) {
  const auto reading = [](int element) {
    Var x("x");
    Func both("both"), f("f");
    both(x) = Tuple(x * 2, x * 3);
    f(x) = both(x)[element];
    return tuning::graph_mark(f);
  };
  EXPECT_NE(reading(0), reading(1));
}

TEST(GraphMark, TellsColorsApart) {
  const auto colored = [](int count) {
    Var x("x");
    Func f("f");
    f(x) = x;
    f(x) = f(x) + f(x - 1);
    f.update().color(x % count);
    return tuning::graph_mark(f);
  };
  EXPECT_NE(colored(2), colored(3));
}

TEST(GraphMark, OfAGraphThatSharesItsPartsTakesLinearTime) {
  Var x("x");
  ImageParam u(Float(32), 1, "u");
  Func f("f");
  Expr e = u(x);
  for (int i = 0; i < 2000; ++i) e = e * e + 1;
  f(x) = e;
  EXPECT_NE(tuning::graph_mark(f), 0U);
}

}  // namespace
}  // namespace mica
