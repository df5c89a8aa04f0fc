#include "tests/support/mutant_runs.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "codegen/llvm/backend.h"
#include "codegen/lower.h"
#include "codegen/program.h"
#include "dsl/pipeline/func_graph.h"
#include "runtime/emulator/emulator.h"

namespace mica::test {

namespace {

Caught by_message(const std::string& message) {
  static const std::pair<const char*, Caught> beginnings[] = {
      {"race in", Caught::Race},
      {"uninitialised shared memory", Caught::Uninitialised},
      {"index out of range", Caught::OutOfRange},
      {"asynchronous copy in", Caught::CopyRule},
      {"bulk copy in", Caught::CopyRule},
      {"deadlock in", Caught::Stuck},
      {"divergent barrier", Caught::Stuck},
      {"incomplete shuffle", Caught::Stuck},
      {"named barrier in", Caught::Stuck}};
  for (const auto& [beginning, caught] : beginnings) {
    if (message.rfind(beginning, 0) == 0) return caught;
  }
  throw InternalError("the emulator reports something new: " + message);
}

std::vector<std::string> names_of_outputs(const Pipeline& pipeline) {
  std::vector<std::string> names;
  for (const std::string& name : pipeline.outputs) {
    const std::size_t count = pipeline.find(name)->types.size();
    for (std::size_t i = 0; i < count; ++i) {
      names.push_back(storage_name(name, static_cast<int>(i), count));
    }
  }
  return names;
}

}  // namespace

const char* to_string(Caught caught) {
  switch (caught) {
    case Caught::Survived: return "survived";
    case Caught::Idle: return "idle";
    case Caught::Race: return "race";
    case Caught::Uninitialised: return "uninitialised";
    case Caught::OutOfRange: return "out of range";
    case Caught::CopyRule: return "copy";
    case Caught::Stuck: return "stuck";
    case Caught::Bits: return "bits";
  }
  return "";
}

MutantRuns::MutantRuns(const std::vector<Func>& outputs, std::set<Mutation> wanted)
    : wanted_(std::move(wanted)) {
  pipeline_ = make_pipeline(functions_of(outputs));
  compile(Variant{}, 0);
}

std::shared_ptr<const CompiledVariant> MutantRuns::compile(const Variant& variant, int number) {
  auto found = compiled_.find(variant);
  if (found == compiled_.end()) {
    const MutatedModule mutated = with_mutants(
        to_module(lower(pipeline_, {Target::gpu_emulator(), variant, {}, DeviceLimits{}})), wanted_);
    Compiled compiled{mutated.mutants, {}};
    compiled.code.plan = mutated.module.plan;
    compiled.code.kernels = llvm_backend::load_emulated_kernels(mutated.module);
    ir::Module on_host{mutated.module.name, {}, {}};
    for (const ir::Kernel& kernel : mutated.module.kernels) {
      if (!kernel.on_device) on_host.kernels.push_back(kernel);
    }
    if (!on_host.kernels.empty()) {
      for (auto& kernel : llvm_backend::load_host_kernels(on_host)) {
        compiled.code.kernels.push_back(std::move(kernel));
      }
    }
    found = compiled_.emplace(variant, std::move(compiled)).first;
  }
  taken_ = &found->second;
  auto made = std::make_shared<CompiledVariant>(taken_->code);
  made->plan = plan_of_mutant(made->plan, number);
  return made;
}

Caught MutantRuns::run(const ExpectedOutputs& expected, int number, std::uint64_t seed,
                       std::string* message) {
  setenv("MICA_EMULATOR_SEED", std::to_string(seed).c_str(), 1);
  Executable executable(Target::gpu_emulator(), names_of_outputs(pipeline_),
                        [&](const Variant& variant) { return compile(variant, number); });
  Outcome outcome;
  Caught caught = Caught::Survived;
  try {
    outcome = expected.run(executable);
    if (outcome.verdict != Verdict::Same) caught = Caught::Bits;
  } catch (const EmulatorError& e) {
    outcome.message = e.what();
    caught = by_message(outcome.message);
  }
  unsetenv("MICA_EMULATOR_SEED");
  if (message != nullptr) *message = outcome.message;
  return caught;
}

std::string to_string(const MutantTable& table) {
  const auto cell = [](std::string text, std::size_t width = 14) {
    text.resize(std::max(text.size() + 1, width), ' ');
    return text;
  };
  constexpr std::size_t kFirst = 19;
  std::string text = cell("", kFirst) + cell("sites");
  for (int c = 0; c <= static_cast<int>(Caught::Bits); ++c) text += cell(to_string(Caught(c)));
  for (const auto& [mutation, counts] : table.counts) {
    int sites = 0;
    for (const auto& [caught, count] : counts) sites += count;
    text += "\n" + cell(to_string(mutation), kFirst) + cell(std::to_string(sites));
    for (int c = 0; c <= static_cast<int>(Caught::Bits); ++c) {
      const auto found = counts.find(Caught(c));
      text += cell(found == counts.end() ? "-" : std::to_string(found->second));
    }
  }
  for (const auto& [reason, count] : table.excused) {
    text += "\n" + std::to_string(count) + " of those that survived: " + reason;
  }
  return text + "\n";
}

void run_all(const std::string& name, MutantRuns& runs, const std::vector<Situation>& situations,
             int orders, MutantTable& table) {
  std::string message;
  for (const Situation& situation : situations) {
    const auto inputs = situation.bind();
    for (int order = 1; order <= orders; ++order) {
      if (runs.run(situation.expected, 0, static_cast<std::uint64_t>(order), &message) ==
          Caught::Survived) {
        continue;
      }
      table.survivors.push_back(name + " as it is: " + message);
      return;
    }
  }
  // Most are caught at once; where the others are never reached no more orders are tried.
  const auto first_find = [&](int number) {
    Caught caught = Caught::Idle;
    for (const Situation& situation : situations) {
      const auto inputs = situation.bind();
      for (int order = 1; order <= orders; ++order) {
        const Caught now = runs.run(situation.expected, number, static_cast<std::uint64_t>(order));
        if (now != Caught::Survived) return now;
        const int probe = number > kCheck ? kCheck - number : -number;
        if (order == 1 && runs.run(situation.expected, probe, 1) == Caught::Survived) break;
        caught = Caught::Survived;
      }
    }
    return caught;
  };
  const std::vector<Mutant> mutants = runs.mutants();
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    const Caught caught = first_find(number);
    ++table.counts[mutants[i].mutation][caught];
    if (caught != Caught::Survived) continue;
    std::string reason = why_equivalent(mutants[i]);
    if (mutants[i].has_check && first_find(number + kCheck) == Caught::Survived) {
      reason = "concerns elements that nothing depends on";
    }
    if (!reason.empty()) {
      ++table.excused[reason];
      continue;
    }
    table.survivors.push_back(name + ", mutant " + std::to_string(number) + ": " +
                              to_string(mutants[i]));
  }
}

}  // namespace mica::test
