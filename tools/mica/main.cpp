// mica: looks at named schedules and at what the compiler makes of them.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "dsl/expr/names.h"
#include "tools/mica/commands.h"

namespace {

// What the words that nothing takes are a slip of the pen for: commands and options.
std::string hint(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(command->get_name());
  }
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  std::string text;
  for (const std::string& word : app.remaining(true)) {
    const std::string meant = mica::did_you_mean(word.substr(0, word.find('=')), known);
    if (!meant.empty()) text += word + meant + "\n";
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Mica: stencils and schedules for NVIDIA GPUs");
  app.set_version_flag("--version", "mica " MICA_VERSION);
  app.require_subcommand(1);
  mica::tools::add_list(app);
  mica::tools::add_show(app);
  mica::tools::add_plan(app);
  mica::tools::add_traffic(app);
  mica::tools::add_dump(app);
  mica::tools::add_ptx(app);
  mica::tools::add_bench(app);
  mica::tools::add_fuzz(app);
  // The status is 0 when all is done and printed, 1 for an error, 2 for a wrong command line.
  try {
    app.parse(argc, argv);
    if (!std::cout.flush()) throw mica::UserError("what was to be printed could not be written");
  } catch (const CLI::ParseError& e) {
    const int status = std::min(app.exit(e), 2);
    if (status != 0) std::cerr << hint(app);
    return status;
  } catch (const std::exception& e) {
    std::cerr << "mica: " << e.what() << "\n";
    return 1;
  }
  return 0;
}
