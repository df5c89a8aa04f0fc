#include "fuzz/campaign.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "fuzz/random_directives.h"
#include "fuzz/random_program.h"

namespace mica::test {
namespace {

constexpr std::uint64_t kBatch = 32;

/// Boxes for the inputs whose own ranges boundary conditions take: about where the outputs are, smaller
/// or larger.
std::map<std::string, Box> random_bounded_inputs(const FuzzCase& drawn, Random& random) {
  std::map<std::string, Box> result;
  for (const ProgramStage& stage : drawn.program.stages) {
    if (!stage.boundary) continue;
    const int origin = drawn.program.origin_of(stage.source);
    if (drawn.program.is_stage(origin)) continue;
    const Program::Input& input = drawn.program.inputs[static_cast<std::size_t>(origin)];
    Box box(static_cast<std::size_t>(input.dimensions));
    const Box& output = drawn.boxes.back();
    for (std::size_t d = 0; d < box.size(); ++d) {
      const auto& around = output[std::min(d, output.size() - 1)];
      box[d] = {around.first + random.between(-3, 3), random.between(1, around.second + 4)};
    }
    result.emplace(input.name, box);
  }
  return result;
}

/// The schedule that the compiler chooses where there are no directives, written out as directives.
void choose_by_model(FuzzCase& drawn) {
  TestPipeline pipeline = build(drawn.program);
  if (pipeline.outputs.size() != 1) return;
  try {
    drawn.schedule = pipeline.output().schedule_for(drawn.target);
    drawn.names = {};           // which were drawn for the loops of another schedule
  } catch (const UserError&) {  // as compile() will say
  }
}

}  // namespace

FuzzCase random_case(Random& random, const Target& target, bool illegal, bool coupled) {
  FuzzCase drawn;
  drawn.target = target;
  drawn.program = random_program(random, coupled);
  drawn.boxes = random_boxes(drawn.program, random);
  drawn.bounded_inputs = random_bounded_inputs(drawn, random);
  drawn.data_seed = random.next();
  drawn.contents = random.pick(
      std::vector<Contents>{Contents::Ordinary, Contents::Wide, Contents::Special, Contents::Small});
  drawn.margin = static_cast<int>(random.below(4));
  drawn.row_padding = static_cast<int>(random.below(4));
  drawn.transposed = random.below(12) == 0;
  TestPipeline pipeline = build(drawn.program);
  if (random.below(4) == 0) bound_randomly(pipeline, boxes_of_funcs(drawn), illegal, random);
  const auto directives = static_cast<int>(random.below(illegal ? 9 : 7));
  if (!illegal || random.coin())
    schedule_legally(pipeline, target.is_gpu(), illegal ? 0 : directives, random);
  if (illegal)
    add_random_directives(pipeline, target.is_gpu() || random.below(8) == 0, directives, random);
  drawn.schedule = schedule_of(pipeline);
  if (random.below(4) == 0) drawn.bake = random_bake(arrays_of(drawn), illegal, random);
  drawn.in_place = random.below(3) == 0;
  drawn.in_threads = random.below(8) == 0;
  if (random.below(6) == 0) drawn.names = random_names(drawn.program, drawn.schedule, random);
  if (coupled || random.below(3) == 0) {
    drawn.steps = static_cast<int>(random.between(1, 5));
    if (coupled ? random.coin() : random.below(3) == 0)
      drawn.time_tile = static_cast<int>(random.between(1, drawn.steps));
  }
  if (!illegal && random.below(12) == 0) choose_by_model(drawn);
  return drawn;
}

FuzzCase random_case(std::uint64_t seed, const Target& target, bool illegal) {
  Random random(seed);
  const bool coupled = Random(~seed).below(16) == 0;
  FuzzCase drawn = random_case(random, target, illegal, coupled);
  drawn.seed = seed;
  return drawn;
}

bool is_known(const Outcome& outcome, const std::vector<std::string>& known) {
  return std::any_of(known.begin(), known.end(), [&](const std::string& text) {
    return outcome.message.find(text) != std::string::npos;
  });
}

void check_seconds(const CampaignOptions& options) {
  for (const double seconds : {options.seconds, options.shrink_seconds}) {
    if (std::isfinite(seconds) && seconds >= 0) continue;
    throw UserError("a search of " + std::to_string(seconds) +
                    " seconds: give a number from 0 on, 0 for no limit");
  }
}

CampaignResult run_campaign(const CampaignOptions& options) {
  check_seconds(options);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  CampaignResult result;
  // However short the time: what tests nothing must not look like a success.
  while (!result.failed && (options.cases == 0 || result.cases < options.cases) &&
         (result.cases == 0 || options.seconds == 0 || elapsed() < options.seconds)) {
    std::vector<FuzzCase> batch;
    const std::uint64_t left = options.cases == 0 ? kBatch : options.cases - result.cases;
    for (std::uint64_t i = 0; i < std::min(kBatch, left); ++i) {
      batch.push_back(
          random_case(options.first_seed + result.cases + i, options.target, options.illegal));
    }
    const std::vector<Outcome> outcomes = run_isolated(batch, options.seconds_a_case);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      ++result.cases;
      ++result.verdicts[outcomes[i].verdict];
      if (outcomes[i].verdict == Verdict::Refused) ++result.refusals[outcomes[i].message.substr(0, 160)];
      if (!is_failure(outcomes[i].verdict) || is_known(outcomes[i], options.known)) continue;
      result.failed = batch[i];
      result.outcome = outcomes[i];
      break;
    }
  }
  result.seconds = elapsed();
  if (result.failed) {
    result.shrunk =
        shrink(*result.failed, result.outcome, options.shrink_seconds, options.seconds_a_case);
  }
  return result;
}

std::string to_string(const CampaignResult& result) {
  char seconds[32];
  (void)std::snprintf(seconds, sizeof(seconds), "%.1f", result.seconds);
  std::string text = std::to_string(result.cases) + " cases in " + seconds + " s";
  const char* separator = ": ";
  for (const auto& [verdict, count] : result.verdicts) {
    text += separator + std::to_string(count) + " " + to_string(verdict);
    separator = ", ";
  }
  return text;
}

}  // namespace mica::test
