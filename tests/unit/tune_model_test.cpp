// The tuner's model of a GPU beside times that were measured on one.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/algorithms.h"
#include "schedules/tune/predict.h"
#include "schedules/tune/ranking.h"
#include "tests/support/expect_error.h"
#include "tests/support/source_root.h"

namespace mica {
namespace {

struct Measured {
  std::string algorithm;
  std::vector<std::int64_t> extents;
  double seconds = 0;
  std::vector<int> registers;  ///< of each kernel
  TuneCandidate candidate;
};

std::vector<std::int64_t> numbers(const std::string& text, char between) {
  std::stringstream in(text);
  std::vector<std::int64_t> all;
  for (std::string number; std::getline(in, number, between);) all.push_back(std::stoll(number));
  return all;
}

TuneCandidate candidate_of(const std::string& text) {
  std::stringstream in(text);
  TuneCandidate candidate;
  std::string word;
  in >> word;
  if (word == "no") return candidate;
  candidate.recipe = word;
  while (in >> word) {
    const std::size_t at = word.find('=');
    candidate.parameters[word.substr(0, at)] = std::stoll(word.substr(at + 1));
  }
  return candidate;
}

/// Every `stride`th candidate that was measured on an H200.
std::vector<Measured> measured(std::size_t stride) {
  std::ifstream in(test::source_root() / "bench/results/2026-11-23-h200-tune.csv");
  std::vector<Measured> all;
  std::string line;
  std::getline(in, line);
  for (std::size_t i = 0; std::getline(in, line); ++i) {
    if (i % stride != 0) continue;
    std::stringstream fields(line);
    std::string algorithm, extents, milliseconds, registers, schedule;
    std::getline(fields, algorithm, ',');
    std::getline(fields, extents, ',');
    std::getline(fields, milliseconds, ',');
    std::getline(fields, registers, ',');
    std::getline(fields, schedule);
    Measured m{
        algorithm, numbers(extents, 'x'), std::stod(milliseconds) * 1e-3, {}, candidate_of(schedule)};
    for (const std::int64_t count : numbers(registers, '+'))
      m.registers.push_back(static_cast<int>(count));
    all.push_back(std::move(m));
  }
  return all;
}

/// Subjects by the algorithm's name, made once.
class Model {
 public:
  double operator()(const Measured& m, bool with_registers) {
    const auto known = subjects_.try_emplace(m.algorithm, bench::make_algorithm(m.algorithm).output,
                                             m.extents, target_, CallSite::current());
    std::vector<KernelInfo> kernels;
    for (const int count : m.registers) {
      KernelInfo kernel;
      kernel.registers = count;
      kernel.local_bytes = 0;
      kernels.push_back(kernel);
    }
    if (!with_registers) kernels.clear();
    return tuning::predicted_seconds(known.first->second, m.candidate, rates_, kernels);
  }

 private:
  const Target target_ = Target::gpu_emulator();
  const tuning::Rates rates_ = tuning::rates_of(target_, false);
  std::map<std::string, tuning::Subject> subjects_;
};

double median_error(const std::vector<Measured>& all, bool with_registers) {
  Model predicted;
  std::vector<double> errors;
  for (const Measured& m : all) {
    errors.push_back(std::abs(std::log(predicted(m, with_registers) / m.seconds)));
  }
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

TEST(TuneModel, IsNearTheTimesOfAnH200) {
  const std::vector<Measured> all = measured(17);
  ASSERT_GT(all.size(), 60U);
  EXPECT_LT(median_error(all, true), 0.13);
  EXPECT_LT(median_error(all, false), 0.14);
}

TEST(TuneModel, KnowsTheFastFromTheSlow) {
  // Which of two candidates takes twice as long as the other it knows in most cases: what the assembler
  // spills it can only guess.
  std::map<std::string, std::vector<std::pair<double, double>>> of;
  Model predicted;
  for (const Measured& m : measured(7)) of[m.algorithm].emplace_back(m.seconds, predicted(m, false));
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

TEST(TuneModel, TakesTheAssemblersWordForRegistersAndSpills) {
  const bench::Algorithm algorithm = bench::make_algorithm("stencil7");
  const Target target = Target::gpu_emulator();
  const tuning::Subject subject(algorithm.output, {512, 512, 512}, target, CallSite::current());
  const tuning::Rates rates = tuning::rates_of(target, false);
  const TuneCandidate candidate = candidate_of("pmpp/naive block_x=32 block_y=8 vec=4 planes=4");
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
  EXPECT_GT(tuning::predicted_seconds(subject, candidate_of("mhd/substep vec=2"), rates), 0);
  EXPECT_TRUE(test::fails_with(
      [&] {
        static_cast<void>(tuning::predicted_seconds(
            subject, candidate_of("pmpp/naive block_x=32 block_y=4 planes=8 vec=4"), rates));
      },
      {"operations", "8000"}));
  // Windows of eight fields: seven planes each, so that steps are written out twenty times.
  EXPECT_TRUE(test::fails_with(
      [&] {
        static_cast<void>(
            tuning::predicted_seconds(subject, candidate_of("mhd/substep chunk=64 windows=8"), rates));
      },
      {"operations in its code", "24000"}));
}

TEST(TuneRanking, TakesSomeOfEachFamilyFirst) {
  const bench::Algorithm algorithm = bench::make_algorithm("star25");
  const Target target = Target::gpu_emulator();
  const tuning::Subject subject(algorithm.output, {256, 256, 256}, target, CallSite::current());
  const tuning::Rates rates = tuning::rates_of(target, false);
  tuning::Ranking ranking(subject, rates, 30);
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

}  // namespace
}  // namespace mica
