// Errors: who was wrong, where, and what to do about it.
#pragma once

#include <concepts>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace mica {

/// Where a call stands in the user's program: the default argument of functions whose errors name the
/// caller's line. It is std::source_location for every compiler: Clang 14 has none with libstdc++.
class CallSite {
 public:
  static constexpr CallSite current(const char* file = __builtin_FILE(), int line = __builtin_LINE(),
                                    const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
#ifdef __cpp_lib_source_location
  constexpr CallSite(const std::source_location& at)  // NOLINT: what users pass on
      : CallSite(at.file_name(), static_cast<int>(at.line()), at.function_name()) {}
#endif
  [[nodiscard]] constexpr const char* file_name() const { return file_; }
  [[nodiscard]] constexpr int line() const { return line_; }
  [[nodiscard]] constexpr const char* function_name() const { return function_; }

 private:
  constexpr CallSite(const char* file, int line, const char* function)
      : file_(file), line_(line), function_(function) {}

  const char* file_;
  int line_;
  const char* function_;
};

/// A place in the user's program. Empty when unknown (a schedule loaded from a file).
struct SourceLocation {
  std::string file;
  int line = 0;

  SourceLocation() = default;
  /// Unknown for a place inside the standard library, as of a handle made by std::make_unique or
  /// std::vector::emplace_back: it is no line of the user's.
  SourceLocation(const CallSite& at);  // NOLINT: implicit by design of default arguments
  [[nodiscard]] bool known() const { return line > 0; }
  /// Where an expression stands is no part of its value.
  friend bool operator==(const SourceLocation&, const SourceLocation&) { return true; }
};
/// "file.cpp:12", the file without its folders; "" when unknown.
std::string to_string(const SourceLocation& where);
/// " (line 12)", for a message about another line; "" when unknown.
std::string line_of(const SourceLocation& where);

/// Base of all errors that Mica throws.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The program, schedule or argument is wrong. The message names both numbers or names that
/// disagree and the fix or the legal choices; `where()` is the user's line. what() starts with it:
/// "file.cpp:12: message".
class UserError : public Error {
 public:
  explicit UserError(const std::string& message, SourceLocation where = {});
  [[nodiscard]] const SourceLocation& where() const { return where_; }
  /// what() without the place.
  [[nodiscard]] const std::string& message() const { return message_; }

 private:
  std::string message_;
  SourceLocation where_;
};

/// What `make` returns. A UserError that it throws is thrown as one at `where`: of what Mica does with
/// operands that were written there.
template <std::convertible_to<SourceLocation> Where, typename Make>
auto placed_at(const Where& where, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const UserError& error) {
    throw UserError(error.message(), where);
  }
}

/// A call of the CUDA driver or of the operating system failed; the message names the call.
class DeviceError : public Error {
 public:
  DeviceError(const std::string& call, int code, const std::string& message);
  [[nodiscard]] const std::string& call() const { return call_; }
  /// The driver's CUresult or errno.
  [[nodiscard]] int code() const { return code_; }

 private:
  std::string call_;
  int code_ = 0;
};

/// Always a bug of Mica's.
class InternalError : public Error {
  using Error::Error;
};

/// Throws InternalError naming the condition and place when `condition` is false.
[[noreturn]] void internal_check_failed(const char* what, const CallSite& at);
inline void internal_check(bool condition, const char* what, const CallSite& at = CallSite::current()) {
  if (!condition) [[unlikely]]
    internal_check_failed(what, at);
}

/// One finding of a legality check. Checks return these so that a tuner can prune without
/// exceptions; `compile` throws the first as a UserError.
struct Diagnostic {
  std::string message;
  SourceLocation where;
};
using Diagnostics = std::vector<Diagnostic>;
/// Throws the first finding as a UserError that also lists the others.
void throw_if_any(const Diagnostics& findings);

}  // namespace mica
