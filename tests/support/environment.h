// Numbers that a user of the tests sets.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace mica::test {

/// The environment variable `name` as a number, `otherwise` if it is not set.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

}  // namespace mica::test
