// The search for an Iteration's steps on the stand-in driver: see tests/unit/tune_gpu_test.cpp. And the
// model of several steps at once beside times that were measured.
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "bench/model/measured.h"
#include "bench/time.h"
#include "fuzz/random_data.h"
#include "schedules/mica.h"
#include "schedules/tune/predict.h"
#include "schedules/tune/ranking.h"
#include "schedules/tune/tune_steps.h"
#include "tests/support/fake_cuda.h"

namespace mica {
namespace {

class TuneStepsOnAGpu : public test::FakeGpuTest {
 protected:
  void SetUp() override {
    FakeGpuTest::SetUp();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

struct Tuned {
  TuneResult found;
  std::map<std::string, int> measured;  ///< of each family
  int several = 0;                      ///< of several steps at once
};

/// Each field, of f32, has `extents` points.
Tuned search(const bench::TimeStep& step, const std::vector<std::int64_t>& extents, int budget) {
  std::vector<RunInput> inputs;
  for (const ImageParam& field : step.fields) inputs.emplace_back(field, AnyBuffer(Float(32), extents));
  for (RunInput& input : inputs) test::fill_random(input.buffer, 3);
  TuneOptions options;
  options.target = Target{Backend::Cuda, 0};
  options.keep = false;
  options.budget = budget;
  options.seconds = 300;  // more than the slowest build takes
  Tuned tuned{tune(bench::iteration_of(step), inputs, options), {}, 0};
  for (const TuneCandidate& c : tuned.found.candidates) {
    tuned.measured[c.recipe] += c.measured > 0 ? 1 : 0;
    tuned.several += c.measured > 0 && c.steps() > 1 ? 1 : 0;
  }
  return tuned;
}

void searches() {
  test::FakeGpuProcess process;
  const Tuned tuned = search(bench::make_time_step("5pt-f32"), {300, 200}, 10);
  for (const TuneCandidate& c : tuned.found.candidates) {
    process.expect(c.refused.empty(), c.text() + ": " + c.refused);
  }
  for (const char* family : {"", "pmpp/naive", "march/plane", "time/march"}) {
    process.expect(tuned.measured.count(family) > 0, std::string("no \"") + family + "\" is measured");
  }
  process.expect(tuned.several > 0, "no several steps at once are measured");
  process.expect(process.fake().calls("cuGraphLaunch") > 0, "steps are launched as graphs");
  process.end();
}

TEST_F(TuneStepsOnAGpu, MeasuresSingleStepsAndSeveralAtOnceInGraphs) {
  EXPECT_EXIT(searches(), testing::ExitedWithCode(0), "");
}

/// Fields are read at twice a point's place, too, which no march holds in its registers.
bench::TimeStep spread_step() {
  const Var x("x"), y("y"), z("z");
  bench::TimeStep step{Func("next"), {ImageParam(Float(32), 3, "u")}};
  const Func u = BoundaryConditions::repeat_edge(step.fields.front());
  step.next(x, y, z) = 0.1F * (u(x - 1, y, z) + u(x + 1, y, z) + u(x, y - 1, z) + u(x, y + 1, z) +
                               u(x, y, z - 1) + u(x, y, z + 1) + u(2 * x, y, z));
  return step;
}

void refuses() {
  test::FakeGpuProcess process;
  const Tuned tuned = search(spread_step(), {64, 32, 24}, 4);
  process.expect(tuned.several == 0, "several steps at once are measured");
  for (const TuneCandidate& c : tuned.found.candidates) {
    process.expect(c.steps() == 1, c.text() + " is compiled, and is known to be no single march");
  }
  process.end();
}

TEST_F(TuneStepsOnAGpu, CompilesNoStepsAtOnceThatNoMarchHolds) {
  EXPECT_EXIT(refuses(), testing::ExitedWithCode(0), "");
}

// ---- the model --------------------------------------------------------------------------------------

/// The fastest by hand of each case of docs/time.md, but of 5 points, where long runs have launches in
/// parts, of 2026-12-01-h200-steps.csv. Of 7 and 27 points in f64 and of two fields trees have seen
/// nothing.
struct Line {
  const char* name;
  std::int64_t size;
  double milliseconds;  ///< a step
  schedules::Parameters parameters;
  std::int64_t rim = 1;
};

const std::vector<Line>& measured_on_an_h200() {
  static const std::vector<Line> lines = {
      {"7pt-f32",
       512,
       0.1070,
       {{"steps", 4}, {"vec", 2}, {"tile_y", 12}, {"rows", 6}, {"chunk", 64}, {"halves", 3}}},
      {"7pt-f64",
       512,
       0.2326,
       {{"steps", 3}, {"tile_y", 8}, {"rows", 5}, {"chunk", 128}, {"halves", 4}}},
      {"27pt-f64",
       512,
       0.4628,
       {{"steps", 2}, {"tile_y", 12}, {"rows", 3}, {"chunk", 128}, {"halves", 4}}},
      {"13pt-f32",
       512,
       0.1940,
       {{"steps", 2}, {"vec", 2}, {"tile_y", 12}, {"rows", 6}, {"chunk", 64}, {"halves", 4}},
       2},
      {"5pt-f32",
       16384,
       0.0816,
       {{"steps", 12}, {"vec", 4}, {"chunk", 256}, {"registers", 168}, {"ahead", 7}}},
      {"5pt-f64", 8192, 0.0457, {{"steps", 8}, {"vec", 4}, {"chunk", 256}}},
      {"9pt-box-f64",
       9504,
       0.0694,
       {{"steps", 8}, {"vec", 4}, {"chunk", 297}, {"registers", 255}, {"ahead", 7}}},
      {"gray-scott-f32",
       256,
       0.0528,
       {{"steps", 2}, {"vec", 2}, {"rows", 2}, {"tile_y", 12}, {"chunk", 128}, {"scatter", 0}},
       0},
  };
  return lines;
}

tuning::Subject subject_of(const bench::TimeStep& step, std::int64_t size, std::int64_t rim) {
  const std::vector<std::int64_t> extents(static_cast<std::size_t>(step.next.dimensions()), size);
  return bench::step_subject(step, extents, rim, Target::gpu_emulator());
}

TEST(TuneStepsModel, IsNearTheTimesOfAnH200) {
  const tuning::Rates rates = tuning::rates_of(Target::gpu_emulator(), false);
  double sum = 0;
  for (const Line& line : measured_on_an_h200()) {
    const tuning::Subject subject = subject_of(bench::make_time_step(line.name), line.size, line.rim);
    TuneCandidate candidate;
    candidate.recipe = "time/march";
    candidate.parameters = line.parameters;
    const double error =
        std::log(tuning::predicted_seconds(subject, candidate, rates) / (line.milliseconds * 1e-3));
    EXPECT_LT(std::abs(error), 0.35) << line.name << " " << candidate.text() << ": " << error;
    sum += error * error;
  }
  EXPECT_LT(std::sqrt(sum / static_cast<double>(measured_on_an_h200().size())), 0.15);
}

TEST(TuneStepsModel, RefusesWhatNoMarchHolds) {
  const tuning::Rates rates = tuning::rates_of(Target::gpu_emulator(), false);
  TuneCandidate candidate;
  candidate.recipe = "time/march";
  candidate.parameters = {{"steps", 2}};
  EXPECT_THROW(
      std::ignore = tuning::predicted_seconds(subject_of(spread_step(), 128, 0), candidate, rates),
      UserError);
  // The warp's 128 points leave none that 80 steps reach from within.
  candidate.parameters = {{"steps", 64}, {"vec", 2}};
  EXPECT_THROW(std::ignore = tuning::predicted_seconds(
                   subject_of(bench::make_time_step("5pt-f32"), 4096, 1), candidate, rates),
               UserError);
}

TEST(TuneStepsModel, PrefersSeveralStepsWhereTheMemoryIsTheLimit) {
  const tuning::Rates rates = tuning::rates_of(Target::gpu_emulator(), false);
  for (const char* name : {"7pt-f32", "5pt-f64"}) {
    const tuning::Subject subject =
        subject_of(bench::make_time_step(name), name[0] == '7' ? 512 : 8192, 1);
    TuneCandidate single, several;
    several.recipe = "time/march";
    several.parameters = {{"steps", 3}};
    EXPECT_LT(tuning::predicted_seconds(subject, several, rates),
              0.9 * tuning::predicted_seconds(subject, single, rates))
        << name;
  }
}

}  // namespace
}  // namespace mica
