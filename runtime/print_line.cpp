#include "runtime/print_line.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <new>
#include <string_view>

#include <fmt/format.h>

namespace mica {
namespace {

std::string float_text(std::int64_t bits, int digits) {
  const auto value = std::bit_cast<double>(bits);
  return std::isnan(value) ? "nan" : fmt::format("{:.{}g}", value, digits);
}

}  // namespace

std::string formatted_line(const char* format, const std::int64_t* values) {
  std::string line;
  std::string_view rest = format;
  const auto take = [&rest](std::string_view start) {
    if (rest.substr(0, start.size()) != start) return false;
    rest.remove_prefix(start.size());
    return true;
  };
  while (!rest.empty()) {
    if (take("%%")) {
      line += '%';
    } else if (take("%lld")) {
      line += std::to_string(*values++);
    } else if (take("%llu")) {
      line += std::to_string(static_cast<std::uint64_t>(*values++));
    } else if (take("%.9g")) {
      line += float_text(*values++, 9);
    } else if (take("%.17g")) {
      line += float_text(*values++, 17);
    } else {
      line += rest.front();
      rest.remove_prefix(1);
    }
  }
  return line;
}

}  // namespace mica

std::int32_t mica_print(const char* format, const std::int64_t* values) noexcept {
  try {
    const std::string line = mica::formatted_line(format, values);
    std::fwrite(line.data(), 1, line.size(), stderr);
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
