// mica: looks at named schedules and at what the compiler makes of them.
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>

#include "tools/mica/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Mica: stencils and schedules for NVIDIA GPUs");
  app.require_subcommand(1);
  mica::tools::add_list(app);
  mica::tools::add_show(app);
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
    return std::min(app.exit(e), 2);
  } catch (const std::exception& e) {
    std::cerr << "mica: " << e.what() << "\n";
    return 1;
  }
  return 0;
}
