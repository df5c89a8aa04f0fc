// What is taken where nothing was tuned: schedules that the model takes for clearly faster than none.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "bench/time.h"
#include "codegen/compile.h"
#include "schedules/families.h"
#include "schedules/tune/predict.h"
#include "schedules/tune/space.h"
#include "schedules/tune/trial_data.h"
#include "schedules/tune/tune.h"
#include "schedules/tune/tune_steps.h"
#include "schedules/tune/usual.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

TuneOptions unmeasured(std::vector<std::int64_t> extents, const Target& target) {
  TuneOptions options{.extents = std::move(extents)};
  options.target = target;
  options.budget = 0;
  options.keep = false;
  return options;
}

TuneResult choice(const std::string& algorithm, std::vector<std::int64_t> extents,
                  const Target& target = Target::gpu_emulator()) {
  return tune(bench::make_algorithm(algorithm).output, unmeasured(std::move(extents), target));
}

TEST(UsualSchedules, OfHighOrderFillPlanesAheadAndMarch) {
  for (const char* algorithm : {"star25", "star25-f64"}) {
    EXPECT_EQ(choice(algorithm, {512, 512, 512}).best.recipe, "march/plane") << algorithm;
    const TuneResult found = choice(algorithm, {1024, 1024, 512});
    EXPECT_EQ(found.best.recipe, "march/plane") << algorithm;
    EXPECT_EQ(found.best.measured, 0);
    EXPECT_LT(found.best.predicted, found.candidates.front().predicted);
    EXPECT_FALSE(found.schedule.stages.empty());
    EXPECT_NO_THROW(static_cast<void>(compile_to_ptx([&] {
      Func output = bench::make_algorithm(algorithm).output;
      output.apply(found);
      return output;
    }())));
  }
}

// Chunks are whole rounds of the multiprocessors, and tiles fit.
TEST(UsualSchedules, FillTheMultiprocessors) {
  const bench::Algorithm star = bench::make_algorithm("star25");
  for (const std::int64_t planes : {100, 333, 512, 1000}) {
    const tuning::Subject subject(star.output, {512, 512, planes}, Target::gpu_emulator(),
                                  CallSite::current());
    int marches = 0;
    for (const TuneCandidate& c : tuning::usual_candidates(subject)) {
      if (c.recipe.rfind("march/", 0) != 0) continue;
      ++marches;
      const std::int64_t chunk = c.parameters.at("chunk"), rows = c.parameters.at("rows");
      const std::int64_t x = c.parameters.at("tile_x"), y = c.parameters.at("tile_y");
      EXPECT_EQ(512 % (4 * x), 0) << c.text();
      EXPECT_EQ(512 % (y * rows), 0) << c.text();
      const std::int64_t blocks = 512 / (4 * x) * 512 / (y * rows) * ((planes + chunk - 1) / chunk);
      const std::int64_t resident = 132 * std::max<std::int64_t>(c.parameters.at("min_blocks"), 1);
      const std::int64_t rounds = (blocks + resident - 1) / resident;
      EXPECT_GE(static_cast<double>(blocks) / static_cast<double>(rounds * resident), 0.6) << c.text();
    }
    EXPECT_EQ(marches, 6);
  }
  const tuning::Subject odd(star.output, {500, 500, 500}, Target::gpu_emulator(), CallSite::current());
  for (const TuneCandidate& c : tuning::usual_candidates(odd)) {
    EXPECT_EQ(c.recipe.rfind("march/", 0), std::string::npos)
        << "the last blocks would be filled in part";
  }
}

TEST(UsualSchedules, AreNoneWhereNoneIsBetter) {
  EXPECT_EQ(choice("star25", {64, 64, 64}).best.recipe, "") << "a launch is most of the time";
  EXPECT_EQ(choice("stencil7", {512, 512, 512}).best.recipe, "");
  EXPECT_EQ(choice("copy3d", {512, 512, 512}).best.recipe, "");
  EXPECT_EQ(choice("star25", {64, 64, 64}, Target::host()).best.recipe, "");
  EXPECT_EQ(choice("jacobi2d", {2048, 2048}, Target::host()).best.recipe, "");
}

// On the CPU: stores that pass by caches which hold no array, and Funcs in strips.
TEST(UsualSchedules, OfTheCpu) {
  const TuneCandidate planes = choice("stencil7", {1024, 1024, 1024}, Target::host()).best;
  EXPECT_EQ(planes.parameter("planes", 0), 4) << planes.text();
  EXPECT_EQ(planes.parameter("stream", 0), 1) << planes.text();
  EXPECT_EQ(choice("box27", {1024, 1024, 1024}, Target::host()).best.recipe, "");
  const Var x("x"), y("y");
  const ImageParam u(Float(32), 2, "u");
  Func across("across"), down("down");
  Expr sum = u(x, y);
  for (int i = 1; i <= 4; ++i) sum = sum + u(x - i, y) + u(x + i, y);
  across(x, y) = sum * sum;
  sum = across(x, y);
  for (int i = 1; i <= 4; ++i) sum = sum + across(x, y - i) + across(x, y + i);
  down(x, y) = sum;
  const TuneCandidate strips = tune(down, unmeasured({4096, 4096}, Target::host())).best;
  EXPECT_EQ(strips.parameter("place", 0), schedules::kStrip) << strips.text();
}

// Colours of a pixel that lie beside each other in memory, as only a run's arrays say.
TEST(UsualSchedules, OfColoursSideBySide) {
  constexpr int kWide = 1501, kHigh = 700, kColours = 3;
  const std::vector<BufferDim> dims{
      {0, kWide, kColours}, {0, kHigh, kColours * kWide}, {0, kColours, 1}};
  Buffer<std::uint8_t> in(dims), plain(dims), chosen(dims), planar(kWide, kHigh, kColours);
  tuning::fill_random(in, 1);
  const Var x("x"), y("y"), c("c");
  ImageParam u(UInt(8), 3, "u");
  u.set(in);
  Func f("f");
  f(x, y, c) = cast<std::uint8_t>((cast<std::uint16_t>(u(x, y, c)) * 3 + u(x, y, 1)) / 4);
  TuneOptions options = unmeasured({kWide, kHigh, kColours}, Target::host());
  EXPECT_EQ(tune(f, options).best.recipe, "");
  options.outputs = {plain};
  EXPECT_EQ(tune(f, options).best.parameter("channels", 0), kColours);
  setenv("MICA_TUNE", "0", 1);
  f.realize(plain, Target::host());
  setenv("MICA_TUNE", "model", 1);
  Func again("again");
  again(x, y, c) = cast<std::uint8_t>((cast<std::uint16_t>(u(x, y, c)) * 3 + u(x, y, 1)) / 4);
  again.realize(chosen, Target::host());
  again.realize(planar, Target::host());
  // The colours of one are part of its loops.
  Buffer<std::uint8_t> first(std::vector<BufferDim>{{0, kWide, 2}, {0, kHigh, 2 * kWide}, {0, 2, 1}});
  Buffer<std::uint8_t> last(std::vector<BufferDim>{{0, kWide, 2}, {0, kHigh, 2 * kWide}, {1, 2, 1}});
  for (Buffer<std::uint8_t>* some : {&first, &last, &first}) {
    EXPECT_NO_THROW(again.realize(*some, Target::host()));
  }
  unsetenv("MICA_TUNE");
  EXPECT_EQ(last(7, 8, 2), plain(7, 8, 2));
  EXPECT_TRUE(tuning::same_bits(plain, chosen));
  bool same = true;
  planar.for_each([&](std::uint8_t value, const Coordinates& at) {
    same = same && value == plain(at[0], at[1], at[2]);
  });
  EXPECT_TRUE(same) << "planes under a schedule of their own";
}

// A search goes on from them, wherever they stand between the values that it would draw.
TEST(UsualSchedules, HaveNeighbours) {
  const bench::Algorithm star = bench::make_algorithm("star25");
  const tuning::Subject subject(star.output, {512, 512, 333}, Target::gpu_emulator(),
                                CallSite::current());
  for (const TuneCandidate& usual : tuning::usual_candidates(subject)) {
    bool found = false;
    for (const tuning::Family& family : tuning::families_of(subject)) {
      const std::vector<TuneCandidate> near = tuning::neighbours(family, usual);
      EXPECT_EQ(near.empty(), family.recipe != usual.recipe);
      for (const TuneCandidate& other : near) {
        int moved = 0;
        for (const auto& [name, value] : usual.parameters) moved += other.parameters.at(name) != value;
        EXPECT_EQ(moved, 1) << other.text();
        found = true;
      }
    }
    EXPECT_TRUE(found) << usual.text();
  }
}

struct Steps {
  bench::TimeStep step;
  std::vector<AnyBuffer> fields;
  std::vector<RunInput> inputs;
};
Steps steps_of(const std::string& name, const std::vector<std::int64_t>& extents) {
  Steps steps{bench::make_time_step(name), {}, {}};
  for (const ImageParam& field : steps.step.fields) {
    steps.fields.emplace_back(field.type(), extents);
    steps.inputs.emplace_back(field, steps.fields.back());
  }
  return steps;
}

TEST(UsualSchedules, TakeSeveralStepsOfAnIterationAtOnce) {
  const TuneOptions options = unmeasured({}, Target::gpu_emulator());
  const Steps plane = steps_of("5pt-f32", {2048, 2048}), cube = steps_of("7pt-f32", {256, 256, 256});
  EXPECT_GT(tune(bench::iteration_of(plane.step), plane.inputs, options).best.steps(), 4);
  EXPECT_GT(tune(bench::iteration_of(cube.step), cube.inputs, options).best.steps(), 1);
  // Pressure and velocities: a Func each, one kernel together.
  const Steps waves = steps_of("staggered-2d-f32", {2048, 2048});
  EXPECT_GT(tune(bench::iteration_of(waves.step), waves.inputs, options).best.steps(), 3);
  const Steps rooms = steps_of("staggered-3d-f32", {256, 256, 256});
  EXPECT_GT(tune(bench::iteration_of(rooms.step), rooms.inputs, options).best.steps(), 1);
  Iteration watched = bench::iteration_of(plane.step);
  watched.every(6, [](const RunningIteration&) {});
  const int steps = tune(watched, plane.inputs, options).best.steps();
  EXPECT_TRUE(steps == 4 || steps == 6) << "no more than lie between two callbacks";
}

/// What the model chooses for a step on a CPU.
TuneCandidate choice_for_steps(const Iteration& steps, const std::vector<std::int64_t>& extents) {
  tuning::Stepping stepping{.state = tuning::bare(*steps.state()), .whole = false, .most = 64};
  stepping.kept.emplace_back(extents.size(), std::pair(1, 1));
  const tuning::Subject subject(steps.state()->funcs(), extents, Target::host(), CallSite::current(),
                                stepping);
  const tuning::Choice choice = tuning::chosen(subject);
  return choice.better.empty() ? TuneCandidate() : choice.better.front();
}
TuneCandidate choice_for_steps(const std::string& name, const std::vector<std::int64_t>& extents) {
  return choice_for_steps(bench::iteration_of(bench::make_time_step(name)), extents);
}

// Where no cache of a CPU holds the fields.
TEST(UsualSchedules, OfTheCpuTakeSeveralStepsAtOnce) {
  EXPECT_GT(choice_for_steps("5pt-f32", {65536, 65536}).steps(), 3);
  EXPECT_GT(choice_for_steps("9pt-box-f64", {65536, 65536}).steps(), 3);
  const int planes = choice_for_steps("7pt-f32", {2048, 2048, 2048}).steps();
  EXPECT_TRUE(planes > 1 && planes <= 4) << planes;
  EXPECT_EQ(choice_for_steps("gray-scott-f32", {2048, 2048, 2048}).steps(), 1) << "of one field only";
  EXPECT_EQ(choice_for_steps("7pt-f32", {64, 64, 64}).recipe, "") << "a cache holds that";
  EXPECT_EQ(choice_for_steps("5pt-f32", {40, 1 << 27}).steps(), 1) << "short rows";
}

// A step of a wave writes over the older level of time; a tile needs a copy of each.
TEST(UsualSchedules, OfTheCpuLeaveWavesAlone) {
  const Var x("x"), y("y");
  const ImageParam before(Float(32), 2, "before"), now(Float(32), 2, "now");
  Func next("next");
  next(x, y) = 1.9F * now(x, y) - before(x, y) + 0.02F * (now(x - 1, y) + now(x + 1, y) + now(x, y + 1));
  const Iteration wave({{before, now}, {now, next}});
  EXPECT_EQ(choice_for_steps(wave, {65536, 65536}).steps(), 1);
}

int launches_of(const test::FakeGpuProcess& process, std::int64_t steps, bool left_alone,
                const std::string& name = "5pt-f32") {
  const Steps plane = steps_of(name, {2048, 2048});
  Iteration heat = bench::iteration_of(plane.step);
  if (!left_alone) heat.time_tile(1);
  const int before = process.fake().calls("cuLaunchKernel");
  heat.run(plane.inputs, steps, {.target = Target{Backend::Cuda, 0}});
  return process.fake().calls("cuLaunchKernel") - before;
}

/// Does an Iteration's first run, of so many steps, ask the model?
bool asks(std::int64_t steps) {
  const Steps plane = steps_of("5pt-f32", {2048, 2048});
  Iteration heat = bench::iteration_of(plane.step);
  heat.run(plane.inputs, steps, {.target = Target{Backend::Cuda, 0}});
  const auto& tuned = heat.state()->tuned;
  return tuned.size() == 1 && !tuned.front().asks_after;
}

/// No store of tuned schedules is there, and where one would be.
std::filesystem::path without_store(const test::FakeGpuProcess& process) {
  std::filesystem::path store = process.cache().parent_path() / "tuned" / "store.db";
  setenv("MICA_TUNE_STORE", store.c_str(), 1);
  return store;
}

void runs() {
  test::FakeGpuProcess process;
  without_store(process);
  process.expect(!asks(100), "a hundred steps cannot pay, whatever the model would choose");
  process.expect(asks(30'000), "more are worth a look");
  process.expect(launches_of(process, 12, true) >= 12, "a few steps do not pay for code of several");
  constexpr int kMany = 600'000;
  const int left = launches_of(process, kMany, true);
  process.expect(left < kMany / 4, std::to_string(left) + " launches of steps that are left to Mica");
  setenv("MICA_TUNE", "model", 1);
  const int few = launches_of(process, 12, true);
  process.expect(few < 10,
                 std::to_string(few) + " launches where the model's choice is to be taken at once");
  const int waves = launches_of(process, 12, true, "staggered-2d-f32");
  process.expect(waves < 24, std::to_string(waves) + " launches of three Funcs, several steps at once");
  process.expect(launches_of(process, 12, false) >= 12, "steps one by one, as they were asked for");
  setenv("MICA_TUNE", "0", 1);
  process.expect(launches_of(process, 12, true) >= 12, "nothing is chosen where that is switched off");
  process.end();
}

/// A Func is realized as the compiler chooses until it was realized so often that another schedule pays.
void realizes() {
  test::FakeGpuProcess process;
  const bench::Algorithm star = bench::make_algorithm("star25");
  Func output = star.output;
  const std::vector<std::int64_t> extents{256, 128, 64};
  const AnyBuffer input = AnyBuffer::with_halo(Float(32), extents, {4, 4, 4});
  AnyBuffer result(Float(32), extents);
  const RunOptions options{.inputs = {{star.inputs.front(), input}}};
  const auto links = [&] {
    const int before = process.fake().calls("cuLinkComplete");
    output.realize(result, Target{Backend::Cuda, 0}, options);
    return process.fake().calls("cuLinkComplete") - before;
  };
  const std::filesystem::path store = without_store(process);
  process.expect(links() == 1, "the compiler's choice is assembled");
  process.expect(!std::filesystem::exists(store.parent_path()), "a look into the store makes none");
  process.expect(links() == 0, "and used again");
  int later = 0;
  for (int run = 0; run < 40'000 && later == 0; ++run) later = links();
  process.expect(later == 1, "what the model chooses is assembled when it pays");
  process.end();
}

class UsualSchedulesOnAGpu : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(UsualSchedulesOnAGpu, AreTakenByARunOfAnIteration) {
  EXPECT_EXIT(runs(), testing::ExitedWithCode(0), "");
}
TEST_F(UsualSchedulesOnAGpu, AreCompiledForAFuncThatIsRealizedOften) {
  EXPECT_EXIT(realizes(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace mica
