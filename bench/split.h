// Texts that are lists.
#pragma once

#include <string>
#include <vector>

namespace mica::bench {

/// What stands between the characters `at`: "1,,2" is "1", "" and "2"; an empty text is one empty part.
inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace mica::bench
