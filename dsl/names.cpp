#include "dsl/names.h"

#include <algorithm>
#include <cctype>

namespace mica {

std::string joined(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string text;
  for (const auto& name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool is_identifier(const std::string& word) {
  auto letter = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
         std::all_of(word.begin(), word.end(), letter);
}

std::string UniqueNames::claim(const std::string& wanted) {
  std::string name = wanted;
  for (int count = 2; !taken_.insert(name).second; ++count) {
    name = wanted + "." + std::to_string(count);
  }
  return name;
}

}  // namespace mica
