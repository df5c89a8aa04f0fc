// What machine code for the CPU calls to print a line of the user's `print`.
#pragma once

#include <cstdint>
#include <string>

namespace mica {

/// `format` as printf has it, with the conversions %lld, %llu, %.9g and %.17g (the last two of a
/// double's bits) and %%; each takes the next of `values`. A NaN is "nan", whatever its sign.
std::string formatted_line(const char* format, const std::int64_t* values);

}  // namespace mica

extern "C" {

/// Writes formatted_line to stderr at once, whole lines of other threads before or after it. Returns 0.
/// A line for which there is no memory is left out.
std::int32_t mica_print(const char* format, const std::int64_t* values) noexcept;

}  // extern "C"
