#include "fuzz/process_birth.h"

#include <fstream>
#include <iterator>
#include <sstream>

namespace mica::test {

std::string birth_of_process(long pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  // proc(5): the name in parentheses may hold anything; behind it come the state, and the start as the
  // 20th field.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, field;
  fields >> state;
  constexpr int kStart = 19;
  for (int i = 0; i < kStart; ++i) fields >> field;
  if (!fields || state == "Z" || state == "X") return {};
  std::ifstream boot_in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  boot_in >> boot;
  return field + " after " + boot;
}

}  // namespace mica::test
