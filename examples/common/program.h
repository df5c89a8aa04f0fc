// What the examples' main functions share.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace mica::examples {

/// Parses the command line, calls `body` and says on stderr what went wrong, after the app's name. The
/// exit status: 0 when all is done and printed, 1 for an error, 2 for a wrong command line.
int run_program(CLI::App& app, int argc, const char* const* argv, const std::function<void()>& body);

}  // namespace mica::examples
