// Where the lines go that a run prints, and what machine code for the CPU calls to print one.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace mica {

/// `format` as printf has it, with the conversions %lld, %llu, %.9g and %.17g (the last two of a
/// double's bits) and %%; each takes the next of `values`. A NaN is "nan", whatever its sign.
std::string formatted_line(const char* format, const std::int64_t* values);

/// Where the lines of one run go: RunOptions::print, or stderr without one.
class LineSink {
 public:
  /// `handler` may be empty; it outlives the sink.
  explicit LineSink(const std::function<void(std::string_view)>& handler) : handler_(handler) {}
  LineSink(const LineSink&) = delete;
  LineSink& operator=(const LineSink&) = delete;

  /// Hands on a line, without its line feed, from any thread: one after the other to the handler, and
  /// at once to stderr. After an exception of the handler's there are no more lines.
  void line(std::string text) noexcept;
  /// Throws the exception that the handler threw, if it did.
  void finish();

 private:
  const std::function<void(std::string_view)>& handler_;
  std::mutex mutex_;  // held while the handler runs; guards thrown_
  std::exception_ptr thrown_;
};

}  // namespace mica

extern "C" {

/// Hands formatted_line, without its line feed, to the LineSink at `lines`. Returns 0. A line for which
/// there is no memory is left out.
std::int32_t mica_print(const char* format, const std::int64_t* values, void* lines) noexcept;

}  // extern "C"
