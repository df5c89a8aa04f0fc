#include "fuzz/step_runs.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <unistd.h>

#include "codegen/iterate/iteration.h"
#include "fuzz/step_places.h"

namespace mica::test {
namespace {

namespace fs = std::filesystem;

/// A name for a file, which is removed.
class FileName {
 public:
  FileName()
      : path_(
            (fs::temp_directory_path() / ("mica-fuzz-" + std::to_string(getpid()) + ".mica")).string()) {
  }
  ~FileName() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  FileName(const FileName&) = delete;
  FileName& operator=(const FileName&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Copies the values over their box into a field.
void put(const AnyBuffer& values, const Box& box, AnyBuffer& field) {
  const auto bytes = static_cast<std::size_t>(values.type().bytes());
  AnyBuffer source = values;
  void* const from = source.host_data_for_write();
  void* const to = field.host_data_for_write();
  for_each_point(box, [&](const std::vector<std::int64_t>& at) {
    std::memcpy(element_address(field, to, at), element_address(values, from, at), bytes);
  });
}

/// The fields of a run: memory of the case's inputs, with all around it poisoned.
struct Fields {
  std::vector<std::unique_ptr<PoisonedOutput>> memory;
  std::vector<RunInput> inputs;
  Fields(const FuzzCase& drawn, const BoundCase& bound, const std::vector<std::size_t>& numbers) {
    for (const std::size_t i : numbers) {
      memory.push_back(input_memory(drawn, i));
      inputs.emplace_back(bound.pipeline.inputs[i], memory.back()->crop());
    }
  }
};

/// The fields after all steps, by the oracle.
std::vector<AnyBuffer> by_oracle(const FuzzCase& drawn, const BoundCase& bound,
                                 const std::vector<std::size_t>& numbers,
                                 const std::vector<StepValue>& values, StepPlaces& places) {
  TestPipeline plain = build(drawn.program);
  for (std::size_t i = 0; i < plain.inputs.size(); ++i) plain.inputs[i].set(bound.memory[i]->crop());
  const std::vector<Func> outputs = build_reference(drawn.program, plain.inputs).outputs;
  std::vector<AnyBuffer> fields;
  for (const std::size_t i : numbers) fields.push_back(bound.memory[i]->crop().copy());
  for (int step = 0; step < drawn.steps; ++step) {
    for (std::size_t f = 0; f < fields.size(); ++f) plain.inputs[numbers[f]].set(fields[f].copy());
    std::vector<AnyBuffer> computed;
    std::vector<AnyBuffer*> pointers;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      computed.push_back(buffer_over(fields[f].type(), values[f].box));
    }
    for (AnyBuffer& buffer : computed) pointers.push_back(&buffer);
    interpret(outputs, pointers);
    for (std::size_t f = 0; f < fields.size(); ++f) put(computed[f], values[f].box, fields[f]);
    places.act(fields, step);
  }
  return fields;
}

Outcome compared(const std::string& where, const std::vector<AnyBuffer>& expected, const Fields& fields,
                 const StepPlaces* places = nullptr) {
  for (std::size_t f = 0; f < expected.size(); ++f) {
    const std::string field = where + ", field " + std::to_string(f) + ": ";
    const std::string differs = differing_bits(expected[f], fields.memory[f]->crop());
    if (!differs.empty()) return {Verdict::Differs, field + differs};
    const std::string outside = fields.memory[f]->writes_outside();
    if (!outside.empty()) return {Verdict::WritesOutside, field + outside};
  }
  const std::string taken = places != nullptr ? places->difference() : "";
  return taken.empty() ? Outcome() : Outcome{Verdict::Differs, where + ", " + taken};
}

/// A checkpoint that is cut or has a bit changed is refused, and changes nothing.
Outcome damage(const FuzzCase& drawn, const BoundCase& bound, const Iteration& steps,
               const std::string& path, const std::vector<std::size_t>& numbers) {
  constexpr int kCuts = 6;
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Random random(drawn.data_seed);
  Fields fields(drawn, bound, numbers);
  std::vector<AnyBuffer> before;
  for (const auto& memory : fields.memory) before.push_back(memory->crop().copy());
  for (int i = 0; i < kCuts; ++i) {
    const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(whole.size())));
    std::string bytes = whole.substr(0, at);
    if (i % 2 == 1) {
      bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    }
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    const std::string what =
        (i % 2 == 1 ? "a checkpoint changed at byte " : "a checkpoint cut at byte ") +
        std::to_string(at);
    try {
      (void)steps.resume(path, fields.inputs);
      return {Verdict::Failed, what + " is taken"};
    } catch (const UserError&) {
      Outcome changed = compared(what, before, fields);
      if (changed.verdict != Verdict::Same) return changed;
    }
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << whole;
  return {};
}

}  // namespace

std::vector<StepValue> step_values(const FuzzCase& drawn) {
  const std::vector<Box> boxes = output_boxes(drawn.program, drawn.boxes);
  std::vector<StepValue> values;
  for (std::size_t o = 0; o < boxes.size(); ++o) {
    const auto& stage = drawn.program.stages[static_cast<std::size_t>(drawn.program.outputs[o])];
    for (std::size_t e = 0; e < stage.values.size(); ++e) {
      values.push_back({o, static_cast<int>(e), boxes[o]});
    }
  }
  return values;
}

std::optional<std::vector<std::size_t>> step_fields(const FuzzCase& drawn) {
  const ArrayDims arrays = arrays_of(drawn);
  const auto holds_box = [&](const std::vector<BufferDim>& dims, const Box& box) {
    if (dims.size() != box.size()) return false;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const std::int64_t end = box[d].first + box[d].second;
      if (box[d].first < dims[d].min || end > dims[d].min + dims[d].extent) return false;
    }
    return true;
  };
  std::vector<std::size_t> fields;
  for (const StepValue& value : step_values(drawn)) {
    const auto stage = static_cast<std::size_t>(drawn.program.outputs[value.output]);
    const Type type = drawn.program.stages[stage].values[static_cast<std::size_t>(value.element)].type;
    const std::size_t before = fields.size();
    for (std::size_t i = 0; i < drawn.program.inputs.size() && fields.size() == before; ++i) {
      const Program::Input& input = drawn.program.inputs[i];
      const bool is_taken = std::find(fields.begin(), fields.end(), i) != fields.end();
      if (!is_taken && input.type == type && holds_box(arrays.at(input.name), value.box)) {
        fields.push_back(i);
      }
    }
    if (fields.size() == before) return std::nullopt;
  }
  return fields.empty() ? std::nullopt : std::optional(fields);
}

Outcome run_in_steps(const FuzzCase& drawn, const BoundCase& bound) {
  const auto numbers = step_fields(drawn);
  if (!numbers) return {};
  const std::vector<StepValue> values = step_values(drawn);
  std::vector<AnyBuffer> begin;
  std::vector<ImageParam> inputs;
  for (const std::size_t i : *numbers) {
    begin.push_back(bound.memory[i]->crop());
    inputs.push_back(bound.pipeline.inputs[i]);
  }
  std::vector<Box> boxes;
  for (const StepValue& value : values) boxes.push_back(value.box);
  StepPlaces places(drawn, begin, boxes);
  const std::vector<AnyBuffer> expected = by_oracle(drawn, bound, *numbers, values, places);
  const std::string count = std::to_string(drawn.steps) + " steps";
  try {
    std::vector<Replacement> replacements;
    for (std::size_t f = 0; f < numbers->size(); ++f) {
      const ImageParam& field = bound.pipeline.inputs[(*numbers)[f]];
      const Func& output = bound.pipeline.outputs[values[f].output];
      if (output.types().size() == 1) {
        replacements.emplace_back(field, output);
      } else {
        replacements.emplace_back(field, output, values[f].element);
      }
    }
    Iteration steps(replacements);
    for (const StepValue& value : values) steps.over(bound.pipeline.outputs[value.output], value.box);
    places.add_to(steps, inputs);
    if (drawn.time_tile > 1) steps.time_tile(drawn.time_tile);
    Fields fields(drawn, bound, *numbers);
    steps.run(fields.inputs, drawn.steps, {.target = drawn.target});
    Outcome outcome = compared(count, expected, fields, &places);
    if (outcome.verdict != Verdict::Same) return outcome;

    const FileName file;
    // Tiles of time need as many steps before the checkpoint, and after it.
    const int half = std::max(drawn.steps / 2, drawn.time_tile);
    if (drawn.steps - half < drawn.time_tile) return {};
    steps.checkpoint(file.path(), half);
    places.forget();
    Fields first(drawn, bound, *numbers), second(drawn, bound, *numbers);
    steps.run(first.inputs, half, {.target = drawn.target});
    outcome = damage(drawn, bound, steps, file.path(), *numbers);
    if (outcome.verdict != Verdict::Same) return outcome;
    const std::int64_t done = steps.resume(file.path(), second.inputs);
    if (done != half) {
      return {Verdict::Failed, "a checkpoint after " + std::to_string(half) + " steps says that " +
                                   std::to_string(done) + " are done"};
    }
    steps.run(second.inputs, drawn.steps - half, {.target = drawn.target, .first_step = done});
    return compared(count + ", resumed after " + std::to_string(half), expected, second, &places);
  } catch (const UserError& refusal) {
    return {Verdict::Refused, count + ": " + refusal.message()};
  } catch (const std::exception& error) {
    return {Verdict::Failed, count + ": " + error.what()};
  }
}

}  // namespace mica::test
