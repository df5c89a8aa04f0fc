// What the examples' main functions share.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/run/target.h"

namespace mica::examples {

/// Parses the command line, calls `body` and says on stderr what went wrong, after the app's name. The
/// exit status: 0 when all is done and printed, 1 for an error, 2 for a wrong command line.
int run_program(CLI::App& app, int argc, const char* const* argv, const std::function<void()>& body);

/// Adds the options that all examples have: --target and --picture.
void add_usual_options(CLI::App& app, std::string& target, std::string& picture);
/// The target that --target names; Target::best() for none. UserErrors as Target::parse.
Target target_of(const std::string& name);

}  // namespace mica::examples
