// Words of C++ for programs that are printed.
#pragma once

#include <cstddef>
#include <string>

#include "dsl/expr/type.h"

namespace mica::test {

/// "Float(32)".
std::string type_text(Type type);
/// The variable of the Param that stands at place i of those of a program, and its type and value.
std::string scalar_text(std::size_t i);
std::string scalar_type_text(Type type);
std::string scalar_value_text(Type type, double value);
/// The variable that holds the Func of this name, as schedules print it.
std::string handle_text(std::string name);

}  // namespace mica::test
