#include "dsl/expr/diagnostics.h"

#include <string_view>

namespace mica {
namespace {

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string at_place(const SourceLocation& where, const std::string& message) {
  return where.known() ? to_string(where) + ": " + message : message;
}

}  // namespace

std::string to_string(const SourceLocation& where) {
  if (!where.known()) return "";
  return base_name(where.file) + ":" + std::to_string(where.line);
}

std::string line_of(const SourceLocation& where) {
  return where.known() ? " (line " + std::to_string(where.line) + ")" : "";
}

SourceLocation::SourceLocation(const CallSite& at) {
  // Where libstdc++ and libc++ have their headers.
  if (std::string_view(at.file_name()).find("/include/c++/") != std::string_view::npos) return;
  file = at.file_name();
  line = at.line();
}

UserError::UserError(const std::string& message, SourceLocation where)
    : Error(at_place(where, message)), message_(message), where_(std::move(where)) {}

DeviceError::DeviceError(const std::string& call, int code, const std::string& message)
    : Error(call + " failed with code " + std::to_string(code) + ": " + message),
      call_(call),
      code_(code) {}

void internal_check_failed(const char* what, const CallSite& at) {
  throw InternalError("internal error at " + to_string(SourceLocation(at)) + " in " +
                      at.function_name() + ": " + what + "; please report it as a bug of Mica");
}

void throw_if_any(const Diagnostics& findings) {
  if (findings.empty()) return;
  std::string message = findings.front().message;
  for (std::size_t i = 1; i < findings.size(); ++i) {
    message += "\n  also: " + at_place(findings[i].where, findings[i].message);
  }
  throw UserError(message, findings.front().where);
}

}  // namespace mica
