#include "bench/model/measured.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "bench/algorithms.h"
#include "bench/split.h"
#include "codegen/iterate/run_setup.h"
#include "dsl/expr/diagnostics.h"
#include "schedules/tune/tune_steps.h"

namespace mica::bench {
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

std::vector<Measured> read_measured(const std::filesystem::path& table, std::size_t stride) {
  std::ifstream in(table);
  if (!in) throw UserError("there is no table " + table.string());
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = split(line, ',');
  const auto column = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? std::nullopt
                             : std::optional(static_cast<std::size_t>(at - names.begin()));
  };
  const auto needed = [&](std::string_view name) {
    const auto at = column(name);
    if (!at) throw UserError(table.string() + " has no column " + std::string(name));
    return *at;
  };
  const std::size_t algorithm = needed("algorithm"), extents = needed("extents"),
                    time = needed("milliseconds"), registers = needed("registers"),
                    schedule = needed("schedule");
  const auto local = column("local_bytes") ? column("local_bytes") : column("stack");
  std::vector<Measured> all;
  for (std::size_t i = 0; std::getline(in, line); ++i) {
    if (i % stride != 0) continue;
    const std::vector<std::string> fields = split(line, ',');
    if (fields.size() < names.size()) {
      throw UserError(table.string() + " has " + std::to_string(fields.size()) + " columns, not " +
                      std::to_string(names.size()) + ", in line " + std::to_string(i + 2));
    }
    Measured m;
    m.algorithm = fields[algorithm];
    for (const std::string& n : split(fields[extents], 'x')) m.extents.push_back(std::stoll(n));
    m.seconds = std::stod(fields[time]) * 1e-3;
    m.candidate = candidate_of(fields[schedule]);
    if (m.seconds <= 0) continue;
    const std::vector<std::string> counts = split(fields[registers], '+');
    const std::vector<std::string> spilled = split(local ? fields[*local] : "", '+');
    for (std::size_t k = 0; k < counts.size() && !counts[k].empty(); ++k) {
      KernelInfo kernel;
      kernel.registers = std::stoi(counts[k]);
      kernel.local_bytes = local && k < spilled.size() ? std::stoi(spilled[k]) : 0;
      m.kernels.push_back(std::move(kernel));
    }
    all.push_back(std::move(m));
  }
  return all;
}

tuning::Subject step_subject(const TimeStep& step, const std::vector<std::int64_t>& extents,
                             std::int64_t rim, const Target& target) {
  const Iteration steps = iteration_of(step);
  tuning::Stepping stepping{.state = tuning::bare(*steps.state()), .whole = rim == 0, .most = 64};
  stepping.kept.assign(steps.state()->outputs.size(),
                       iterate::Ranges(extents.size(), std::pair(rim, rim)));
  std::vector<std::int64_t> box;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    box.push_back(extents[d] - 2 * rim);
    for (const ImageParam& field : step.fields) {
      stepping.symbols[field.name() + ".min." + std::to_string(d)] = -rim;
      stepping.symbols[field.name() + ".extent." + std::to_string(d)] = extents[d];
    }
  }
  return {steps.state()->funcs(), box, target, CallSite::current(), stepping};
}

namespace {

/// Points at the fields' ends that a run does not step, the same on a grid of any size.
std::int64_t rim_of(const TimeStep& step, const Target& target) {
  constexpr std::int64_t kFew = 64;
  const std::vector<std::int64_t> few(static_cast<std::size_t>(step.next.dimensions()), kFew);
  std::vector<RunInput> fields;
  for (const ImageParam& field : step.fields) fields.emplace_back(field, AnyBuffer(field.type(), few));
  const Iteration steps = iteration_of(step);
  const iterate::RunSetup setup(*steps.state(), fields, target, {}, CallSite::current());
  return setup.box().front().first;
}

tuning::Subject subject_of(const Measured& measured, const Target& target) {
  constexpr std::string_view kIterated = "time/";
  if (!measured.algorithm.starts_with(kIterated)) {
    return {make_algorithm(measured.algorithm).output, measured.extents, target, CallSite::current()};
  }
  const TimeStep step = make_time_step(measured.algorithm.substr(kIterated.size()));
  return step_subject(step, measured.extents, rim_of(step, target), target);
}

}  // namespace

const tuning::Subject& MeasuredSubjects::of(const Measured& measured) {
  const auto at = subjects_.find({measured.algorithm, measured.extents});
  if (at != subjects_.end()) return at->second;
  return subjects_.try_emplace({measured.algorithm, measured.extents}, subject_of(measured, target_))
      .first->second;
}

}  // namespace mica::bench
