// A case as a C++ program of its own.
#include <set>

#include "codegen/program.h"
#include "dsl/expr/names.h"
#include "fuzz/fuzz_case.h"
#include "fuzz/more_runs.h"
#include "fuzz/print_program.h"
#include "fuzz/step_runs.h"

namespace mica::test {
namespace {

std::string cpp_type(Type type) {
  if (type.is_bool()) return "bool";
  if (type.code == TypeCode::BFloat) return "bfloat16";
  if (type.is_float()) return type.bits == 64 ? "double" : type.bits == 32 ? "float" : "float16";
  return (type.is_int() ? "std::int" : "std::uint") + std::to_string(type.bits) + "_t";
}

std::string dims_text(const std::vector<BufferDim>& dims) {
  std::string text;
  for (const BufferDim& dim : dims) {
    text += (text.empty() ? "{" : ", {") + std::to_string(dim.min) + ", " + std::to_string(dim.extent) +
            ", " + std::to_string(dim.stride) + "}";
  }
  return "std::vector<BufferDim>{" + text + "}";
}

/// The initializer of CompileOptions::bake.
std::string bake_text(const std::map<std::string, std::int64_t>& bake) {
  std::string text;
  for (const auto& [symbol, value] : bake) {
    // The least number has no literal of its own.
    const std::string number =
        value == INT64_MIN ? std::to_string(value + 1) + " - 1" : std::to_string(value);
    text += (text.empty() ? "{\"" : ", {\"") + symbol + "\", " + number + "}";
  }
  return "{" + text + "}";
}

std::string target_text(const Target& target) {
  switch (target.backend) {
    case Backend::Host: return "Target::host()";
    case Backend::Cuda: return "Target::cuda(" + std::to_string(target.device) + ")";
    case Backend::GpuEmulator: return "Target::gpu_emulator()";
    case Backend::HostChecked: return "Target::host_checked()";
  }
  return "";
}

std::string indented(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    result += "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return result;
}

/// What the statements of a printed case need of it.
struct CaseText {
  std::string outputs;  ///< the Funcs
  std::string memory;   ///< new buffers for all their values
  std::string target;
  std::string options;  ///< an argument, or empty
};

std::string box_text(const Box& box) {
  std::string text;
  for (const auto& [min, extent] : box) {
    text += (text.empty() ? "{" : ", {") + std::to_string(min) + ", " + std::to_string(extent) + "}";
  }
  return "{" + text + "}";
}

/// Statements that compute each output in the memory of each input that can hold it.
std::string in_place_text(const FuzzCase& drawn, const CaseText& words) {
  const std::vector<Box> boxes = output_boxes(drawn.program, drawn.boxes);
  std::vector<Box> of_values;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto& stage = drawn.program.stages[static_cast<std::size_t>(drawn.program.outputs[i])];
    of_values.insert(of_values.end(), stage.values.size(), boxes[i]);
  }
  std::string text;
  for (const auto& [output, i] : replacements(drawn)) {
    const std::string number = std::to_string(output), input = drawn.program.inputs[i].name;
    text += "  {  // Output " + number + " in the memory of " + input +
            ".\n    AnyBuffer own = " + input + "_data.copy();\n    std::vector<AnyBuffer> again{" +
            words.memory + "};\n    again[" + number + "] = own.cropped(" + box_text(of_values[output]) +
            ");\n    " + input + ".set(own);\n    try {\n      run({" + words.outputs + "}, " +
            words.target + ", again" + words.options +
            ");\n      differences += count(plain, again);\n"
            "    } catch (const UserError& refusal) {\n"
            "      std::printf(\"%s\\n\", refusal.what());\n    }\n    " +
            input + ".set(" + input + "_data);\n  }\n";
  }
  return text;
}

/// Memory of an input, filled from `seed`.
std::string data_text(const Program::Input& input, const ArrayDims& arrays, std::size_t seed) {
  return "filled<" + cpp_type(input.type) + ">(" + dims_text(arrays.at(input.name)) + ", " +
         std::to_string(seed) + ")";
}

/// The RunOptions of a thread.
std::string thread_options_text(const FuzzCase& drawn, const ArrayDims& arrays, int number) {
  const FuzzCase own = case_of_thread(drawn, number);
  std::string inputs, params;
  for (std::size_t i = 0; i < own.program.inputs.size(); ++i) {
    const auto& input = own.program.inputs[i];
    const std::size_t seed = 10 * (static_cast<std::size_t>(number) + 1) + i;
    inputs += (inputs.empty() ? "{" : ", {") + input.name + ", " + data_text(input, arrays, seed) + "}";
  }
  std::size_t scalars = 0;
  for (const ProgramStage& stage : own.program.stages) {
    for_each_term(stage, [&](const Term& term) {
      if (term.kind != Term::Kind::Parameter) return;
      params += (params.empty() ? "{" : ", {") + scalar_text(scalars++) + ", " +
                scalar_value_text(term.type, term.value) + "}";
    });
  }
  return "RunOptions{.inputs = {" + inputs + "}, .params = {" + params + "}}";
}

/// Statements that run the case from several threads, each with inputs and Params of its own.
std::string threads_text(const FuzzCase& drawn, const ArrayDims& arrays, const CaseText& words) {
  const std::string count = std::to_string(kCaseThreads);
  std::string text = "  Executable shared = compile({" + words.outputs + "}, " + words.target +
                     words.options + ");\n  const std::vector<RunOptions> own{";
  for (int number = 0; number < kCaseThreads; ++number) {
    text += (number == 0 ? "" : ", ") + thread_options_text(drawn, arrays, number);
  }
  text += "};\n  std::vector<std::vector<AnyBuffer>> wanted, got;\n  for (int i = 0; i < " + count +
          "; ++i) {\n    wanted.push_back({" + words.memory + "});\n    got.push_back({" + words.memory +
          "});\n    run({" + words.outputs +
          "}, Target::host(), wanted.back(), {}, own[i]);\n  }\n"
          "  std::vector<std::thread> threads;\n  for (int i = 0; i < " +
          count +
          "; ++i) {\n    threads.emplace_back([&, i] {\n"
          "      std::vector<AnyBuffer*> outputs;\n"
          "      for (auto& buffer : got[i]) outputs.push_back(&buffer);\n"
          "      shared.run(outputs, own[i]);\n    });\n  }\n"
          "  for (auto& thread : threads) thread.join();\n  for (int i = 0; i < " +
          count + "; ++i) differences += count(wanted[i], got[i]);\n";
  return text;
}

/// A lambda `stepped` that gives the fields, in memory like the inputs', after all steps on a target;
/// empty if the case is no step.
std::string steps_text(const FuzzCase& drawn, const ArrayDims& arrays) {
  const auto fields = step_fields(drawn);
  if (drawn.steps == 0 || !fields) return {};
  const std::vector<StepValue> values = step_values(drawn);
  std::string pairs, copies, inputs, boxes;
  for (std::size_t f = 0; f < fields->size(); ++f) {
    const auto& stage =
        drawn.program.stages[static_cast<std::size_t>(drawn.program.outputs[values[f].output])];
    const std::string input = drawn.program.inputs[(*fields)[f]].name, number = std::to_string(f);
    const std::string comma = f == 0 ? "" : ", ", func = handle_text(stage.name);
    const std::string element = stage.values.size() > 1 ? ", " + std::to_string(values[f].element) : "";
    pairs += comma + "{" + input + ", " + func + element + "}";
    copies += comma + "AnyBuffer(" +
              data_text(drawn.program.inputs[(*fields)[f]], arrays, (*fields)[f] + 1) + ")";
    inputs += comma + "{" + input + ", fields[" + number + "]}";
    if (values[f].element == 0) boxes += ".over(" + func + ", " + box_text(values[f].box) + ")";
  }
  const std::string tile =
      drawn.time_tile > 1 ? ".time_tile(" + std::to_string(drawn.time_tile) + ")" : "";
  return "  const auto stepped = [&](const Target& target, bool tiled) {\n    std::vector<AnyBuffer> "
         "fields{" +
         copies + "};\n    Iteration steps(std::vector<Replacement>{" + pairs + "});\n    steps" +
         boxes + ";\n" + (tile.empty() ? "    (void)tiled;\n" : "    if (tiled) steps" + tile + ";\n") +
         "    steps.run({" + inputs + "}, " + std::to_string(drawn.steps) +
         ", {.target = target});\n    return fields;\n  };\n"
         "  const std::vector<AnyBuffer> plain_steps = stepped(Target::host(), false);\n";
}

}  // namespace

std::string to_string(const FuzzCase& drawn, const Outcome& outcome) {
  std::string text = "// Seed " + std::to_string(drawn.seed) + ", target " +
                     mica::to_string(drawn.target) + ": " + to_string(outcome.verdict) + ".\n";
  for (std::size_t at = 0; at < outcome.message.size();) {
    const std::size_t end = std::min(outcome.message.find('\n', at), outcome.message.size());
    text += "// " + outcome.message.substr(at, end - at) + "\n";
    at = end + 1;
  }
  text +=
      "#include <cstdio>\n#include <cstring>\n#include <random>\n#include <thread>\n\n#include "
      "<mica/mica.h>\n\n"
      "using namespace mica;\n\n"
      "template <typename T>\nBuffer<T> filled(const std::vector<BufferDim>& dims, unsigned seed) {\n"
      "  Buffer<T> buffer(dims);\n  std::mt19937 random(seed);\n"
      "  buffer.for_each([&](T& value, const auto&) { value = "
      "static_cast<T>(static_cast<float>(random() % "
      "10)); });\n"
      "  return buffer;\n}\n\nint main() {\n";
  text += indented(to_string(drawn.program, drawn.names));
  const ArrayDims arrays = arrays_of(drawn);
  for (std::size_t i = 0; i < drawn.program.inputs.size(); ++i) {
    const auto& input = drawn.program.inputs[i];
    text += "  auto " + input.name + "_data = " + data_text(input, arrays, i + 1) + ";\n  " +
            input.name + ".set(" + input.name + "_data);\n";
  }
  std::string outputs, plain;
  for (std::size_t i = 0; i < drawn.program.outputs.size(); ++i) {
    const auto& stage = drawn.program.stages[static_cast<std::size_t>(drawn.program.outputs[i])];
    outputs += (outputs.empty() ? "" : ", ") + handle_text(stage.name);
    for (std::size_t v = 0; v < stage.values.size(); ++v) {
      const std::string array = storage_name(stage.name, static_cast<int>(v), stage.values.size());
      const std::string dims =
          "AnyBuffer(" + type_text(stage.values[v].type) + ", " + dims_text(arrays.at(array)) + ")";
      plain += (plain.empty() ? "" : ", ") + dims;
    }
  }
  text += "  std::vector<AnyBuffer> plain{" + plain + "}, scheduled{" + plain + "};\n";
  text +=
      "  const auto run = [](const std::vector<Func>& funcs, const Target& target, "
      "std::vector<AnyBuffer>& buffers, const CompileOptions& options = {}, const RunOptions& given = "
      "{}) {\n"
      "    std::vector<AnyBuffer*> outputs;\n"
      "    for (auto& buffer : buffers) outputs.push_back(&buffer);\n"
      "    compile(funcs, target, options).run(outputs, given);\n  };\n"
      "  const auto count = [](const std::vector<AnyBuffer>& one, const std::vector<AnyBuffer>& other) "
      "{\n"
      "    int differences = 0;\n"
      "    for (std::size_t i = 0; i < one.size(); ++i) {\n"
      "      const AnyBuffer a = one[i].copy(), b = other[i].copy();\n"
      "      differences += std::memcmp(a.host_data(), b.host_data(), a.elements() * a.type().bytes()) "
      "!= 0;\n"
      "    }\n    return differences;\n  };\n";
  text += "  run({" + outputs + "}, Target::host(), plain);\n" + steps_text(drawn, arrays) + "\n";
  text += indented(mica::to_string(with_loop_names(drawn.schedule, drawn.names), handle_text));
  const auto bake = bake_of(drawn.bake, arrays);
  if (!bake.empty()) text += "  CompileOptions options;\n  options.bake = " + bake_text(bake) + ";\n";
  const CaseText words{outputs, plain, target_text(drawn.target), bake.empty() ? "" : ", options"};
  text += "  run({" + outputs + "}, " + words.target + ", scheduled" + words.options + ");\n";
  text += "  int differences = count(plain, scheduled);\n";
  if (drawn.in_place) text += in_place_text(drawn, words);
  if (drawn.in_threads) text += threads_text(drawn, arrays, words);
  if (!steps_text(drawn, arrays).empty()) {
    text += "  differences += count(plain_steps, stepped(" + words.target + ", true));\n";
  }
  text += "  std::printf(\"%d outputs differ\\n\", differences);\n  return differences;\n}\n";
  return text;
}

}  // namespace mica::test
