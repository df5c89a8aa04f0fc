// mica dump and ptx, and what the commands share.
#include <charconv>
#include <cstdint>
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
  bench::apply_named(algorithm, name, parse_parameters(choice.parameters));
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

void set_example(CLI::App& command, const std::string& line) { command.footer("Example: " + line); }

void add_wide(CLI::App& command, bool& wide) {
  command.add_flag("--wide", wide, "do not break lines of more than 120 columns");
}

bench::Page page_on_stdout(bool wide) {
  return {std::cout, wide ? 0 : bench::Page::kColumns, bench::shows_color(1)};
}

void with_parameters(const std::vector<std::string>& pairs, const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError& error) {
    std::string given;
    for (const std::string& pair : pairs) given += (given.empty() ? "-p " : " ") + pair;
    if (given.empty()) throw;
    throw UserError(given + ": " + error.message(), error.where());
  }
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

void add_dump(CLI::App& app) {
  auto* command = app.add_subcommand("dump", "the code after a pass of the compiler");
  auto choice = std::make_shared<Choice>();
  add_choice(*command, *choice);
  command->add_option("--after", choice->pass, "pass to stop after (default: the last)");
  command->add_option("--target", choice->target, "cuda, host, emulator or host-checked")
      ->capture_default_str();
  set_example(*command, "mica dump stencil7 --schedule pmpp/shared-tile --after build_loop_nest");
  command->callback([choice] {
    with_parameters(choice->parameters, [&] {
      std::cout << code_after_pass(scheduled(*choice).output, inspected_target(choice->target),
                                   choice->pass.empty() ? pass_names().back() : choice->pass);
    });
  });
}

void add_ptx(CLI::App& app) {
  auto* command = app.add_subcommand("ptx", "the PTX of an algorithm under a schedule");
  auto choice = std::make_shared<Choice>();
  add_choice(*command, *choice);
  command->add_option("--sm", choice->sm, "compute capability times ten")->capture_default_str();
  command->add_option("--ptx", choice->ptx, "PTX version times ten (0: the lowest for --sm)");
  set_example(*command, "mica ptx stencil7 --schedule pmpp/register-march --sm 90");
  command->callback([choice] {
    with_parameters(choice->parameters, [&] {
      std::cout << compile_to_ptx(scheduled(*choice).output, choice->sm, choice->ptx);
    });
  });
}

}  // namespace mica::tools
