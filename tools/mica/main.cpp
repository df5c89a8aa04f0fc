// mica: looks at named schedules and at what the compiler makes of them.
#include <cstdio>
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const mica::Error& e) {
    std::cerr << "mica: " << e.what() << "\n";
    return 1;
  }
  return 0;
}
