// The scheduled loops as a reader wants to see them.
#pragma once

#include <string>

#include "codegen/program.h"

namespace mica {

/// One line a loop, an array or a store (without its place), indented, for a program that
/// build_loop_nest and simplify_loops have been through.
std::string print_loops(const Program& program);

}  // namespace mica
