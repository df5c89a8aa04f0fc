// Words of C++ for programs that are printed.
#pragma once

#include <string>

#include "dsl/type.h"

namespace mica::test {

/// "Float(32)".
std::string type_text(Type type);
/// The variable that holds the Func of this name, as schedules print it.
std::string handle_text(std::string name);

}  // namespace mica::test
