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

struct Line {
  const char* name;
  std::int64_t size;
  double milliseconds;  ///< a step
  const char* candidate;
};

/// Lines of bench/results/2026-11-23-h200-time.txt and 2026-11-24-h200-periods.txt: of code as it was
/// when the formula was fitted.
const std::vector<Line>& measured_at_first() {
  static const std::vector<Line> lines = {
      {"7pt-f32", 512, 0.2226, "time/march steps=2 chunk=57 tile_y=12"},
      {"7pt-f32", 512, 0.1799, "time/march steps=3 chunk=52"},
      {"7pt-f32", 1024, 1.1092, "time/march steps=3 chunk=103 rows=5"},
      {"7pt-f64", 512, 0.3882, "time/march steps=2 rows=5 tile_y=12"},
      {"7pt-f64", 512, 0.2901, "time/march steps=3 chunk=52"},
      {"27pt-f64", 512, 0.5404, "time/march steps=2"},
      {"13pt-f32", 512, 0.3410, "time/march steps=2"},
      {"5pt-f32", 16384, 0.1507, "time/march steps=4"},
      {"5pt-f32", 16384, 0.0960, "time/march steps=8 registers=128"},
      {"5pt-f32", 16384, 0.0848, "time/march steps=12 registers=168"},
      {"5pt-f64", 8192, 0.0818, "time/march steps=4 vec=4"},
      {"5pt-f64", 8192, 0.0580, "time/march steps=8"},
      {"9pt-box-f64", 9504, 0.1167, "time/march steps=4 vec=4"},
      {"9pt-box-f64", 9504, 0.0898, "time/march steps=8 vec=4"},
      {"gray-scott-f32", 256, 0.0604, "time/march steps=2 vec=2 rows=2 tile_y=12 chunk=128 scatter=0"},
  };
  return lines;
}

/// The fastest by hand of each case of docs/time.md. Of 7 and 27 points in f64 and of two fields trees
/// have seen nothing, nor of the launches in parts of long runs in two dimensions.
const std::vector<Line>& fastest_by_hand() {
  static const std::vector<Line> lines = {
      {"7pt-f32", 512, 0.1070, "time/march steps=4 vec=2 tile_y=12 rows=6 chunk=64 halves=3"},
      {"7pt-f64", 512, 0.2326, "time/march steps=3 tile_y=8 rows=5 chunk=128 halves=4"},
      {"27pt-f64", 512, 0.4628, "time/march steps=2 tile_y=12 rows=3 chunk=128 halves=4"},
      {"13pt-f32", 512, 0.1940, "time/march steps=2 vec=2 tile_y=12 rows=6 chunk=64 halves=4"},
      {"5pt-f32", 16384, 0.0791, "time/march steps=12 vec=4 chunk=512 registers=168 ahead=7"},
      {"5pt-f64", 8192, 0.0396, "time/march steps=8 vec=4 chunk=256 registers=255 ahead=7"},
      {"9pt-box-f64", 9504, 0.0694, "time/march steps=8 vec=4 chunk=297 registers=255 ahead=7"},
      {"gray-scott-f32", 256, 0.0528, "time/march steps=2 vec=2 rows=2 tile_y=12 chunk=128 scatter=0"},
  };
  return lines;
}

/// Logarithms of a time that the model expects over the one that was measured: of `lines`, with or
/// without trees.
class Errors {
 public:
  Errors(const std::vector<Line>& lines, bool trees) {
    bench::MeasuredSubjects subjects;
    for (const Line& line : lines) {
      const bench::TimeStep step = bench::make_time_step(line.name);
      bench::Measured measured;
      measured.algorithm = "time/" + std::string(line.name);
      measured.candidate = bench::candidate_of(line.candidate);
      measured.extents.assign(static_cast<std::size_t>(step.next.dimensions()), line.size);
      const tuning::Subject& subject = subjects.of(measured);
      double seconds = 0;
      if (trees) {
        seconds = tuning::predicted_seconds(subject, measured.candidate, subjects.rates());
      } else {
        for (const tuning::Seen& kernel :
             tuning::kernels_seen(subject, measured.candidate, subjects.rates())) {
          seconds += kernel.seconds / measured.candidate.steps();
        }
      }
      const double error = std::log(seconds / (line.milliseconds * 1e-3));
      EXPECT_LT(std::abs(error), 0.35) << line.name << " " << line.candidate << ": " << error;
      squares_ += error * error / static_cast<double>(lines.size());
    }
  }
  [[nodiscard]] double mean() const { return std::sqrt(squares_); }

 private:
  double squares_ = 0;
};

TEST(TuneStepsModel, IsNearTheTimesOfAnH200) {
  EXPECT_LT(Errors(measured_at_first(), false).mean(), 0.15);
  EXPECT_LT(Errors(fastest_by_hand(), true).mean(), 0.2);
}

TEST(TuneStepsModel, RefusesWhatNoMarchHolds) {
  const tuning::Rates rates = tuning::rates_of(Target::gpu_emulator(), false);
  TuneCandidate candidate;
  candidate.recipe = "time/march";
  candidate.parameters = {{"steps", 2}};
  EXPECT_THROW(std::ignore = tuning::predicted_seconds(
                   bench::step_subject(spread_step(), {128, 128, 128}, 0, Target::gpu_emulator()),
                   candidate, rates),
               UserError);
  // The warp's 128 points leave none that 80 steps reach from within.
  candidate.parameters = {{"steps", 64}, {"vec", 2}};
  EXPECT_THROW(
      std::ignore = tuning::predicted_seconds(
          bench::step_subject(bench::make_time_step("5pt-f32"), {4096, 4096}, 1, Target::gpu_emulator()),
          candidate, rates),
      UserError);
}

TEST(TuneStepsModel, PrefersSeveralStepsWhereTheMemoryIsTheLimit) {
  const tuning::Rates rates = tuning::rates_of(Target::gpu_emulator(), false);
  for (const char* name : {"7pt-f32", "5pt-f64"}) {
    const tuning::Subject subject = bench::step_subject(
        bench::make_time_step(name),
        name[0] == '7' ? std::vector<std::int64_t>(3, 512) : std::vector<std::int64_t>(2, 8192), 1,
        Target::gpu_emulator());
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
