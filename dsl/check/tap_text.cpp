#include "dsl/check/tap_text.h"

#include "dsl/expr/traverse.h"

namespace mica {

std::string args_text(const std::vector<Expr>& args) {
  std::string text;
  for (const Expr& arg : args) text += (text.empty() ? "" : ", ") + brief(arg);
  return "(" + text + ")";
}

std::string tap_text(const Access& tap) { return tap.name + args_text(tap.args); }

std::string call_text(const std::string& name, const std::vector<std::string>& args) {
  std::string text;
  for (const std::string& arg : args) text += (text.empty() ? "" : ", ") + arg;
  return name + "(" + text + ")";
}

std::string call_text(const FunctionData& func) { return call_text(func.name, func.args); }

}  // namespace mica
