#include "tests/support/check_targets.h"

#include <algorithm>
#include <exception>
#include <memory>

#include "dsl/pipeline/recurrence.h"
#include "tests/support/compare.h"

namespace mica::test {
namespace {

std::string schedules_of(const std::vector<Func>& outputs) {
  Schedule all;
  for (const Func& f : outputs) {
    for (const DefinitionSchedule& stage : f.schedule().stages) {
      if (std::find(all.stages.begin(), all.stages.end(), stage) == all.stages.end()) {
        all.stages.push_back(stage);
      }
    }
  }
  return all.stages.empty() ? "(no directives)" : to_string(all);
}

void tile_plainly(Stage stage, const std::vector<std::string>& vars) {
  switch (vars.size()) {
    case 0: return;
    case 1: stage.gpu_tile(vars[0], 32); return;
    case 2: stage.gpu_tile(vars[0], vars[1], 16, 4); return;
    case 4: stage.reorder({vars[3], vars[0], vars[1], vars[2]}); break;
    case 5: stage.reorder({vars[3], vars[4], vars[0], vars[1], vars[2]}); break;
    case 6: stage.reorder({vars[3], vars[4], vars[5], vars[0], vars[1], vars[2]}); break;
    default: break;
  }
  stage.gpu_tile(vars[0], vars[1], vars[2], 8, 4, 2);
}

}  // namespace

std::string why_no_cuda() {
  static const std::string reason = [] {
    try {
      (void)Target::cuda();
      return std::string();
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
  }();
  return reason;
}

std::vector<Target> gpu_targets() {
  std::vector<Target> targets{Target::gpu_emulator()};
  if (why_no_cuda().empty()) targets.push_back(Target::cuda());
  return targets;
}

std::vector<Target> all_targets() {
  std::vector<Target> targets = gpu_targets();
  targets.insert(targets.begin(), Target::host());
  return targets;
}

std::vector<AnyBuffer> expected_values(const std::vector<Func>& outputs, const Box& box) {
  std::vector<AnyBuffer> buffers;
  for (const Func& f : outputs) {
    for (const Type type : f.types()) buffers.push_back(buffer_over(type, box));
  }
  std::vector<AnyBuffer*> pointers;
  for (AnyBuffer& b : buffers) pointers.push_back(&b);
  interpret(outputs, pointers);
  return buffers;
}

CompiledOutputs::CompiledOutputs(std::vector<Func> outputs, const Target& target,
                                 const CompileOptions& options)
    : outputs_(std::move(outputs)), target_(target), options_(options) {
  options_.use_cache = false;
}

::testing::AssertionResult CompiledOutputs::match(const std::vector<AnyBuffer>& expected, const Box& box,
                                                  Layout layout) {
  constexpr std::int64_t kWhole = 16;  // elements: whole pieces of 16 bytes of any type
  std::vector<std::unique_ptr<PoisonedOutput>> memory;
  std::vector<AnyBuffer*> pointers;
  for (const AnyBuffer& e : expected) {
    memory.push_back(layout == Layout::Dense ? std::make_unique<PoisonedOutput>(e.type(), box, kWhole, 0)
                                             : std::make_unique<PoisonedOutput>(e.type(), box));
    pointers.push_back(&memory.back()->crop());
  }
  std::string context =
      " on " + to_string(target_) + " over " + to_string(box) + "\n" + schedules_of(outputs_);
  for (const auto& [symbol, value] : options_.bake) {
    context += "\nbaked: " + symbol + " = " + std::to_string(value);
  }
  try {
    if (!executable_) executable_ = std::make_unique<Executable>(compile(outputs_, target_, options_));
    executable_->run(pointers);
    executable_->synchronize();
  } catch (const std::exception& e) {
    return ::testing::AssertionFailure() << "threw \"" << e.what() << "\"" << context;
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ::testing::AssertionResult same = same_bits(expected[i], *pointers[i]);
    if (!same) {
      return ::testing::AssertionFailure() << "output " << i << ": " << same.message() << context;
    }
    const ::testing::AssertionResult untouched = outside_untouched(*memory[i]);
    if (!untouched) {
      return ::testing::AssertionFailure() << "output " << i << ": " << untouched.message() << context;
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult run_matches(const std::vector<AnyBuffer>& expected,
                                       const std::vector<Func>& outputs, const Box& box,
                                       const Target& target, Layout layout,
                                       const CompileOptions& options) {
  return CompiledOutputs(outputs, target, options).match(expected, box, layout);
}

::testing::AssertionResult matches_oracle(const std::vector<Func>& outputs, const Box& box,
                                          const Target& target) {
  return run_matches(expected_values(outputs, box), outputs, box, target);
}

::testing::AssertionResult matches_oracle(const std::vector<Func>& outputs, const Box& box,
                                          const std::vector<ImageParam>& inputs,
                                          const std::vector<Target>& targets) {
  const auto memory = bind_demanded(outputs, box, inputs, 1);
  const std::vector<AnyBuffer> expected = expected_values(outputs, box);
  for (const Target& target : targets) {
    const ::testing::AssertionResult matches = run_matches(expected, outputs, box, target);
    if (!matches) return matches;
  }
  return ::testing::AssertionSuccess();
}

void schedule_plain_gpu(Func& func) {
  std::vector<std::string> vars = func.function()->args;
  const Recurrence* recurrence = recurrence_of(*func.function());
  if (recurrence != nullptr) vars.erase(vars.begin() + static_cast<std::ptrdiff_t>(recurrence->dim));
  tile_plainly(func, vars);
  for (std::size_t u = 1; u < func.function()->definitions.size(); ++u) {
    tile_plainly(func.update(static_cast<int>(u) - 1), func.function()->definitions[u].pure_vars);
  }
}

::testing::AssertionResult check_all_targets(const std::vector<Func>& outputs, const Box& box) {
  std::vector<AnyBuffer> expected;
  try {
    expected = expected_values(outputs, box);
  } catch (const std::exception& e) {
    return ::testing::AssertionFailure() << "the oracle threw \"" << e.what() << "\"";
  }
  std::vector<Func> funcs = outputs;
  for (Func& f : funcs) f.clear_schedule();
  const ::testing::AssertionResult host = run_matches(expected, funcs, box, Target::host());
  if (!host) return host;
  for (Func& f : funcs) schedule_plain_gpu(f);
  for (const Target& target : gpu_targets()) {
    const ::testing::AssertionResult gpu = run_matches(expected, funcs, box, target);
    if (!gpu) return gpu;
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult check_all_targets(const Func& output, const Box& box) {
  return check_all_targets(std::vector<Func>{output}, box);
}

}  // namespace mica::test
