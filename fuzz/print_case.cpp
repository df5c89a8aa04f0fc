// A case as a C++ program of its own.
#include "fuzz/fuzz_case.h"
#include "fuzz/print_program.h"

namespace mica::test {
namespace {

std::string cpp_type(Type type) {
  if (type.is_bool()) return "bool";
  if (type.code == TypeCode::BFloat) return "bfloat16";
  if (type.is_float()) return type.bits == 64 ? "double" : type.bits == 32 ? "float" : "float16";
  return (type.is_int() ? "std::int" : "std::uint") + std::to_string(type.bits) + "_t";
}

/// The dimensions of PoisonedOutput's crop.
std::string dims_text(const FuzzCase& drawn, const Box& box) {
  std::vector<std::int64_t> strides(box.size());
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < box.size(); ++i) {
    const std::size_t d = drawn.transposed ? box.size() - 1 - i : i;
    strides[d] = stride;
    stride *= box[d].second + 2 * drawn.margin + (i == 0 ? drawn.row_padding : 0);
  }
  std::string text;
  for (std::size_t d = 0; d < box.size(); ++d) {
    text += (text.empty() ? "{" : ", {") + std::to_string(box[d].first) + ", " +
            std::to_string(box[d].second) + ", " + std::to_string(strides[d]) + "}";
  }
  return "std::vector<BufferDim>{" + text + "}";
}

std::string target_text(const Target& target) {
  switch (target.backend) {
    case Backend::Host: return "Target::host()";
    case Backend::Cuda: return "Target::cuda(" + std::to_string(target.device) + ")";
    case Backend::GpuEmulator: return "Target::gpu_emulator()";
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
      "#include <cstdio>\n#include <cstring>\n#include <random>\n\n#include <mica/mica.h>\n\n"
      "using namespace mica;\n\n"
      "template <typename T>\nBuffer<T> filled(const std::vector<BufferDim>& dims, unsigned seed) {\n"
      "  Buffer<T> buffer(dims);\n  std::mt19937 random(seed);\n"
      "  buffer.for_each([&](T& value, const auto&) { value = "
      "static_cast<T>(static_cast<float>(random() % "
      "10)); });\n"
      "  return buffer;\n}\n\nint main() {\n";
  text += indented(to_string(drawn.program, drawn.names));
  const std::vector<Box> demanded = demanded_boxes(drawn.program, drawn.boxes);
  for (std::size_t i = 0; i < drawn.program.inputs.size(); ++i) {
    const auto& input = drawn.program.inputs[i];
    const auto bounded = drawn.bounded_inputs.find(input.name);
    Box box = bounded != drawn.bounded_inputs.end() ? bounded->second : demanded[i];
    if (box.empty()) box.assign(static_cast<std::size_t>(input.dimensions), {0, 1});
    text += "  auto " + input.name + "_data = filled<" + cpp_type(input.type) + ">(" +
            dims_text(drawn, box) + ", " + std::to_string(i + 1) + ");\n  " + input.name + ".set(" +
            input.name + "_data);\n";
  }
  std::string outputs, plain;
  const std::vector<Box> boxes = output_boxes(drawn.program, drawn.boxes);
  for (std::size_t i = 0; i < drawn.program.outputs.size(); ++i) {
    const auto& stage = drawn.program.stages[static_cast<std::size_t>(drawn.program.outputs[i])];
    outputs += (outputs.empty() ? "" : ", ") + handle_text(stage.name);
    for (const Term& value : stage.values) {
      const std::string dims =
          "AnyBuffer(" + type_text(value.type) + ", " + dims_text(drawn, boxes[i]) + ")";
      plain += (plain.empty() ? "" : ", ") + dims;
    }
  }
  text += "  std::vector<AnyBuffer> plain{" + plain + "}, scheduled{" + plain + "};\n";
  text +=
      "  const auto run = [](const std::vector<Func>& funcs, const Target& target, "
      "std::vector<AnyBuffer>& "
      "buffers) {\n"
      "    std::vector<AnyBuffer*> outputs;\n"
      "    for (auto& buffer : buffers) outputs.push_back(&buffer);\n"
      "    compile(funcs, target).run(outputs);\n  };\n";
  text += "  run({" + outputs + "}, Target::host(), plain);\n\n";
  text += indented(mica::to_string(with_loop_names(drawn.schedule, drawn.names), handle_text));
  text += "  run({" + outputs + "}, " + target_text(drawn.target) + ", scheduled);\n";
  text +=
      "  int differences = 0;\n"
      "  for (std::size_t i = 0; i < plain.size(); ++i) {\n"
      "    const AnyBuffer a = plain[i].copy(), b = scheduled[i].copy();\n"
      "    differences += std::memcmp(a.host_data(), b.host_data(), a.elements() * a.type().bytes()) != "
      "0;\n"
      "  }\n"
      "  std::printf(\"%d outputs differ\\n\", differences);\n  return differences;\n}\n";
  return text;
}

}  // namespace mica::test
