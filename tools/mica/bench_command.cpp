// mica bench: schedules against their hand-written twins and a device copy.
#include <iostream>

#include "bench/bench.h"
#include "tools/mica/commands.h"

namespace mica::tools {

void add_bench(CLI::App& app) {
  auto* command = app.add_subcommand("bench", "time schedules against hand-written kernels and a copy");
  auto options = std::make_shared<bench::Options>();
  auto target = std::make_shared<std::string>();
  command->add_option("filter", options->filter, "only cases whose name contains this");
  command->add_option("--target", *target,
                      "cuda, cuda:N, host or emulator (default: the best there is)");
  command->add_option("--size", options->size, "points along each side (0: the case's own)");
  command->add_option("--runs", options->runs, "timed runs of each, interleaved")
      ->check(CLI::Range(3, 10000))
      ->capture_default_str();
  command->add_option("--twins", options->twins, "folder of the hand-written kernels' cubins");
  command->add_option("--json", options->json, "file to write the results to as JSON");
  command->callback([options, target] {
    options->target = target->empty() ? Target::best() : Target::parse(*target);
    bench::run(*options, std::cout);
  });
}

}  // namespace mica::tools
