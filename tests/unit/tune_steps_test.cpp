// tune of an Iteration: what it finds, what it leaves alone, and what it refuses.
#include "schedules/tune/tune_steps.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/iterate/iteration_state.h"
#include "schedules/mica.h"
#include "schedules/tune/graph_mark.h"
#include "schedules/tune/predict.h"
#include "schedules/tune/space.h"
#include "schedules/tune/step_trials.h"
#include "schedules/tune/store.h"
#include "schedules/tune/trial_data.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace mica {
namespace {

using test::fails_with;
using Extents = std::vector<std::int64_t>;

const Var x("x"), y("y"), z("z");

/// Heat in two dimensions: a step reads its own field only.
struct Heat {
  ImageParam u{Float(32), 2, "u"};
  Func next{"next"};
  Heat() {
    next(x, y) = 0.5F * u(x, y) + 0.125F * (u(x - 1, y) + u(x + 1, y) + u(x, y - 1) + u(x, y + 1));
  }
  [[nodiscard]] Iteration steps() const { return Iteration({{u, next}}); }
};

AnyBuffer field_of(const Extents& extents, std::uint64_t seed = 3) {
  AnyBuffer field(Float(32), extents);
  tuning::fill_random(field, seed);
  return field;
}

TuneOptions on_host(int budget = 5) {
  TuneOptions options;
  options.target = Target::host();
  options.budget = budget;
  options.seconds = 60;
  options.keep = false;
  return options;
}

/// `found`, put on the Iteration, gives the fields that it has without a schedule.
template <typename Make>
void expect_same_bits(const TuneResult& found, const Make& make, const Extents& extents,
                      const Target& target = Target::host()) {
  AnyBuffer plain = field_of(extents), tuned = field_of(extents);
  auto without = make();
  without.steps().run({{without.u, plain}}, 37, {.target = Target::host()});
  auto with = make();
  Iteration steps = with.steps();
  steps.apply(found);
  EXPECT_EQ(steps.schedule(), found.schedule);
  steps.run({{with.u, tuned}}, 37, {.target = target});
  EXPECT_TRUE(tuning::same_bits(plain, tuned)) << found.best.text();
}

int most_steps(const TuneResult& found) {
  int most = 0;
  for (const TuneCandidate& c : found.candidates) most = std::max(most, c.steps());
  return most;
}

TEST(TuneSteps, FindsAWayThatGivesTheBitsOfNone) {
  Heat heat;
  AnyBuffer u = field_of({173, 57});
  const AnyBuffer before = u.copy();
  heat.next.vectorize(x, 4);
  Iteration steps = heat.steps();
  steps.time_tile(2);
  const Schedule schedule = steps.schedule();
  const TuneResult found = tune(steps, {{heat.u, u}}, on_host(8));
  EXPECT_EQ(found.candidates.front().text(), "no schedule");
  EXPECT_EQ(found.candidates.size(), 8U);
  EXPECT_GT(most_steps(found), 1) << "several steps at once are tried";
  for (const TuneCandidate& c : found.candidates) EXPECT_GT(c.measured, 0) << c.text() << c.refused;
  EXPECT_EQ(found.schedule.steps, found.best.steps());
  EXPECT_EQ(found.in_order().front().text(), found.best.text());
  EXPECT_TRUE(tuning::same_bits(before, u)) << "the user's field is read only";
  EXPECT_EQ(steps.schedule(), schedule) << "the user's schedule stays";
  expect_same_bits(found, [] { return Heat(); }, {173, 57});
}

TEST(TuneSteps, EachNumberOfStepsAtOnceGivesTheSameBits) {
  for (const std::int64_t at_once : {2, 3, 8, 16}) {
    TuneResult found;
    found.best.recipe = "time/tiles";
    found.best.parameters = {{schedules::kStepsAtOnce, at_once}};
    Heat heat;
    Iteration steps = heat.steps();
    schedules::apply(steps, "time/tiles", found.best.parameters);
    found.schedule = steps.schedule();
    EXPECT_EQ(found.schedule.steps, at_once);
    expect_same_bits(found, [] { return Heat(); }, {70, 50});
  }
}

TEST(TuneSteps, ABudgetOfOneMeasuresNoScheduleAlone) {
  Heat heat;
  AnyBuffer u = field_of({64, 64});
  const TuneResult found = tune(heat.steps(), {{heat.u, u}}, on_host(1));
  EXPECT_EQ(found.candidates.size(), 1U);
  EXPECT_EQ(found.schedule, Schedule());
}

TEST(TuneSteps, EndsWithTheBestSoFarWhenItIsAskedToStop) {
  Heat heat;
  AnyBuffer u = field_of({64, 64});
  std::stop_source stop;
  TuneOptions options = on_host(1000);
  options.stop = stop.get_token();
  int calls = 0;
  options.progress = [&](const TuneCandidate&, const TuneCandidate&) {
    if (++calls == 3) stop.request_stop();
  };
  EXPECT_EQ(tune(heat.steps(), {{heat.u, u}}, options).candidates.size(), 3U);
}

TEST(TuneSteps, TriesNoMoreStepsAtOnceThanTheGridHolds) {
  const auto steps_of = [](const Extents& extents) {
    Heat heat;
    AnyBuffer u = field_of(extents);
    const TuneResult found = tune(heat.steps(), {{heat.u, u}}, on_host(24));
    expect_same_bits(
        found, [] { return Heat(); }, extents);
    return most_steps(found);
  };
  EXPECT_EQ(steps_of({3, 3}), 1);   // one point
  EXPECT_EQ(steps_of({30, 5}), 2);  // three rows: one more on each side of the second level's
  EXPECT_EQ(steps_of({30, 40}), 12);
}

/// A wave: `before` takes what `now` held.
struct Wave {
  ImageParam u{Float(32), 2, "u"}, before{Float(32), 2, "before"};
  Func next{"next"};
  Wave() { next(x, y) = 1.5F * u(x, y) - before(x, y) + 0.1F * (u(x - 1, y) + u(x, y + 1)); }
  [[nodiscard]] Iteration steps() const { return Iteration({{before, u}, {u, next}}); }
};

TEST(TuneSteps, OfTwoLevelsOfTime) {
  Wave wave;
  AnyBuffer u = field_of({60, 40}), before = field_of({60, 40}, 4);
  const TuneResult found = tune(wave.steps(), {{wave.u, u}, {wave.before, before}}, on_host(7));
  EXPECT_GT(most_steps(found), 1);
  for (const TuneCandidate& c : found.candidates) EXPECT_EQ(c.refused, "") << c.text();
}

TEST(TuneSteps, OfPeriodicFieldsATupleAParamAndTheStepsNumber) {
  const ImageParam u(Float(32), 2, "u"), v(Float(32), 2, "v");
  const Param<float> rate("rate", 0.25F);
  const Func pu = BoundaryConditions::repeat_image(u);
  Func both("both");
  both(x, y) = Tuple(0.5F * u(x, y) + rate * (pu(x - 1, y) + pu(x, y + 1)),
                     v(x, y) * 0.5F + cast<float>(step() % 7));
  const auto steps = [&] { return Iteration({{u, both, 0}, {v, both, 1}}); };
  AnyBuffer a = field_of({48, 40}), b = field_of({48, 40}, 4);
  TuneOptions options = on_host(7);
  options.params = {{rate, 0.2F}};
  const TuneResult found = tune(steps(), {{u, a}, {v, b}}, options);
  EXPECT_GT(most_steps(found), 1);
  for (const TuneCandidate& c : found.candidates) EXPECT_EQ(c.refused, "") << c.text();
}

// What they read by the step's number is compared, too.
TEST(TuneSteps, CandidatesAreComparedWithTheNumbersOfTheirSteps) {
  const ImageParam u(Float(32), 1, "u");
  Func next("next");
  next(x) = 0.5F * u(x) + cast<float>(step());
  const Iteration steps({{u, next}});
  const AnyBuffer a = field_of({40});
  const auto plain = tuning::bare(*steps.state());
  const iterate::RunSetup setup(*plain, {{u, a}}, Target::host(), {}, CallSite::current());
  tuning::Stepping stepping{.state = plain, .whole = true, .most = 64};
  stepping.kept = {{{0, 0}}};
  const tuning::Subject subject(plain->funcs(), {40}, Target::host(), CallSite::current(), stepping);
  const auto trials = tuning::trials_of_steps(subject, setup);
  TuneCandidate single, several;
  several.recipe = "time/tiles";
  several.parameters = {{schedules::kStepsAtOnce, 3}};
  const AnyBuffer expected = trials->compiled(single)->results(7).front();
  EXPECT_TRUE(tuning::same_bits(expected, trials->compiled(several)->results(7).front()));
  Iteration run = steps;
  const AnyBuffer b = a.copy();
  run.run({{u, b}}, 7, {.target = Target::host()});
  EXPECT_TRUE(tuning::same_bits(expected, b));
}

TEST(TuneSteps, OfABoxWithinTheFieldAndARim) {
  Heat heat;
  AnyBuffer u = field_of({90, 70});
  Iteration steps = heat.steps();
  steps.over({{20, 40}, {10, 50}});
  const TuneResult found = tune(steps, {{heat.u, u}}, on_host(12));
  for (const TuneCandidate& c : found.candidates) EXPECT_EQ(c.refused, "") << c.text();
}

// Linked fields: each Func has the schedule of its own kernel, and steps are taken one by one.
TEST(TuneSteps, OfLinkedFieldsTakesSeveralSteps) {
  const ImageParam v(Float(32), 2, "v"), s(Float(32), 2, "s");
  Func v_next("v_next"), s_next("s_next");
  v_next(x, y) = v(x, y) + 0.25F * (s(x, y) - s(x - 1, y));
  s_next(x, y) = s(x, y) + 0.25F * (v_next(x + 1, y) - v_next(x, y));
  const auto steps = [&] { return Iteration({{v, v_next}, {s, s_next}}); };
  AnyBuffer a = field_of({60, 40}), b = field_of({60, 40}, 4);
  AnyBuffer plain_a = a.copy(), plain_b = b.copy();
  const TuneResult found = tune(steps(), {{v, a}, {s, b}}, on_host(6));
  EXPECT_GT(most_steps(found), 1);
  EXPECT_EQ(found.candidates.size(), 6U);
  for (const TuneCandidate& c : found.candidates) EXPECT_EQ(c.refused, "") << c.text();
  steps().run({{v, plain_a}, {s, plain_b}}, 9, {.target = Target::host()});
  Iteration tuned = steps();
  tuned.apply(found);
  tuned.run({{v, a}, {s, b}}, 9, {.target = Target::host()});
  EXPECT_TRUE(tuning::same_bits(plain_a, a));
  EXPECT_TRUE(tuning::same_bits(plain_b, b));
  EXPECT_TRUE(fails_with([&] { schedules::apply(tuned, "host/rows"); }, {"v_next", "s_next"}, __LINE__));
}

// Nothing that belongs to the user's own runs happens: callbacks, checkpoints, what receivers take.
TEST(TuneSteps, LeavesAloneWhatActsBetweenSteps) {
  test::TemporaryFolder folder;
  const std::string path = (folder.path() / "heat.mica").string();
  Heat heat;
  AnyBuffer u = field_of({60, 40});
  Iteration steps = heat.steps();
  int calls = 0;
  steps.every(5, [&](const RunningIteration&) { ++calls; }).checkpoint(path, 4);
  const TuneResult found = tune(steps, {{heat.u, u}}, on_host(12));
  EXPECT_EQ(most_steps(found), 4) << "a tile of more steps would never be run";
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(std::filesystem::exists(path));

  Buffer<float> taken(1, 10), given(1, 10);
  taken.fill(7.0F);
  given.fill(1.0F);
  Iteration heard = heat.steps();
  heard.add_at(heat.u, {{{{20, 20}}}}, given).record(heat.u, {{{{21, 20}}}}, taken);
  EXPECT_GT(most_steps(tune(heard, {{heat.u, u}}, on_host(6))), 1);
  AnyBuffer large = field_of({600, 400});
  Iteration everywhere = heat.steps();
  everywhere.record(heat.u, {{{{2, 2}, 0.5}, {{590, 390}, 0.5}}}, taken);
  EXPECT_EQ(most_steps(tune(everywhere, {{heat.u, large}}, on_host(6))), 1);
  for (int n = 0; n < 10; ++n) EXPECT_EQ(taken(0, n), 7.0F);
}

TEST(TuneSteps, OnTheEmulatorTakesTheChoiceOfTheModel) {
  TuneOptions options = on_host();
  options.target = Target::gpu_emulator();
  options.seconds = 4;
  Heat heat;
  AnyBuffer u = field_of({4000, 4000});
  const TuneResult found = tune(heat.steps(), {{heat.u, u}}, options);
  EXPECT_EQ(found.best.recipe, "time/march");
  EXPECT_GT(found.schedule.steps, 3);
  EXPECT_LT(found.best.predicted, found.candidates.front().predicted / 2);
  expect_same_bits(
      found, [] { return Heat(); }, {130, 40}, Target::gpu_emulator());
}

TEST(TuneSteps, RefusesWhatCannotBeTuned) {
  Heat heat;
  AnyBuffer u = field_of({64, 64});
  TuneOptions options = on_host(), less = on_host(-1);
  options.extents = {64, 64};
  const Iteration steps = heat.steps();
  const std::vector<RunInput> fields{{heat.u, u}};
  EXPECT_TRUE(fails_with([&] { tune(steps, fields, options); }, {"extents were given"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { tune(steps, fields, less); }, {"budget is -1"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { tune(steps, {}, on_host()); }, {"no buffer for field u"}, __LINE__));
}

// ---- schedules with several steps at once -----------------------------------------------------------

TEST(StepsAtOnce, AreAPartOfASchedule) {
  Heat heat;
  Iteration steps = heat.steps();
  schedules::apply(steps, "time/march", {{schedules::kStepsAtOnce, 6}, {"scatter", 0}});
  const Schedule schedule = steps.schedule();
  EXPECT_EQ(schedule.steps, 6);
  EXPECT_NE(to_string(schedule).find("iteration.time_tile(6);\n"), std::string::npos);
  EXPECT_EQ(schedule_from_json(to_json(schedule)), schedule);
  Heat other;
  Iteration same = other.steps();
  same.apply(schedule_from_json(to_json(schedule)));
  EXPECT_EQ(same.schedule(), schedule);
  EXPECT_EQ(same.print_loop_nest(Target::gpu_emulator()), steps.print_loop_nest(Target::gpu_emulator()));
  EXPECT_TRUE(fails_with([&] { other.next.apply(schedule); }, {"6 steps at once", "Iteration::apply"}));
  EXPECT_EQ(same.schedule(), schedule) << "a refused schedule changes nothing";
  Schedule none = schedule;
  none.steps = 0;
  EXPECT_TRUE(fails_with([&] { same.apply(none); }, {"0 steps at once"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { schedule_from_json(to_json(none)); }, {"steps", "0 steps at once"}));
}

TEST(StepsAtOnce, TellAlgorithmsApartInTheStore) {
  Heat heat, same;
  Wave wave;
  const auto mark = [](const Iteration& steps, bool whole = false) {
    return tuning::step_mark(*steps.state(), whole);
  };
  EXPECT_EQ(mark(heat.steps()), mark(same.steps()));
  EXPECT_NE(mark(heat.steps()), mark(heat.steps(), true));
  EXPECT_NE(mark(heat.steps()), mark(wave.steps()));
  EXPECT_NE(mark(heat.steps()), tuning::graph_mark(heat.next));
  EXPECT_NE(mark(wave.steps()), mark(Iteration({{wave.u, wave.next}})));
}

// ---- the store --------------------------------------------------------------------------------------

class KeptSteps : public ::testing::Test {
 protected:
  KeptSteps() { setenv("MICA_TUNE_STORE", path_.c_str(), 1); }
  ~KeptSteps() override {
    setenv("MICA_TUNE_STORE", "off", 1);
    unsetenv("MICA_TUNE");
  }
  /// What a run of 9 steps takes up: its schedule and steps at once; those of no schedule.
  static std::pair<bool, int> taken_up(Heat& heat, Iteration& steps, const Extents& extents,
                                       std::int64_t count = 9) {
    AnyBuffer plain = field_of(extents), u = field_of(extents);
    Heat other;
    Iteration single = other.steps();
    single.time_tile(1);  // its own choice: the store is not asked
    single.run({{other.u, plain}}, count, {.target = Target::host()});
    steps.run({{heat.u, u}}, count, {.target = Target::host()});
    EXPECT_TRUE(tuning::same_bits(plain, u));
    const auto& tuned = steps.state()->tuned;
    if (tuned.empty() || tuned.front().outputs.empty()) return {false, 1};
    return {true, tuned.front().steps};
  }
  void keep(const Extents& fields, const std::string& recipe, const schedules::Parameters& parameters) {
    Heat heat;
    const Extents stepped{fields[0] - 2, fields[1] - 2};
    tuning::TunedEntry e;
    e.key = {tuning::step_mark(*heat.steps().state(), false), tuning::device_name(Target::host()),
             stepped};
    e.name = "next";
    e.version = tuning::mica_version();
    e.best.recipe = recipe;
    e.best.parameters = parameters;
    tuning::TuneStore(path_).keep(e);
  }
  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "tuned.db";
};

TEST_F(KeptSteps, ARunElsewhereTakesThemUp) {
  keep({100, 80}, "time/tiles", {{schedules::kStepsAtOnce, 4}});
  Heat heat;
  Iteration steps = heat.steps();
  EXPECT_EQ(taken_up(heat, steps, {90, 80}), std::pair(true, 4)) << "of the same class of shapes";
  EXPECT_EQ(taken_up(heat, steps, {90, 80}), std::pair(true, 4)) << "again";
  EXPECT_EQ(taken_up(heat, steps, {90, 80}, 3), std::pair(true, 4)) << "a run of fewer steps than four";
  EXPECT_EQ(steps.schedule(), Schedule()) << "the Iteration itself stays as it is";
  Heat far;
  Iteration none = far.steps();
  EXPECT_EQ(taken_up(far, none, {10, 800}), std::pair(false, 1));
  // What the user chose is all that counts.
  Heat own, tiled;
  Iteration own_steps = own.steps(), tiled_steps = tiled.steps();
  own.next.vectorize(x, 4);
  EXPECT_EQ(taken_up(own, own_steps, {90, 80}), std::pair(false, 1));
  tiled_steps.time_tile(1);
  EXPECT_EQ(taken_up(tiled, tiled_steps, {90, 80}), std::pair(false, 1));
}

TEST_F(KeptSteps, OfAScheduleThatDoesNotFitStopNoRun) {
  keep({100, 80}, "host/rows", {{"vec", 3}});
  Heat heat;
  Iteration steps = heat.steps();
  EXPECT_FALSE(taken_up(heat, steps, {100, 80}).first);
  keep({100, 80}, "no/such", {});
  Heat other;
  Iteration more = other.steps();
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(taken_up(other, more, {100, 80}).first);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("no/such"), std::string::npos);
}

TEST_F(KeptSteps, ATuneIsKeptAndTakenUpInTheSameProgram) {
  Heat heat;
  Iteration steps = heat.steps();
  EXPECT_FALSE(taken_up(heat, steps, {100, 80}).first) << "there is no store yet";
  AnyBuffer u = field_of({100, 80});
  TuneOptions options = on_host(5);
  options.keep = true;
  const TuneResult first = tune(steps, {{heat.u, u}}, options);
  EXPECT_EQ(first.note, "");
  const tuning::TunedKey key{
      tuning::step_mark(*steps.state(), false), tuning::device_name(Target::host()), {98, 78}};
  const auto kept = tuning::TuneStore(path_).find(key);
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->best.text(), first.best.text());
  EXPECT_EQ(taken_up(heat, steps, {100, 80}), std::pair(!first.best.recipe.empty(), first.best.steps()));
  // A second search goes on where the first was.
  options.budget = 7;
  const TuneResult second = tune(steps, {{heat.u, u}}, options);
  ASSERT_EQ(second.candidates.size(), 7U);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(second.candidates[i].text(), first.candidates[i].text());
}

TEST_F(KeptSteps, ARunTunesWhereItIsToldTo) {
  setenv("MICA_TUNE", "1", 1);
  Heat heat;
  Iteration steps = heat.steps();
  int calls = 0;
  steps.every(3, [&](const RunningIteration&) { ++calls; });
  ::testing::internal::CaptureStderr();
  std::ignore = taken_up(heat, steps, {50, 40});
  std::ignore = taken_up(heat, steps, {50, 40});
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("mica: tuned next in "), 0U) << said;
  EXPECT_EQ(said.find("mica: tuned", 1), std::string::npos) << said;
  EXPECT_EQ(calls, 6) << "those of the two runs";
  EXPECT_EQ(tuning::TuneStore(path_).list().size(), 1U);
}

// ---- several outputs --------------------------------------------------------------------------------

TEST(TuneOutputs, OfOnePipelineAreTunedTogether) {
  const ImageParam u(Float(32), 2, "u");
  Func f("f"), g("g");
  f(x, y) = u(x - 1, y) + u(x + 1, y);
  g(x, y) = f(x, y) * 2.0F + u(x, y - 1);
  TuneOptions options = on_host(6);
  options.extents = {120, 70};
  const TuneResult found = tune({f, g}, options);
  EXPECT_EQ(found.candidates.size(), 6U);
  for (const TuneCandidate& c : found.candidates) EXPECT_EQ(c.refused, "") << c.text();
  if (!found.best.recipe.empty()) {
    EXPECT_EQ(found.schedule.stages.size(), 2U);
  }
  apply_schedule({f, g}, found);
  EXPECT_EQ(schedule_of({f, g}), found.schedule);
  Func h("h"), wide("wide");
  wide(x, y, z) = u(x, y);
  const std::vector<Func> others{f, wide}, empty{f, h}, none;
  EXPECT_TRUE(fails_with([&] { tune(others, options); }, {"f has 2", "wide has 3"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { tune(empty, options); }, {"h is not defined"}, __LINE__));
  EXPECT_TRUE(fails_with([&] { tune(none, options); }, {"no Func"}, __LINE__));
}

}  // namespace
}  // namespace mica
