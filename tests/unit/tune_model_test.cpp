// The tuner's model of a GPU beside times that were measured on one.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "bench/model/measured.h"
#include "schedules/tune/predict.h"
#include "schedules/tune/rank_correlation.h"
#include "schedules/tune/ranking.h"
#include "tests/support/expect_error.h"
#include "tests/support/source_root.h"

namespace mica {
namespace {

/// Every `stride`th candidate that was measured on an H200.
std::vector<bench::Measured> measured(std::size_t stride,
                                      const char* table = "2026-11-23-h200-tune.csv") {
  return bench::read_measured(test::source_root() / "bench/results" / table, stride);
}

/// What the model expects of one.
class Model {
 public:
  double operator()(const bench::Measured& m, bool with_registers) {
    return tuning::predicted_seconds(subjects_.of(m), m.candidate, subjects_.rates(),
                                     with_registers ? m.kernels : std::vector<KernelInfo>());
  }

 private:
  bench::MeasuredSubjects subjects_;
};

double median_error(const std::vector<bench::Measured>& all, bool with_registers) {
  Model predicted;
  std::vector<double> errors;
  for (const bench::Measured& m : all) {
    errors.push_back(std::abs(std::log(predicted(m, with_registers) / m.seconds)));
  }
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

TEST(TuneModel, IsNearTheTimesOfAnH200) {
  const std::vector<bench::Measured> all = measured(17);
  ASSERT_GT(all.size(), 60U);
  EXPECT_LT(median_error(all, true), 0.09);
  EXPECT_LT(median_error(all, false), 0.09);
  // Drawn and measured after trees had learned.
  const std::vector<bench::Measured> unseen = measured(11, "2026-11-30-h200-tune-3.csv");
  ASSERT_GT(unseen.size(), 200U);
  EXPECT_LT(median_error(unseen, true), 0.04);
  EXPECT_LT(median_error(unseen, false), 0.06);
}

/// Of each algorithm, the rank correlation of what the model expects with what was measured.
std::map<std::string, double> correlations(const std::vector<bench::Measured>& all) {
  std::map<std::string, std::vector<TuneCandidate>> of;
  Model predicted;
  for (const bench::Measured& m : all) {
    TuneCandidate one = m.candidate;
    one.predicted = predicted(m, true);
    one.measured = m.seconds;
    of[m.algorithm].push_back(std::move(one));
  }
  std::map<std::string, double> found;
  for (const auto& [algorithm, candidates] : of) {
    if (candidates.size() > 8) found[algorithm] = tuning::rank_correlation(candidates);
  }
  return found;
}

TEST(TuneModel, PutsCandidatesInTheirOrder) {
  // Those that trees have learned from: what they see of a candidate is what they saw then.
  const std::vector<bench::Measured> known = measured(24, "2026-11-30-h200-tune.csv");
  EXPECT_LT(median_error(known, true), 0.012);
  const auto learned = correlations(known);
  ASSERT_GE(learned.size(), 14U);
  for (const auto& [algorithm, ranks] : learned) EXPECT_GT(ranks, 0.9) << algorithm;
  // Every second of those that were drawn and measured after trees had learned.
  const auto unseen = correlations(measured(2, "2026-11-30-h200-tune-3.csv"));
  ASSERT_GE(unseen.size(), 16U);
  for (const auto& [algorithm, ranks] : unseen) EXPECT_GT(ranks, 0.85) << algorithm;
  // Older ones, of code as it was then.
  const auto old = correlations(measured(3));
  ASSERT_GE(old.size(), 14U);
  double sum = 0;
  for (const auto& [algorithm, ranks] : old) {
    EXPECT_GT(ranks, 0.5) << algorithm;  // of some all are within a few percent
    sum += ranks;
  }
  EXPECT_GT(sum / static_cast<double>(old.size()), 0.85);
}

TEST(TuneModel, KnowsTheFastFromTheSlow) {
  // Which of two candidates takes twice as long as the other it knows in most cases: what the assembler
  // spills it can only guess.
  std::map<std::string, std::vector<std::pair<double, double>>> of;
  Model predicted;
  for (const bench::Measured& m : measured(7))
    of[m.algorithm].emplace_back(m.seconds, predicted(m, false));
  int pairs = 0, right = 0;
  for (const auto& [algorithm, times] : of) {
    for (const auto& [a, model_a] : times) {
      for (const auto& [b, model_b] : times) {
        if (b < 2 * a) continue;
        ++pairs;
        right += model_b > model_a ? 1 : 0;
      }
    }
  }
  ASSERT_GT(pairs, 50);
  EXPECT_GT(right, 0.85 * pairs);
}

TEST(TuneModel, TakesACopyNearTheUsualForTheUsual) {
  const double usual = tuning::rates_of(Target::gpu_emulator(), false).copy;
  const double memory = tuning::rates_of(Target::gpu_emulator(), false).memory;
  EXPECT_GT(memory, usual) << "a copy waits now and then";
  for (const double near : {0.95, 0.98, 1.0, 1.05}) {
    EXPECT_EQ(tuning::memory_rate(near * usual, usual), memory) << near;
  }
  EXPECT_NEAR(tuning::memory_rate(0.7 * usual, usual), 0.7 * memory, 1e-9 * memory) << "another GPU's";
  EXPECT_NEAR(tuning::memory_rate(1.6 * usual, usual), 1.6 * memory, 1e-9 * memory);
}

TEST(TuneModel, OfSmallGridsKeepsToTheFormula) {
  const bench::Algorithm algorithm = bench::make_algorithm("stencil7");
  const Target target = Target::gpu_emulator();
  const tuning::Rates rates = tuning::rates_of(target, false);
  for (const std::int64_t side : {1, 64, 255, 256}) {
    const tuning::Subject subject(algorithm.output, {side, side, side}, target, CallSite::current());
    const double formula = tuning::kernels_seen(subject, {}, rates).front().seconds;
    const double predicted = tuning::predicted_seconds(subject, {}, rates);
    EXPECT_EQ(predicted != formula, side == 256) << side;
  }
}

TEST(TuneModel, TakesTheAssemblersWordForRegistersAndSpills) {
  const bench::Algorithm algorithm = bench::make_algorithm("stencil7");
  const Target target = Target::gpu_emulator();
  const tuning::Subject subject(algorithm.output, {512, 512, 512}, target, CallSite::current());
  const tuning::Rates rates = tuning::rates_of(target, false);
  const TuneCandidate candidate = bench::candidate_of("pmpp/naive block_x=32 block_y=8 vec=4 planes=4");
  const auto with = [&](int registers, int local_bytes) {
    KernelInfo kernel;
    kernel.registers = registers;
    kernel.local_bytes = local_bytes;
    return tuning::predicted_seconds(subject, candidate, rates, {kernel});
  };
  EXPECT_GT(with(168, 0), 1.02 * with(64, 0)) << "fewer blocks are resident";
  EXPECT_GT(with(64, 512), 1.05 * with(64, 0)) << "spills take time";
}

TEST(TuneModel, LeavesOutWhatTakesTheAssemblerMinutes) {
  const bench::Algorithm algorithm = bench::make_algorithm("mhd");
  const Target target = Target::gpu_emulator();
  const tuning::Subject subject(algorithm.output, {256, 256, 256}, target, CallSite::current());
  const tuning::Rates rates = tuning::rates_of(target, false);
  EXPECT_GT(tuning::predicted_seconds(subject, bench::candidate_of("mhd/substep vec=2"), rates), 0);
  EXPECT_TRUE(test::fails_with(
      [&] {
        static_cast<void>(tuning::predicted_seconds(
            subject, bench::candidate_of("pmpp/naive block_x=32 block_y=4 planes=8 vec=4"), rates));
      },
      {"operations", "8000"}));
  // Windows of eight fields: seven planes each, so that steps are written out twenty times.
  EXPECT_TRUE(test::fails_with(
      [&] {
        static_cast<void>(tuning::predicted_seconds(
            subject, bench::candidate_of("mhd/substep chunk=64 windows=8"), rates));
      },
      {"operations in its code", "24000"}));
}

TEST(TuneRanking, TakesSomeOfEachFamilyFirst) {
  const bench::Algorithm algorithm = bench::make_algorithm("star25");
  const Target target = Target::gpu_emulator();
  const tuning::Subject subject(algorithm.output, {256, 256, 256}, target, CallSite::current());
  const tuning::Rates rates = tuning::rates_of(target, false);
  tuning::Ranking ranking(subject, rates, 30, TuneOptions().seed);
  std::map<std::string, int> taken;
  std::set<std::string> texts;
  const std::size_t families = tuning::families_of(subject).size();
  ASSERT_GT(families, 2U);
  for (std::size_t i = 0; i < 5 * families; ++i) {
    const auto candidate = ranking.take();
    ASSERT_TRUE(candidate);
    ++taken[candidate->recipe];
    texts.insert(candidate->text());
  }
  EXPECT_EQ(taken.size(), families);
  for (const auto& [recipe, count] : taken) EXPECT_EQ(count, 5) << recipe;
  EXPECT_EQ(texts.size(), 5 * families);
}

TEST(TuneRanking, LooksAtOneRecipeWhereOneIsNamed) {
  const bench::Algorithm algorithm = bench::make_algorithm("star25");
  const Target target = Target::gpu_emulator();
  const tuning::Subject subject(algorithm.output, {256, 256, 256}, target, CallSite::current());
  const tuning::Rates rates = tuning::rates_of(target, false);
  const auto later = tuning::Ranking::Clock::now() + std::chrono::hours(1);
  tuning::Ranking ranking(subject, rates, 30, 1, "seismic/z-window");
  EXPECT_EQ(ranking.families(), 1U);
  for (int i = 0; i < 5; ++i) {
    const auto best = ranking.take(), drawn = ranking.draw(later);
    ASSERT_TRUE(best && drawn);
    EXPECT_EQ(best->recipe, "seismic/z-window");
    EXPECT_EQ(drawn->recipe, "seismic/z-window");
  }
  TuneOptions options{.extents = {256, 256, 256}, .budget = 0, .target = target};
  options.only = "blur/inline";
  EXPECT_TRUE(test::fails_with([&] { tune(algorithm.output, options); },
                               {"blur/inline", "march/plane", "seismic/z-window"}, __LINE__ - 1));
  options.only = "march/plane";
  EXPECT_EQ(tune(algorithm.output, options).best.recipe, "march/plane");
  options.only = "seismic/z-window";  // nobody takes one unmeasured
  EXPECT_EQ(tune(algorithm.output, options).best.recipe, "");
}

TEST(TuneRanking, DrawsUntilItsTimeIsOver) {
  const bench::Algorithm algorithm = bench::make_algorithm("star25");
  const Target target = Target::gpu_emulator();
  const tuning::Subject subject(algorithm.output, {256, 256, 256}, target, CallSite::current());
  const tuning::Rates rates = tuning::rates_of(target, false);
  tuning::Ranking ranking(subject, rates, 0, 1, "march/plane");
  const auto now = tuning::Ranking::Clock::now();
  EXPECT_FALSE(ranking.draw(now)) << "candidates are predicted when no time is left";
  std::set<std::string> texts;
  for (int i = 0; i < 40; ++i) {
    const auto drawn = ranking.draw(now + std::chrono::hours(1));
    ASSERT_TRUE(drawn);
    EXPECT_GT(drawn->predicted, 0) << drawn->text();
    EXPECT_TRUE(texts.insert(drawn->text()).second) << drawn->text();
  }
}

}  // namespace
}  // namespace mica
