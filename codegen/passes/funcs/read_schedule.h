// read_schedule: what the directives say is read, once and for all passes that come after.
//
// Program::schedule has it of each Func that is computed; the pipeline's Funcs have no directives from
// here on. So a pass of loops or threads cannot depend on how something was asked for, only on what was.
// Requires: turn_tiles, the last pass that rewrites directives, and infer_bounds, which says what is
// computed. Ensures: Definition::directives is empty everywhere.
#pragma once

#include <optional>

#include "codegen/program.h"

namespace mica::passes {

void read_schedule(Program& program);

/// The march that a directive of `func` asks for, for passes that come before.
std::optional<FuncSchedule::March> march_of(const FunctionData& func);

}  // namespace mica::passes
