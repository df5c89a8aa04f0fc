// mica list, dump and ptx.
#include <charconv>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>

#include "bench/algorithms.h"
#include "tools/mica/commands.h"

namespace mica::tools {
namespace {

struct Choice {
  std::string algorithm = "stencil7", schedule, pass, target = "cuda";
  std::vector<std::string> parameters;
  int sm = 90, ptx = 0;
};

bench::Algorithm scheduled(const Choice& choice) {
  bench::Algorithm algorithm = bench::make_algorithm(choice.algorithm);
  const std::string& name = choice.schedule.empty() ? algorithm.schedule : choice.schedule;
  schedules::apply(algorithm.output, name, parse_parameters(choice.parameters));
  return algorithm;
}

void add_choice(CLI::App& command, Choice& choice) {
  command.add_option("algorithm", choice.algorithm, "algorithm: see `mica list`")->capture_default_str();
  command.add_option("--schedule,-s", choice.schedule, "named schedule (default: the algorithm's own)");
  command.add_option("--param,-p", choice.parameters, "schedule parameters, name=value");
}

// A shape to look at without a device: the compiler needs none to lower for the GPU.
Target inspected_target(const std::string& text) {
  return text == "cuda" ? Target{Backend::Cuda, 0} : Target::parse(text);
}

}  // namespace

CLI::Validator natural_number() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        std::int64_t value = -1;
        const char* const last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), last, value);
        if (error == std::errc() && end == last && value >= 0) return "";
        return text + " is no whole number from 0 to 2^63 - 1";
      },
      "NUMBER");
}

schedules::Parameters parse_parameters(const std::vector<std::string>& pairs) {
  schedules::Parameters parameters;
  for (const auto& pair : pairs) {
    const auto equals = pair.find('=');
    std::size_t used = 0;
    std::int64_t value = 0;
    const std::string number = equals == std::string::npos ? "" : pair.substr(equals + 1);
    try {
      value = std::stoll(number, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != number.size()) {
      throw UserError("parameter " + pair + " is not of the form name=integer");
    }
    parameters[pair.substr(0, equals)] = value;
  }
  return parameters;
}

void add_list(CLI::App& app) {
  auto* command = app.add_subcommand("list", "the named schedules and the algorithms to try them on");
  command->callback([] {
    std::cout << "schedules\n";
    for (const auto& recipe : schedules::registry()) {
      std::cout << "  " << std::left << std::setw(24) << recipe.name << recipe.description << "\n";
      std::cout << "  " << std::setw(24) << ""
                << "parameters:";
      for (const auto& p : recipe.parameters) {
        std::cout << " " << p.name << "=" << p.value << " [" << p.min << ".." << p.max << "]";
      }
      std::cout << "\n  " << std::setw(24) << ""
                << "from: " << recipe.document << "\n";
    }
    std::cout << "algorithms\n";
    for (const auto& name : bench::algorithm_names()) {
      std::cout << "  " << std::left << std::setw(24) << name << bench::make_algorithm(name).description
                << "\n";
    }
  });
}

void add_dump(CLI::App& app) {
  auto* command = app.add_subcommand("dump", "the code after a pass of the compiler");
  auto choice = std::make_shared<Choice>();
  add_choice(*command, *choice);
  command->add_option("--after", choice->pass, "pass to stop after (default: the last)");
  command->add_option("--target", choice->target, "cuda, host or emulator")->capture_default_str();
  command->callback([choice] {
    bench::Algorithm algorithm = scheduled(*choice);
    std::cout << code_after_pass(algorithm.output, inspected_target(choice->target),
                                 choice->pass.empty() ? pass_names().back() : choice->pass);
  });
}

void add_ptx(CLI::App& app) {
  auto* command = app.add_subcommand("ptx", "the PTX of an algorithm under a schedule");
  auto choice = std::make_shared<Choice>();
  add_choice(*command, *choice);
  command->add_option("--sm", choice->sm, "compute capability times ten")->capture_default_str();
  command->add_option("--ptx", choice->ptx, "PTX version times ten (0: the lowest for --sm)");
  command->callback(
      [choice] { std::cout << compile_to_ptx(scheduled(*choice).output, choice->sm, choice->ptx); });
}

}  // namespace mica::tools
