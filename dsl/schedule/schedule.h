// A schedule as plain data: which directives apply to which Func, comparable, printable, and saved
// and loaded as JSON. The members of Func (dsl/func/func.h) append to it and document each directive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dsl/expr/diagnostics.h"
#include "dsl/schedule/directives.h"

namespace mica {

/// One directive with the user's line.
struct Directive {
  directive::AnyOp op;
  SourceLocation where;
  friend bool operator==(const Directive&, const Directive&) = default;
};

/// The directives of one definition of a Func: `update` 0 is the pure definition, 1 the first
/// update. Directives apply in order.
struct DefinitionSchedule {
  std::string func;
  int update = 0;
  std::vector<Directive> directives;
  friend bool operator==(const DefinitionSchedule&, const DefinitionSchedule&) = default;
};

/// The schedule of a pipeline, in the order Funcs were met from inputs to outputs.
/// Definitions without directives are left out.
struct Schedule {
  std::vector<DefinitionSchedule> stages;
  /// Of an Iteration's step: how many are taken at once (Iteration::time_tile).
  int steps = 1;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// The directive as the user would write it after a Func's name: `.split(x, xo, xi, 32)`. Loop names
/// that are no C++ identifiers are quoted. In is `source.in(consumer)`, a statement of its own.
std::string to_string(const Directive& directive);
/// C++ that makes the schedule again, given handles named as the Funcs, inputs and Vars are: one
/// chained statement a definition, `next.gpu_tile(x, y, 32, 8)\n    .vectorize(x, 4);`, and
/// `iteration.time_tile(3);` for several steps at once. A handle of a
/// wrapper is written `u.in(next)`; characters that an identifier cannot have become `_`.
std::string to_string(const Schedule& schedule);
/// The same with `handle_of` for Funcs and inputs, by their names in the schedule, and no Vars: loops
/// are named by strings.
std::string to_string(const Schedule& schedule,
                      const std::function<std::string(const std::string&)>& handle_of);
std::string to_string(MemoryType memory);
std::string to_string(TailStrategy tail);
std::string to_string(LoadPolicy policy);
std::string to_string(LoopKind kind);
std::string to_string(Partials partials);

/// JSON text with a format version. from_json throws UserError that names the offending key.
std::string to_json(const Schedule& schedule);
Schedule schedule_from_json(const std::string& text);
/// File forms of the same; UserError naming the path when it cannot be read or written.
void save_schedule(const Schedule& schedule, const std::string& path);
Schedule load_schedule(const std::string& path);

}  // namespace mica
