#include "fuzz/fuzz_case.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>

#include "codegen/compile.h"
#include "codegen/program.h"
#include "fuzz/more_runs.h"
#include "fuzz/step_runs.h"

namespace mica::test {
namespace {

/// The words of a message's first line: lower-case letters of words without digits or dots.
std::string words_of(const std::string& message) {
  constexpr std::size_t kWords = 6;
  std::string words, word;
  std::size_t count = 0;
  bool plain = true;
  for (const char c : message.substr(0, message.find('\n')) + " ") {
    if (!std::isspace(static_cast<unsigned char>(c))) {
      plain = plain && (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == ':' || c == ',');
      word += c;
      continue;
    }
    // Short words are mostly names of the program's own.
    if (plain && word.size() > 2) {
      words += word + " ";
      if (++count == kWords) break;
    }
    word.clear();
    plain = true;
  }
  return words;
}

Func* find_func(std::map<std::string, Func>& funcs, const std::string& name) {
  const auto found = funcs.find(name);
  return found == funcs.end() ? nullptr : &found->second;
}

/// The wrapper that an `in` directive of `consumer` makes; nothing while its source is not there.
std::optional<Func> add_wrapper(std::map<std::string, Func>& funcs, const TestPipeline& pipeline,
                                const directive::In& in, Func& consumer) {
  if (Func* source = find_func(funcs, in.source)) return source->in(consumer);
  for (const ImageParam& input : pipeline.inputs) {
    if (input.name() == in.source) return input.in(consumer);
  }
  return std::nullopt;
}

/// Makes the wrappers of a schedule's `in` directives; wrappers may have wrappers.
void add_wrappers(std::map<std::string, Func>& funcs, const TestPipeline& pipeline,
                  const Schedule& schedule) {
  for (bool more = true; more;) {
    more = false;
    for (const DefinitionSchedule& stage : schedule.stages) {
      for (const Directive& directive : stage.directives) {
        const auto* in = std::get_if<directive::In>(&directive.op);
        Func* const consumer = find_func(funcs, stage.func);
        if (in == nullptr || consumer == nullptr || funcs.count(in->wrapper) > 0) continue;
        if (const auto made = add_wrapper(funcs, pipeline, *in, *consumer)) {
          more = funcs.emplace(made->name(), *made).second || more;
        }
      }
    }
  }
}

/// The box of each input's memory.
std::vector<Box> input_boxes(const FuzzCase& drawn) {
  std::vector<Box> boxes = demanded_boxes(drawn.program, drawn.boxes, drawn.bounded_inputs);
  boxes.resize(drawn.program.inputs.size());
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const Program::Input& input = drawn.program.inputs[i];
    if (boxes[i].empty()) boxes[i].assign(static_cast<std::size_t>(input.dimensions), {0, 1});
  }
  return boxes;
}

}  // namespace

bool is_same_kind(const Outcome& a, const Outcome& b) {
  if (a.verdict != b.verdict) return false;
  return a.verdict != Verdict::Failed || words_of(a.message) == words_of(b.message);
}

void put_schedule(TestPipeline& pipeline, const Schedule& schedule) {
  std::map<std::string, Func> funcs;
  for (const Func& f : pipeline.funcs) funcs.emplace(f.name(), f);
  add_wrappers(funcs, pipeline, schedule);
  for (const DefinitionSchedule& stage : schedule.stages) {
    Func* const func = find_func(funcs, stage.func);
    if (func == nullptr) throw UserError("there is no Func " + stage.func);
    auto& definitions = func->function()->definitions;
    if (stage.update < 0 || static_cast<std::size_t>(stage.update) >= definitions.size()) {
      throw UserError(stage.func + " has no definition " + std::to_string(stage.update));
    }
    for (const Directive& directive : stage.directives) {
      if (std::holds_alternative<directive::In>(directive.op)) continue;
      definitions[static_cast<std::size_t>(stage.update)].directives.push_back(directive);
    }
  }
}

Schedule schedule_of(const TestPipeline& pipeline) {
  Schedule all;
  for (const Func& output : pipeline.outputs) {
    for (const DefinitionSchedule& stage : output.schedule().stages) {
      const auto same = [&](const DefinitionSchedule& s) {
        return s.func == stage.func && s.update == stage.update;
      };
      if (std::none_of(all.stages.begin(), all.stages.end(), same)) all.stages.push_back(stage);
    }
  }
  return all;
}

std::unique_ptr<PoisonedOutput> input_memory(const FuzzCase& drawn, std::size_t i) {
  auto memory = std::make_unique<PoisonedOutput>(drawn.program.inputs[i].type, input_boxes(drawn)[i],
                                                 drawn.margin, drawn.row_padding, drawn.transposed);
  fill_random(memory->crop(), drawn.data_seed + i, drawn.contents);
  return memory;
}

BoundCase bind(const FuzzCase& drawn) {
  BoundCase bound;
  bound.pipeline = build(drawn.program, drawn.names);
  for (std::size_t i = 0; i < bound.pipeline.inputs.size(); ++i) {
    bound.memory.push_back(input_memory(drawn, i));
    bound.pipeline.inputs[i].set(bound.memory.back()->crop());
  }
  put_schedule(bound.pipeline, with_names(drawn.schedule, drawn.names));
  // The oracle's names are the plain ones.
  TestPipeline plain = build(drawn.program);
  for (std::size_t i = 0; i < plain.inputs.size(); ++i) plain.inputs[i].set(bound.memory[i]->crop());
  bound.expected = std::make_unique<ExpectedOutputs>(
      build_reference(drawn.program, plain.inputs).outputs, output_boxes(drawn.program, drawn.boxes),
      OutputLayout{drawn.margin, drawn.row_padding, drawn.transposed});
  return bound;
}

std::map<std::string, Box> boxes_of_funcs(const FuzzCase& drawn) {
  std::map<std::string, Box> boxes;
  const std::vector<Box> demanded = demanded_boxes(drawn.program, drawn.boxes, drawn.bounded_inputs);
  for (std::size_t i = 0; i < drawn.program.stages.size(); ++i) {
    const Box& box = demanded[drawn.program.inputs.size() + i];
    if (!box.empty()) boxes[drawn.program.stages[i].name] = box;
  }
  return boxes;
}

ArrayDims arrays_of(const FuzzCase& drawn) {
  ArrayDims arrays;
  const auto dims = [&](const Box& box) {
    return poisoned_dims(box, drawn.margin, drawn.row_padding, drawn.transposed);
  };
  const std::vector<Box> inputs = input_boxes(drawn);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    arrays[drawn.program.inputs[i].name] = dims(inputs[i]);
  }
  const std::vector<Box> outputs = output_boxes(drawn.program, drawn.boxes);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& stage = drawn.program.stages[static_cast<std::size_t>(drawn.program.outputs[i])];
    for (std::size_t v = 0; v < stage.values.size(); ++v) {
      arrays[storage_name(stage.name, static_cast<int>(v), stage.values.size())] = dims(outputs[i]);
    }
  }
  return arrays;
}

void follow_boxes(FuzzCase& changed, const FuzzCase& before) {
  const std::map<std::string, Box> then = boxes_of_funcs(before), now = boxes_of_funcs(changed);
  TestPipeline pipeline = build(changed.program);
  for (DefinitionSchedule& stage : changed.schedule.stages) {
    const auto from = then.find(stage.func), to = now.find(stage.func);
    if (from == then.end() || to == now.end()) continue;
    const std::vector<std::string>& args = pipeline.func(stage.func).function()->args;
    for (Directive& directive : stage.directives) {
      auto* bound = std::get_if<directive::Bound>(&directive.op);
      if (bound == nullptr) continue;
      const auto d =
          static_cast<std::size_t>(std::find(args.begin(), args.end(), bound->var) - args.begin());
      if (d >= std::min(from->second.size(), to->second.size())) continue;
      if (from->second[d] != std::pair(bound->min, bound->extent)) continue;
      std::tie(bound->min, bound->extent) = to->second[d];
    }
  }
}

namespace {

/// Is there a bound of more points than machines have memory for?
bool promises_much(const Schedule& schedule) {
  constexpr std::int64_t kMuch = 1 << 24;
  return std::ranges::any_of(schedule.stages, [](const DefinitionSchedule& stage) {
    return std::ranges::any_of(stage.directives, [](const Directive& directive) {
      const auto* bound = std::get_if<directive::Bound>(&directive.op);
      return bound != nullptr && bound->extent > kMuch;
    });
  });
}

}  // namespace

Outcome run_case(const FuzzCase& drawn) {
  try {
    const BoundCase bound = bind(drawn);
    CompileOptions options;
    options.use_cache = false;
    options.bake = bake_of(drawn.bake, arrays_of(drawn));
    Executable executable = compile(bound.pipeline.outputs, drawn.target, options);
    Outcome outcome = bound.expected->run(executable);
    if (outcome.verdict == Verdict::Same && drawn.in_place)
      outcome = run_in_place(drawn, bound, executable);
    if (outcome.verdict == Verdict::Same && drawn.in_threads) {
      outcome = run_in_threads(drawn, bound, executable);
    }
    if (outcome.verdict == Verdict::Same && drawn.steps > 0) {
      const Outcome stepped = run_in_steps(drawn, bound);
      // The case by itself is right, and some Iterations are refused: tiles of time with updates, say.
      if (stepped.verdict != Verdict::Refused) outcome = stepped;
    }
    return outcome;
  } catch (const UserError& e) {
    return {Verdict::Refused, e.what()};
  } catch (const DeviceError& e) {
    const bool no_memory = e.call() == "aligned_alloc" && e.code() == ENOMEM;
    return {no_memory && promises_much(drawn.schedule) ? Verdict::Refused : Verdict::Failed, e.what()};
  } catch (const std::exception& e) {
    return {Verdict::Failed, e.what()};
  }
}

}  // namespace mica::test
