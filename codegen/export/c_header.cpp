#include "codegen/export/c_header.h"

#include <fmt/format.h>

#include "codegen/export/c_names.h"
#include "codegen/export/runtime_files.h"
#include "runtime/run/evaluate.h"

namespace mica::exported {

namespace {

std::string c_type(Type type) {
  if (type.is_bool()) return "bool";
  if (type.is_half()) return "uint16_t";
  if (type.is_float()) return type.bits == 32 ? "float" : "double";
  return (type.is_uint() ? "uint" : "int") + std::to_string(type.bits) + "_t";
}

/// The value that a Param holds now.
std::string value_text(const ParamData& param) {
  const HostValue value = unpack_value(param.bits.load(), param.type);
  if (param.type != Float(32)) return print_value(value, param.type);
  return fmt::format("{}", static_cast<float>(value.f));
}

/// Text that may stand in a comment of C: users' names may hold anything.
std::string in_comment(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '/' && !safe.empty() && (safe.back() == '*' || safe.back() == '/')) safe += ' ';
    if (c == '*' && !safe.empty() && safe.back() == '/') safe += ' ';
    safe += c == '\n' || c == '\\' ? ' ' : c;
  }
  return safe;
}

class HeaderWriter {
 public:
  explicit HeaderWriter(const HeaderFacts& facts) : facts_(facts), plan_(*facts.plan) {
    std::vector<std::string> names;
    for (const int k : facts.order) names.push_back(buffer(k).name);
    for (const Plan::Scalar& scalar : plan_.scalars) names.push_back(scalar.param->name);
    identifiers_ = c_identifiers(names);
  }

  std::string write() {
    const std::string guard = "MICA_PIPELINE_" + facts_.name;
    text_ = "/* " + facts_.name + ": a pipeline of " + facts_.library +
            ", exported by Mica " MICA_VERSION " for " + facts_.target + " (" + in_comment(facts_.code) +
            ").\n" + " * Build: cc program.c " + in_comment(facts_.library) +
            " -lm -lpthread -ldl */\n#ifndef " + guard + "\n#define " + guard + "\n\n";
    text_ += abi_header();
    text_ += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    write_function();
    text_ +=
        "/* The same for programs that find out what it takes: see " + facts_.name +
        "_describe. `stream` is a CUstream\n * or null, and means nothing on the host; `error` gets the "
        "message and may be null. */\nint " +
        facts_.name +
        "_call(const mica_buffer* const* buffers, const void* const* scalars, void* stream,\n"
        "    char* error, size_t error_bytes);\n\n";
    text_ += "const mica_pipeline_description* " + facts_.name + "_describe(void);\n\n";
    text_ += "/* What was wrong with this thread's last run; \"\" if nothing was. */\nconst char* " +
             facts_.name + "_error(void);\n\n";
    if (!facts_.cuda) {
      text_ +=
          "/* Parallel loops run on threads of the library's own, as many as CPUs or MICA_NUM_THREADS; "
          "after "
          "this\n * call by `runner`, with null on the library's again. Not while a run is under way. "
          "Libraries that are\n * linked statically into one program share the threads. */\nvoid " +
          facts_.name + "_set_parallel_for(mica_loop_runner runner, void* user);\n\n";
    } else {
      write_kernels();
    }
    text_ += "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    return text_;
  }

 private:
  [[nodiscard]] const PlanBuffer& buffer(int k) const {
    return plan_.buffers[static_cast<std::size_t>(k)];
  }

  void write_function() {
    text_ +=
        "/* Computes every element of the outputs and waits for " +
        std::string(facts_.cuda ? "it, unless `stream` is given and all buffers are on the GPU" : "it") +
        ".\n";
    std::string params;
    std::size_t next = 0;
    for (const int k : facts_.order) {
      const PlanBuffer& array = buffer(k);
      const std::string& identifier = identifiers_[next++];
      text_ += " *   " + identifier + "  " + (array.is_output ? "output" : "input") + " " +
               in_comment(array.name) + ", " + to_string(array.type) + ", " +
               std::to_string(array.dimensions) +
               (array.dimensions == 1 ? " dimension\n" : " dimensions\n");
      params += (params.empty() ? "" : ", ") + std::string("const mica_buffer* ") + identifier;
    }
    for (const Plan::Scalar& scalar : plan_.scalars) {
      const Type type = scalar.param->type;
      const std::string& identifier = identifiers_[next++];
      text_ += " *   " + identifier + "  Param " + in_comment(scalar.param->name) + ", " +
               to_string(type) + (type.is_half() ? " (its bits)" : "") + ", which held " +
               value_text(*scalar.param) + "\n";
      params += (params.empty() ? "" : ", ") + c_type(type) + " " + identifier;
    }
    if (facts_.cuda) {
      text_ +=
          " *   stream  a CUstream, in which the run is then enqueued; null: the context's default "
          "stream\n"
          " * It runs in the calling thread's CUDA context or, where there is none, in the first GPU's "
          "primary one.\n * Buffers of the host are copied to the GPU and back.\n";
      params += ", void* stream";
    }
    text_ += " * Runs that it has code for:";
    for (const Variant& variant : facts_.variants) text_ += "\n *   " + to_string(variant);
    text_ +=
        "\n * The result is MICA_OK or another of the codes above. Several threads may call it. "
        "*/\nint " +
        facts_.name + "(" + params + ");\n\n";
  }

  void write_kernels() {
    text_ += "/* For programs that launch kernels themselves, with the code in";
    for (const std::string& file : facts_.beside) text_ += " " + in_comment(file);
    text_ +=
        ": one after the other, in this order,\n * with parameters as listed; a/b rounds down. "
        "f.extent.0 is the extent of dimension 0 of f; a pointer's coordinates are those of the\n"
        " * element that it shows, 0 if there are none. The code is for runs that are " +
        to_string(facts_.variants.front()) + ".\n *\n";
    Plan launches;
    launches.values = plan_.values;
    launches.temporaries = plan_.temporaries;
    launches.checks = plan_.checks;
    launches.alignments = plan_.alignments;
    launches.launches = plan_.launches;
    for (std::size_t l = 0; l < launches.launches.size(); ++l) {
      launches.launches[l].kernel = facts_.entries[l];
    }
    const std::string listed = to_string(launches);
    for (std::size_t at = 0; at < listed.size();) {
      const std::size_t end = listed.find('\n', at);
      text_ += " *   " + in_comment(listed.substr(at, end - at)) + "\n";
      at = end == std::string::npos ? listed.size() : end + 1;
    }
    text_ += " */\n\n";
  }

  const HeaderFacts& facts_;
  const Plan& plan_;
  std::vector<std::string> identifiers_;
  std::string text_;
};

}  // namespace

std::string c_header(const HeaderFacts& facts) { return HeaderWriter(facts).write(); }

}  // namespace mica::exported
