// What follows from the description of a directive's fields alone (dsl/schedule/directives.h).
#pragma once

#include <string>
#include <vector>

#include "dsl/schedule/schedule_view.h"

namespace mica {

/// What is wrong with the fields of a directive of `f`: inputs and dimensions that are none, inputs
/// that `f` does not read, numbers beyond their limits.
std::vector<std::string> wrong_fields(const ScheduleView& view, const FuncView& f,
                                      const Directive& directive);

}  // namespace mica
