// mica export: a named algorithm under a schedule as a library for programs in C.
#include <charconv>
#include <iostream>
#include <memory>

#include "bench/algorithms.h"
#include "codegen/export/compile_to_library.h"
#include "dsl/expr/names.h"
#include "tools/mica/commands.h"

namespace mica::tools {
namespace {

struct Choice {
  std::string algorithm = "stencil7", schedule, schedule_file, target = "host", stem, name,
              cpu = "native";
  std::vector<std::string> parameters, variants;
  std::vector<std::int64_t> extents;
  bool shared = false;
};

/// "host", or "cuda:90", whose number is a compute capability and not a device's.
Target parse_target(const std::string& text, ExportOptions& options) {
  if (text == "host") return Target::host();
  const std::string number = text.starts_with("cuda:") ? text.substr(5) : text == "cuda" ? "90" : "";
  const char* const last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, options.sm);
  if (number.empty() || error != std::errc() || end != last) {
    throw UserError("--target is host, or cuda: and a compute capability times ten as in cuda:90, not " +
                    text);
  }
  return {Backend::Cuda, 0};
}

Variant parse_variant(const std::string& word) {
  static const std::vector<std::string> kWords = {"default",  "unaligned", "strided",
                                                  "in_place", "large",     "general"};
  Variant variant;
  if (word == "default") return variant;
  const bool general = word == "general";
  if (word == "unaligned" || general) variant.aligned = false;
  if (word == "strided" || general) variant.unit_stride = variant.aligned = false;
  if (word == "in_place" || general) variant.separate = false;
  if (word == "large" || general) variant.index32 = variant.grid3 = false;
  if (variant == Variant{}) {
    throw UserError("there is no variant " + word + did_you_mean(word, kWords) + "; they are " +
                    joined(kWords));
  }
  return variant;
}

bench::Algorithm scheduled(const Choice& choice) {
  bench::Algorithm algorithm = bench::make_algorithm(choice.algorithm);
  if (choice.schedule.empty() && !choice.parameters.empty()) {
    throw UserError("parameters belong to a schedule by name; give --schedule");
  }
  if (!choice.schedule_file.empty()) {
    if (!choice.schedule.empty()) {
      throw UserError("--schedule and --schedule-file are both given: name one");
    }
    algorithm.output.apply(load_schedule(choice.schedule_file));
  } else if (!choice.schedule.empty()) {
    bench::apply_named(algorithm, choice.schedule, parse_parameters(choice.parameters));
  }
  return algorithm;
}

void run(const Choice& choice) {
  ExportOptions options;
  const Target target = parse_target(choice.target, options);
  if (choice.cpu != "native" && choice.cpu != "baseline") {
    throw UserError("--cpu is native or baseline, not " + choice.cpu);
  }
  options.baseline_cpu = choice.cpu == "baseline";
  options.name = choice.name;
  options.shared = choice.shared;
  for (const std::string& word : choice.variants) options.variants.push_back(parse_variant(word));
  const bench::Algorithm algorithm = scheduled(choice);
  const std::size_t values = algorithm.output.types().size();
  if (!choice.extents.empty() &&
      choice.extents.size() != static_cast<std::size_t>(algorithm.output.dimensions())) {
    throw UserError("--extents has " + std::to_string(choice.extents.size()) + " numbers, and " +
                    algorithm.name + " has " + std::to_string(algorithm.output.dimensions()) +
                    " dimensions");
  }
  for (std::size_t value = 0; value < values; ++value) {
    const std::string element = values > 1 ? "." + std::to_string(value) : "";
    for (std::size_t d = 0; d < choice.extents.size(); ++d) {
      options.bake[symbol_name(algorithm.output.name() + element, BufferField::Extent, d)] =
          choice.extents[d];
    }
  }
  for (const std::string& file : compile_to_library(algorithm.output, choice.stem, target, options)) {
    std::cout << file << "\n";
  }
}

}  // namespace

void add_export(CLI::App& app) {
  auto* command =
      app.add_subcommand("export", "a library and a header for programs in C (docs/export.md)");
  auto choice = std::make_shared<Choice>();
  command->add_option("algorithm", choice->algorithm, "algorithm: see `mica list`")
      ->capture_default_str();
  command->add_option("--schedule,-s", choice->schedule,
                      "named schedule (default: the one that Mica gives Funcs without directives)");
  command->add_option("--param,-p", choice->parameters, "schedule parameters, name=value");
  command->add_option("--schedule-file", choice->schedule_file,
                      "JSON file of save_schedule or mica tune");
  command->add_option("--extents", choice->extents, "the output's extents, compiled in as constants")
      ->delimiter(',')
      ->check(natural_number());
  command->add_option("--target,-t", choice->target, "host, or cuda:90 for compute capability 9.0")
      ->capture_default_str();
  command
      ->add_option("--variant", choice->variants,
                   "runs to have code for, in place of all: default, unaligned, strided, in_place, "
                   "large, general")
      ->delimiter(',');
  command->add_option("--cpu", choice->cpu, "native: CPUs like this one; baseline: all")
      ->capture_default_str();
  command->add_option("--name", choice->name, "the C function (default: the last part of the stem)");
  command->add_option("--output,-o", choice->stem, "stem of the files: STEM.a, STEM.h")->required();
  command->add_flag("--shared", choice->shared, "makes STEM.so, too");
  set_example(*command, "mica export blur-u16 --schedule blur/cpu-tile --target host -o blur");
  command->callback([choice] { with_parameters(choice->parameters, [&] { run(*choice); }); });
}

}  // namespace mica::tools
