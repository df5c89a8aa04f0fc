// Taps and calls as messages show them: each argument in a line or two at most.
#pragma once

#include <string>
#include <vector>

#include "dsl/func/function.h"

namespace mica {

/// "(x + 1, y)".
std::string args_text(const std::vector<Expr>& args);
/// "u(x + 1, y)".
std::string tap_text(const Access& tap);
/// "next(x, y)" of a name and its Vars, and of a Func as its first definition has it.
std::string call_text(const std::string& name, const std::vector<std::string>& args);
std::string call_text(const FunctionData& func);

}  // namespace mica
