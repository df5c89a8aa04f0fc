// The tool's subcommands; each adds its options and runs when it is parsed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/page.h"
#include "schedules/registry.h"

namespace mica::tools {

void add_list(CLI::App& app);  ///< mica list [--json]: schedules, algorithms and cases by name
/// mica show NAME [--json | --html FILE]: one schedule as code, its parameters, loop nest and exact
/// figures
void add_show(CLI::App& app);
/// mica plan NAME: the plans of its kernels (codegen/plan/kernel_plan.h)
void add_plan(CLI::App& app);
void add_traffic(CLI::App& app);  ///< mica traffic NAME --size N: bytes moved, for measure_traffic.sh
void add_dump(CLI::App& app);  ///< mica dump ALGORITHM --schedule S --after PASS: the code after a pass
void add_ptx(CLI::App& app);   ///< mica ptx ALGORITHM --schedule S --sm N
/// mica export ALGORITHM --schedule S --target T -o STEM: a library for programs in C
void add_export(CLI::App& app);
void add_bench(CLI::App& app);  ///< mica bench [FILTER]: times schedules on a target
/// mica fuzz --seconds N --seed S [--illegal] [--campaign FILE [--report]]: random pairs; exit status 1
/// and a small program on failure
void add_fuzz(CLI::App& app);

/// mica tune ALGORITHM [--size N] [-o FILE]: the fastest schedule that a search finds
void add_tune(CLI::App& app);
void add_tuned(CLI::App& app);  ///< mica tuned list|show|export|import|forget: what tuning found

/// Checks the text of an option: a whole number from 0 to 2^63 - 1, nothing else and not beyond, which
/// CLI11 itself would take for another number.
CLI::Validator natural_number();

/// Ends the command's --help with a command line to try.
void set_example(CLI::App& command, const std::string& line);
/// The option --wide, for texts of people: lines as long as they are.
void add_wide(CLI::App& command, bool& wide);
/// Standard output for people.
bench::Page page_on_stdout(bool wide);
/// Carries out what a command does with the parameters `pairs` of its user; UserErrors begin with them.
void with_parameters(const std::vector<std::string>& pairs, const std::function<void()>& work);

/// "tile_x=32,tile_y=8" pairs as parameters; UserError for text that is no name=integer.
schedules::Parameters parse_parameters(const std::vector<std::string>& pairs);

}  // namespace mica::tools
