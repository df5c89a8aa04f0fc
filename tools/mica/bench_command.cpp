// mica bench: schedules against their hand-written twins and a device copy.
#include <iostream>

#include "bench/bench.h"
#include "bench/sweep.h"
#include "bench/time.h"
#include "tools/mica/commands.h"

namespace mica::tools {

namespace {

void add_time(CLI::App& bench) {
  struct Choice {
    bench::TimeOptions options;
    std::string target, tiles;
    std::vector<std::string> parameters;
    bool wide = false;
  };
  auto* command = bench.add_subcommand(
      "time",
      "time stencils that are iterated: single steps and time tiles, against the roof of sweeps");
  auto choice = std::make_shared<Choice>();
  bench::TimeOptions& options = choice->options;
  command->add_option("filter", options.filter, "the cases whose names contain it");
  command->add_option("--target", choice->target,
                      "cuda, cuda:N, host, emulator or host-checked (default: the best there is)");
  command->add_option("--size", options.size, "points along each side (0: the case's own)")
      ->check(natural_number());
  command->add_option("--steps", options.steps, "steps of a timed run")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--runs", options.runs, "timed runs of each")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--pause", options.pause, "seconds of rest before each timed run (a GPU cools)")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  command->add_option("--sweep", choice->tiles, "steps at once to try: T=1,2,4 or T=first:last:step");
  command->add_option("--param,-p", choice->parameters,
                      "in place of the case's, name=value: threads_x, threads_y, rows, chunk, shortest, "
                      "vec, scatter, registers");
  command->add_flag("--plain", options.plain, "steps without directives: Mica chooses tiles and marches")
      ->excludes("--param");
  add_wide(*command, choice->wide);
  set_example(*command, "mica bench time 7pt-f32 --size 64 --steps 8 --runs 3 --sweep T=1,2,4");
  command->callback([choice] {
    choice->options.target = choice->target.empty() ? Target::best() : Target::parse(choice->target);
    choice->options.parameters = parse_parameters(choice->parameters);
    if (!choice->tiles.empty()) {
      for (const std::int64_t steps : bench::parse_sweep(choice->tiles).values) {
        choice->options.tiles.push_back(static_cast<int>(steps));
      }
    }
    bench::Page page = page_on_stdout(choice->wide);
    with_parameters(choice->parameters, [&] { bench::run_time(choice->options, page); });
  });
}

}  // namespace

void add_bench(CLI::App& app) {
  struct Choice {
    bench::Options options;
    bench::Figure figure;
    std::string target, sweep;
    std::vector<std::string> parameters;
    bool wide = false;
  };
  auto* command = app.add_subcommand("bench", "time schedules against hand-written kernels and a copy");
  auto choice = std::make_shared<Choice>();
  bench::Options& options = choice->options;
  command->add_option("filter", options.filter,
                      "the case of this name, or all whose name contains it: see `mica list`");
  command->add_option("--target", choice->target,
                      "cuda, cuda:N, host, emulator or host-checked (default: the best there is)");
  command->add_flag("--dense", options.dense,
                    "arrays without padding, of one point less along each side: rows not aligned");
  command->add_flag("--bake", options.bake, "extents and strides are compiled in as constants");
  command->add_option("--size", options.size, "points along each side (0: the case's own)")
      ->check(natural_number());
  command->add_option("--runs", options.runs, "timed runs of each, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--twins", options.twins, "folder of the hand-written kernels' cubins");
  command->add_option("--param,-p", choice->parameters,
                      "schedule parameters in place of the case's, name=value");
  command->add_option("--json", options.json, "file to write the results to as JSON");
  auto* sweep = command->add_option("--sweep", choice->sweep,
                                    "measure one case for several values of a parameter and draw its "
                                    "bandwidth: name=v1,v2,... or name=first:last:step");
  command->add_option("--svg", choice->figure.svg, "file of the drawing (default: named by the case)")
      ->needs(sweep);
  command->add_flag("--png", choice->figure.png, "also draw a PNG of the same name")->needs(sweep);
  add_wide(*command, choice->wide);
  set_example(*command, "mica bench pmpp/naive --size 64 --runs 5 --sweep block_y=2,4,8 --png");
  add_time(*command);
  command->callback([choice, command] {
    if (!command->get_subcommands().empty()) return;
    choice->options.target = choice->target.empty() ? Target::best() : Target::parse(choice->target);
    choice->options.parameters = parse_parameters(choice->parameters);
    bench::Page page = page_on_stdout(choice->wide);
    with_parameters(choice->parameters, [&] {
      if (choice->sweep.empty()) {
        bench::run(choice->options, page);
      } else {
        bench::run_sweep(choice->options, bench::parse_sweep(choice->sweep), choice->figure, page);
      }
    });
  });
}

}  // namespace mica::tools
