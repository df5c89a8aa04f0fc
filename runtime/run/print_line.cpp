#include "runtime/run/print_line.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "runtime/cpu/cpu_device.h"

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

void LineSink::line(std::string text) noexcept {
  try {
    if (!handler_) {
      text += '\n';
      std::fwrite(text.data(), 1, text.size(), stderr);
      return;
    }
    const std::lock_guard lock(mutex_);
    if (thrown_ != nullptr) return;
    try {
      // A task of the run that this thread took up meanwhile could print, and wait for itself.
      run_isolated([&] { handler_(text); });
    } catch (...) {
      thrown_ = std::current_exception();
    }
  } catch (const std::bad_alloc&) {
  }
}

void LineSink::finish() {
  if (thrown_ != nullptr) std::rethrow_exception(thrown_);
}

}  // namespace mica

std::int32_t mica_print(const char* format, const std::int64_t* values, void* lines) noexcept {
  try {
    std::string line = mica::formatted_line(format, values);
    line.pop_back();
    static_cast<mica::LineSink*>(lines)->line(std::move(line));
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
